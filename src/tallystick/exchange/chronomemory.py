"""The folder of chronomemory v0.1.x: its log, its snapshot, their check against each other, and its records.

`events.wal` is NDJSON, split at the byte `\\n` alone. A line's `hash` is the SHA-256 of `json.dumps(all but hash,
sort_keys=True, ensure_ascii=False)`; `prev_hash` is the hash above it, "" for the first. `seq` rises by one, from 1;
compaction there begins a new chain, so a file may also begin with a `compact` at any seq.

`snapshot.json` is `{"seq", "last_hash", "ts", "records"}`: every record as it was after event `seq`, whose hash is
`last_hash`. It has no hash of its own. Compacted events are in it alone.

The hash covers meaning, not bytes, so a line is also compared with the bytes its writer would have used: a changed
space is noticed too. A last line without its newline is `torn`: kept, never counted.

What none of them can know: that the lines after the snapshot are gone from the end, or that compacted records were
changed in the snapshot.

That system validates nothing: a confidence may be NaN, an id empty, a field unknown. `fitted` replaces such a value by
the one that claims least (a confidence of 0, the status `unknown`) and keeps it in the record's data, under
`chronomemory`. What JSON itself cannot carry (NaN, integers beyond 64 bits, lone surrogates) is kept as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from math import isfinite
from typing import Any

from tallystick.exchange.conversation import moment
from tallystick.records import json as strict_json
from tallystick.records.belief import STATUSES
from tallystick.records.esdb_record import ChronoRecord
from tallystick.records.json import LEAST, MOST

UPSERTS = ("upsert", "migrate")
OPS = (*UPSERTS, "delete", "compact")
WAL, SNAPSHOT = "events.wal", "snapshot.json"

_OF_ANOTHER = f"{SNAPSHOT} is of another log: the last event that it had seen has another hash in {WAL}"
_DEPTH = 200  # of the objects in a line. Python itself stops at about a thousand
_KEYS: dict[str, Any] = {  # and what each must be
    "seq": int, "ts": str, "op": str, "record_id": str, "record": dict | None, "prev_hash": str, "hash": str,
    "recursion_depth": int,
}  # fmt: skip
_SPELLINGS = tuple(
    json.JSONEncoder(ensure_ascii=ascii_only, separators=separators)
    for separators in ((", ", ": "), (",", ":"))
    for ascii_only in (False, True)
)
_USUAL = {name: value for name, value in ChronoRecord("").to_dict().items() if name != "rests_on"}


@dataclass(frozen=True, slots=True)
class OldEvent:
    """One valid line of the log."""

    line: int  # from 1, as an editor counts
    seq: int
    ts: str
    op: str
    record_id: str
    record: dict[str, Any] | None
    prev_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class OldLedger:
    """A whole log."""

    events: tuple[OldEvent, ...]
    digest: str  # SHA-256 of all its bytes, the torn ones included
    torn: bytes  # an unterminated last line


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The records as they were after event `seq`."""

    seq: int
    last_hash: str
    ts: str
    records: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One version of a record, or its deletion, with the time it was recorded."""

    place: str  # for messages
    ts: str
    op: str  # upsert or delete
    record: dict[str, Any]  # of a deletion: its id, and the other fields of the line
    mark: str  # the line's hash, or the digest of a snapshot's record: always the same


def looks_like(first_line: bytes) -> bool:
    """Whether a file with this first line is for `read`, even if one key is damaged: `read` names the damage."""
    return sum(b'"%b"' % key.encode() in first_line for key in _KEYS) >= len(_KEYS) - 1


def has_line(data: bytes) -> bool:
    """Whether at least one line of a damaged log is as chronomemory wrote it."""
    return any(looks_like(line) and rescue(line)[0] for line in data.split(b"\n"))


def is_snapshot(head: bytes) -> bool:
    """Whether a file with this beginning is for `read_snapshot`, and not one that `ChronoStore.compact` writes."""
    is_ours = head.startswith(b'{"format":"tallystick"')
    return head.lstrip().startswith(b"{") and not is_ours and b'"last_hash":' in head and b'"records":' in head


def read(data: bytes) -> OldLedger:
    """Every event of a log, or a `ValueError` that names the first bad line. The last one may lack its newline."""
    *lines, last = data.split(b"\n")
    events: list[OldEvent] = []
    torn = b""
    for number, line in enumerate([*lines, last] if last else lines, start=1):
        try:
            events.append(_event(number, line.removesuffix(b"\r"), events[-1] if events else None))
        except ValueError as error:
            if number <= len(lines):
                raise ValueError(f"line {number}: {error}") from None
            torn = last
    return OldLedger(tuple(events), sha256(data).hexdigest(), torn)


def rescue(data: bytes) -> tuple[list[OldEvent], list[tuple[str, str]]]:
    """Every event whose own hash holds, by seq; and the place and fault of each other line, and of each gap."""
    found: dict[str, OldEvent] = {}  # by hash: a line that stands twice is one event
    rest: list[tuple[str, str]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            try:
                fields = _fields(line.removesuffix(b"\r"))
                event = _sound(number, fields)
            except ValueError as error:
                rest.append((f"line {number}", str(error)))
                continue
            found.setdefault(event.hash, event)
            if unknown := fields.keys() - _KEYS.keys():
                rest.append((f"line {number}", f"taken without {min(unknown)!a:.60}, which its hash does not cover"))
    events = sorted(found.values(), key=lambda event: event.seq)
    for above, event in pairwise(events):
        if event.seq <= above.seq + 1 and event.prev_hash != above.hash:
            rest.append((f"line {event.line}", f"taken, but it does not follow line {above.line}, by their hashes"))
    return events, rest


def read_snapshot(data: bytes) -> Snapshot:
    """Parse a `snapshot.json`, or raise a `ValueError`."""
    found = strict_json.parse(data, _DEPTH)
    kinds = {"seq": int, "last_hash": str, "ts": str, "records": list}
    if not isinstance(found, dict) or any(type(found.get(name)) is not kind for name, kind in kinds.items()):
        raise ValueError("not a snapshot: it is an object with seq, last_hash, ts and a list of records")
    if found["seq"] < 0:
        raise ValueError("not a snapshot: its seq is below 0")
    for number, record in enumerate(found["records"], start=1):
        if not isinstance(record, dict):
            raise ValueError(f"not a snapshot: record {number} is not an object")
    return Snapshot(found["seq"], found["last_hash"], found["ts"], tuple(found["records"]))


def compare(events: Sequence[OldEvent], snapshot: Snapshot | None) -> None:
    """Compare a whole log with its snapshot; a `ValueError` says which events are missing."""
    last = events[-1].seq if events else 0
    gone = events[0].seq - 1 if events and events[0].op == "compact" else 0  # from the log, into the snapshot
    if snapshot is None:
        if gone:
            raise ValueError(f"{SNAPSHOT} is missing, and {_span(1, gone)} in it alone, since a compaction")
        return
    if snapshot.seq > last:
        raise ValueError(
            f"{_span(last + 1, snapshot.seq)} missing: {SNAPSHOT} was written after event {snapshot.seq},"
            f" and {WAL} ends with event {last}"
        )
    if snapshot.seq < gone:
        raise ValueError(
            f"{_span(snapshot.seq + 1, gone)} missing: {WAL} was compacted after event {gone}, and this"
            f" {SNAPSHOT} is an older one, of event {snapshot.seq}"
        )
    if _is_of_another(events, snapshot):
        raise ValueError(_OF_ANOTHER)


def missing(events: Sequence[OldEvent], snapshot: Snapshot | None) -> str:
    """The events that are in neither a rescued log nor, by compaction, the snapshot, like `3, 7 to 9`."""
    last, found = _compacted(events, snapshot), list[str]()
    for seq in (*(event.seq for event in events), (snapshot.seq if snapshot else 0) + 1):
        if seq > last + 1:
            found.append(str(last + 1) if seq == last + 2 else f"{last + 1} to {seq - 1}")
        last = max(last, seq)
    return ", ".join(found)


def steps(events: Sequence[OldEvent], snapshot: Snapshot | None) -> tuple[list[Step], list[str]]:
    """Every version in the order in which they were recorded; and a note on each ignored record of the snapshot.

    Records that were compacted, or whose lines are lost, come from the snapshot, before everything else. Where the two
    disagree, a log that has every event up to the snapshot wins; where lines of it are lost, the snapshot's version
    comes after the events it includes. A deletion of an unknown record is ignored, unless lines are lost.
    """
    found, notes = _put_together(events, snapshot) if snapshot else (_in_log(events), [])
    if missing(events, snapshot):
        return found, notes
    names, known = set[str](), list[Step]()
    for step in found:
        name = _name(step.record)
        if step.op == "upsert":
            names.add(name)
        if name in names:
            known.append(step)
    return known, notes


def _put_together(events: Sequence[OldEvent], snapshot: Snapshot) -> tuple[list[Step], list[str]]:
    early = _in_log(event for event in events if event.seq <= snapshot.seq)
    late = _in_log(event for event in events if event.seq > snapshot.seq)
    compacted = _compacted(events, snapshot)
    seen = {event.seq for event in events if compacted < event.seq <= snapshot.seq}
    has_all, is_others = len(seen) == snapshot.seq - compacted, _is_of_another(events, snapshot)
    held, names = state(early), set[str]()
    before, after, differ = list[Step](), list[Step](), list[str]()
    since = events[0].ts if compacted and events else snapshot.ts
    for number, record in enumerate(snapshot.records, start=1):
        name = _name(record)
        names.add(name)
        place, mark = f"{SNAPSHOT}, record {number}", sha256(_bytes(record)).hexdigest()
        if name not in held and (compacted or not has_all):
            before.append(Step(place, since, "upsert", record, mark))
        elif name not in held or _bytes(_completed(record)) != _bytes(_completed(held[name])):
            if has_all or is_others:
                differ.append(name)
            else:
                after.append(Step(place, snapshot.ts, "upsert", record, mark))
    if has_all:
        differ += sorted(held.keys() - names)
    notes = [_OF_ANOTHER] if is_others else []
    notes += [f"{name!r:.80}: the snapshot differs from the log; the log is used" for name in differ]
    return [*before, *early, *after, *late], notes


def state(found: Iterable[Step]) -> dict[str, dict[str, Any]]:
    """The records as they are after these steps, by name, the first one recorded first."""
    current: dict[str, dict[str, Any]] = {}
    for step in found:
        name = _name(step.record)
        if step.op == "upsert":
            current[name] = step.record
        elif name in current:
            current[name] = {**current[name], "status": "tombstone"}
    return current


def times(found: Sequence[Step], now: str) -> tuple[list[str], list[str]]:
    """When each step was recorded; one whose time is not valid has that of the step before it, and a remark."""
    known = [at if "1970" <= (at := moment(step.ts)) < "2262" else "" for step in found]
    last, remarks = min(filter(None, known), default=now), list[str]()
    for number, (step, at) in enumerate(zip(found, known, strict=True)):
        last = known[number] = at or last
        remarks.append("" if at else f"its time {step.ts!a:.60} is not valid; that of the one before it is used")
    return known, remarks


def _event(number: int, line: bytes, above: OldEvent | None) -> OldEvent:
    fields = _fields(line)
    if unknown := fields.keys() - _KEYS.keys():
        raise ValueError(f"unknown key {min(unknown)!a:.60}")
    event = _sound(number, fields)
    if all(spelling.encode(fields).encode() != line for spelling in _SPELLINGS):
        raise ValueError("its bytes are not as chronomemory writes them")
    _check_place(event, above)
    return event


def _check_place(event: OldEvent, above: OldEvent | None) -> None:
    if event.prev_hash != (above.hash if above else ""):
        raise ValueError(f"its prev_hash is not {'the hash of the line above' if above else 'empty, as the first is'}")
    due = above.seq + 1 if above else 1
    if event.seq != due and (above or event.op != "compact"):
        raise ValueError(f"its seq is {event.seq!r:.60}, and {due} was due")


def _sound(number: int, fields: dict[str, Any]) -> OldEvent:
    """The event of one line by itself."""
    try:
        body = {key: fields[key] for key in _KEYS if key != "hash"}
        hashed = json.dumps(body, sort_keys=True, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate, which has no hash") from None
    if fields["hash"] != sha256(hashed).hexdigest():
        raise ValueError("its hash does not fit what it says")
    if fields["op"] not in OPS:
        raise ValueError(f"unknown op {fields['op']!a:.60}")
    if fields["op"] in UPSERTS and fields["record"] is None:
        raise ValueError(f"an {fields['op']} without a record")
    return OldEvent(number, *(fields[key] for key in _KEYS if key != "recursion_depth"))


def _fields(line: bytes) -> dict[str, Any]:
    fields = strict_json.parse(line, _DEPTH)
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    if missing := _KEYS.keys() - fields.keys():
        raise ValueError(f"lacks {', '.join(sorted(missing))}")
    for key, kind in _KEYS.items():
        if not isinstance(fields[key], kind) or isinstance(fields[key], bool):
            raise ValueError(f"{key} is of the wrong type")
    return fields


def _compacted(events: Sequence[OldEvent], snapshot: Snapshot | None) -> int:
    """The last event that a compaction put into the snapshot; a snapshot without a log has all of them."""
    if snapshot is None or not events:
        return snapshot.seq if snapshot else 0
    return min(events[0].seq - 1, snapshot.seq) if events[0].op == "compact" else 0


def _is_of_another(events: Iterable[OldEvent], snapshot: Snapshot) -> bool:
    """Whether the last event of a snapshot is another one here."""
    there = {event.hash for event in events if event.seq == snapshot.seq}
    return bool(there) and snapshot.last_hash not in there


def _span(first: int, last: int) -> str:
    return f"event {first} is" if first == last else f"events {first} to {last} are"


def _in_log(events: Iterable[OldEvent]) -> list[Step]:
    found = []
    for event in events:
        place = f"{WAL}, line {event.line}"
        if event.op in UPSERTS and event.record is not None:
            found.append(Step(place, event.ts, "upsert", event.record, event.hash))
        elif event.op == "delete":
            found.append(Step(place, event.ts, "delete", {**(event.record or {}), "id": event.record_id}, event.hash))
    return found


def _name(record: dict[str, Any]) -> str:
    """The name of a record: its id. An id that is not text gets a name that no text has."""
    id = record.get("id", "")
    return id if isinstance(id, str) else f"\0{json.dumps(id, sort_keys=True)}"


def _completed(record: dict[str, Any]) -> dict[str, Any]:
    """A record as that system loads it: with all fields that it knows, and no others."""
    return {name: record.get(name, usual) for name, usual in _USUAL.items()}


def _bytes(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode()


# -- records -----------------------------------------------------------------------------------------------------------

KEPT = "chronomemory"  # in a record's data

_DEEPEST = 24  # nested objects in a field; what is deeper is kept as text
_LARGEST = 1_000_000  # bytes: the ledger has no line beyond 1 MiB
_LONGEST = 10_000  # characters of an id, and of each text that is left of a record that is too large


def fitted(raw: dict[str, Any], nameless: str) -> tuple[ChronoRecord, list[str]]:
    """A record as one of ours, and a note on each change. `nameless` is the id of a record that has none."""
    notes, fields, odd = list[str](), dict[str, Any](), dict[str, Any]()
    for name, given in {"id": "", **raw}.items():
        changes = list[str]()
        value = _plain(given, name, changes, _DEEPEST)
        fits, instead = _FIELDS.get(name, (None, None))
        if fits is None or instead is None:
            odd[name] = value
            notes.append(f"{_shown(name)} is an unknown field; it is kept in its data")
        elif fits(value):
            fields[name] = value
            notes += changes
        else:
            odd[name] = value
            fields[name] = nameless if name == "id" and value in ("", None) else instead(value)
            notes.append(f"{name} {_shown(value)} is not valid: it is {_shown(fields[name])} here, and in its data")
    record = ChronoRecord(**{"id": nameless, **fields})
    if record.status not in STATUSES:
        notes.append(f"its status {_shown(record.status)} is unknown: it is kept, and the record is not recalled")
    if odd:
        key = KEPT
        while key in record.data:
            key += "_"
        record.data = {**record.data, key: odd}
    size = len(json.dumps(record.to_dict(), ensure_ascii=False).encode())
    if size > _LARGEST:
        notes.append(f"{size:,} bytes are too many for one event: only its status and the start of its label are kept")
        digest = sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
        record = ChronoRecord(
            record.id, record.kind[:_LONGEST], record.status[:_LONGEST], record.label[:_LONGEST], record.confidence,
            record.source_type[:_LONGEST],
            is_hypothesis=record.is_hypothesis, data={KEPT: {"too_large": size, "sha256": digest}},
        )  # fmt: skip
    return record, notes


def _plain(value: Any, place: str, notes: list[str], depth: int) -> Any:
    """A value as JSON carries it; `notes` grows by what had to become text."""
    text = None
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode()
        if text == value:
            return value
    elif isinstance(value, dict | list) and not depth:
        text = json.dumps(value)
    elif isinstance(value, list):
        return [_plain(item, f"{place}[{index}]", notes, depth - 1) for index, item in enumerate(value)]
    elif isinstance(value, dict):
        return {
            name.encode("utf-8", "backslashreplace").decode(): _plain(item, f"{place}.{name}", notes, depth - 1)
            for name, item in value.items()
        }
    elif (isinstance(value, float) and not isfinite(value)) or (isinstance(value, int) and not LEAST <= value <= MOST):
        text = json.dumps(value)
    if text is None:
        return value
    notes.append(f"{place[:60]} cannot be written as it is; it is kept as the text {_shown(text)}")
    return text


def _shown(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def _text(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _id(value: object) -> str:
    """An id for each value that is not valid, always the same."""
    text = value if isinstance(value, str) else _text(value)
    return text if len(text) <= _LONGEST else f"{text[:100]}…{sha256(text.encode()).hexdigest()[:12]}"


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    return [item if isinstance(item, str) else _text(item) for item in items]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


# For each field: whether a value fits, and what is taken instead of one that does not.
_FIELDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any]]] = {
    "id": (lambda value: isinstance(value, str) and 0 < len(value) <= _LONGEST, _id),
    "kind": (_is_text, _text),
    "status": (lambda value: isinstance(value, str) and value != "", lambda _: "unknown"),
    "label": (_is_text, _text),
    "confidence": (
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1,
        lambda _: 0.0,
    ),
    "source_type": (_is_text, _text),
    "evidence": (lambda value: isinstance(value, list) and all(map(_is_text, value)), _texts),
    "epistemic_boundary": (lambda value: isinstance(value, list), lambda _: []),
    "is_hypothesis": (lambda value: isinstance(value, bool), lambda _: True),
    "model_assumptions": (lambda value: isinstance(value, dict), lambda _: {}),
    "recursion_depth": (lambda value: isinstance(value, int) and not isinstance(value, bool), lambda _: 0),
    "data": (lambda value: isinstance(value, dict), lambda _: {}),
}

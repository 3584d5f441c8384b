"""The folder of chronomemory v0.1.x, read by its own rule: the log, the snapshot, and what both say of each other.

`events.wal` is NDJSON, split at the byte `\\n` alone. A line's `hash` is the SHA-256 of `json.dumps(all but hash,
sort_keys=True, ensure_ascii=False)`; `prev_hash` is the hash above it, "" for the first. `seq` rises by one, from 1;
compaction there begins a new chain, so a file may also begin with a `compact` at any seq.

`snapshot.json` is `{"seq", "last_hash", "ts", "records"}`: every record as it stood after event `seq`, whose hash is
`last_hash`. It has no hash of its own. What was compacted stands in it alone.

`read` gives a whole log or names its first bad line. That rule hashes meaning, not bytes, so a line is also compared
with the bytes its writer would have used: a changed space is noticed too. A last line without its newline is `torn`:
kept, never counted. `compare` names the events that are missing according to the other file. `rescue` is for a log
that failed: it gives every line whose own hash holds, and lists the rest.

What none of them can know: that the lines after the snapshot are gone from the end. And they do not judge what the
records say: that system took NaN, a confidence of 7.5 and an empty id. `chrono_values` has a place for those.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from keepsake.exchange.brought import moment
from keepsake.records import strict_json
from keepsake.records.chrono import ChronoRecord

UPSERTS = ("upsert", "migrate")
OPS = (*UPSERTS, "delete", "compact")
WAL, SNAPSHOT = "events.wal", "snapshot.json"

_DEPTH = 200  # of the objects in a line. Python itself stops at about a thousand
_KEYS: dict[str, Any] = {  # and what each must be
    "seq": int,
    "ts": str,
    "op": str,
    "record_id": str,
    "record": dict | None,
    "prev_hash": str,
    "hash": str,
    "recursion_depth": int,
}
_SPELLINGS = tuple(
    json.JSONEncoder(ensure_ascii=ascii_only, separators=separators)
    for separators in ((", ", ": "), (",", ":"))
    for ascii_only in (False, True)
)
_USUAL = {name: value for name, value in ChronoRecord("").to_dict().items() if name != "rests_on"}


@dataclass(frozen=True, slots=True)
class OldEvent:
    """One line of the log, found sound."""

    line: int  # from 1, as an editor counts
    seq: int
    ts: str
    op: str
    record_id: str
    record: dict[str, Any] | None
    hash: str


@dataclass(frozen=True, slots=True)
class OldLedger:
    """A whole log."""

    events: tuple[OldEvent, ...]
    digest: str  # SHA-256 of all its bytes, the torn ones included
    torn: bytes  # an unterminated last line


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The records as they stood after event `seq`."""

    seq: int
    last_hash: str
    ts: str
    records: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One version of a record, or its deletion, with the time it was recorded."""

    place: str  # where it stands, for messages
    ts: str
    op: str  # upsert or delete
    record: dict[str, Any]  # of a deletion: its id, and what the line says beside it
    mark: str  # the line's hash, or the digest of a snapshot's record: the same whenever it is read


def looks_like(first_line: bytes) -> bool:
    """Whether a file that begins so is for `read`. One damaged key does not hide it: `read` will name the damage."""
    return sum(b'"%b"' % key.encode() in first_line for key in _KEYS) >= len(_KEYS) - 1


def is_snapshot(head: bytes) -> bool:
    """Whether a file that begins so is for `read_snapshot`."""
    return head.lstrip().startswith(b"{") and b'"last_hash":' in head and b'"records":' in head


def read(data: bytes) -> OldLedger:
    """Give every event of a log, or a `ValueError` naming the first bad line and what is wrong with it.

    A last line that is whole but for its newline was written; a shorter one never was.
    """
    *lines, torn = data.split(b"\n")
    events: list[OldEvent] = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(_event(number, line.removesuffix(b"\r"), events[-1] if events else None))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if torn:
        try:
            events.append(_event(len(lines) + 1, torn, events[-1] if events else None))
            torn = b""
        except ValueError:
            pass
    return OldLedger(tuple(events), sha256(data).hexdigest(), torn)


def rescue(data: bytes) -> tuple[list[OldEvent], list[tuple[str, str]]]:
    """Give every event whose own hash holds, in the order of their seqs; and the place and fault of each other line."""
    events: list[OldEvent] = []
    rest: list[tuple[str, str]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            try:
                events.append(_sound(number, _fields(line.removesuffix(b"\r"))))
            except ValueError as error:
                rest.append((f"line {number}", str(error)))
    seen = set[str]()
    once = [event for event in events if event.hash not in seen and not seen.add(event.hash)]  # type: ignore[func-returns-value]
    return sorted(once, key=lambda event: event.seq), rest


def read_snapshot(data: bytes) -> Snapshot:
    """Give a `snapshot.json`, or a `ValueError`."""
    found = strict_json.parse(data, _DEPTH)
    kinds = {"seq": int, "last_hash": str, "ts": str, "records": list}
    if not isinstance(found, dict) or any(not isinstance(found.get(name), kind) for name, kind in kinds.items()):
        raise ValueError("not a snapshot: it is an object with seq, last_hash, ts and a list of records")
    for number, record in enumerate(found["records"], start=1):
        if not isinstance(record, dict):
            raise ValueError(f"not a snapshot: record {number} is no object")
    return Snapshot(found["seq"], found["last_hash"], found["ts"], tuple(found["records"]))


def compare(events: Sequence[OldEvent], snapshot: Snapshot | None) -> None:
    """Hold a whole log and its snapshot against each other: a `ValueError` says which events are missing."""
    last = events[-1].seq if events else 0
    gone = events[0].seq - 1 if events and events[0].op == "compact" else 0  # from the log, into the snapshot
    if snapshot is None:
        if gone:
            raise ValueError(f"{SNAPSHOT} is missing, and events 1 to {gone} were compacted into it")
        return
    if snapshot.seq > last:
        raise ValueError(
            f"events {last + 1} to {snapshot.seq} are missing: {SNAPSHOT} was written after event {snapshot.seq},"
            f" and {WAL} ends with event {last}"
        )
    if snapshot.seq < gone:
        raise ValueError(
            f"events {snapshot.seq + 1} to {gone} are missing: {WAL} was compacted after event {gone}, and this"
            f" {SNAPSHOT} is an older one, of event {snapshot.seq}"
        )
    if snapshot.seq > gone and events[snapshot.seq - events[0].seq].hash != snapshot.last_hash:
        raise ValueError(
            f"{SNAPSHOT} is of another log: its event {snapshot.seq} has another hash than the one in {WAL}"
        )


def missing(events: Sequence[OldEvent], snapshot: Snapshot | None) -> str:
    """Which events neither a rescued log has nor a compaction put into the snapshot, like `3, 7 to 9`."""
    reached, found = snapshot.seq if snapshot else 0, list[str]()
    is_compacted = bool(events) and events[0].op == "compact" and events[0].seq <= reached + 1
    last = events[0].seq - 1 if is_compacted else 0 if events else reached
    for seq in (*(event.seq for event in events), reached + 1):
        if seq > last + 1:
            found.append(str(last + 1) if seq == last + 2 else f"{last + 1} to {seq - 1}")
        last = max(last, seq)
    return ", ".join(found)


def steps(events: Sequence[OldEvent], snapshot: Snapshot | None, *, is_whole: bool) -> tuple[list[Step], list[str]]:
    """Every version in the order in which they were recorded; and the names of records that the two files disagree on.

    What the log does not have comes from the snapshot, before everything else. Where a whole log disagrees with the
    snapshot, it stands; where lines of it are lost, what the snapshot says comes after those that it had seen.
    """
    if snapshot is None:
        return _in_log(events), []
    early = _in_log(event for event in events if event.seq <= snapshot.seq)
    late = _in_log(event for event in events if event.seq > snapshot.seq)
    held = state(early)
    before, after, differ = list[Step](), list[Step](), list[str]()
    since = events[0].ts if events and events[0].op == "compact" else snapshot.ts
    for number, record in enumerate(snapshot.records, start=1):
        name = _name(record)
        place, mark = f"{SNAPSHOT}, record {number}", sha256(_bytes(record)).hexdigest()
        if name not in held:
            before.append(Step(place, since, "upsert", record, mark))
        elif _bytes(_completed(record)) != _bytes(_completed(held[name])):
            differ.append(name)
            after.append(Step(place, snapshot.ts, "upsert", record, mark))
    if is_whole:
        differ += sorted(held.keys() - {_name(record) for record in snapshot.records})
        after = []
    return [*before, *early, *after, *late], differ


def state(told: Iterable[Step]) -> dict[str, dict[str, Any]]:
    """The records as they stand after these steps, by name, the first one recorded first."""
    held: dict[str, dict[str, Any]] = {}
    for step in told:
        name = _name(step.record)
        if step.op == "upsert":
            held[name] = step.record
        elif name in held:
            held[name] = {**held[name], "status": "tombstone"}
    return held


def recorded_at(ts: str) -> str:
    """A line's time as our ledger writes it; empty if it is none, or one that no clock shows."""
    found = moment(ts)
    return found if "1970" <= found < "2262" else ""


def encode(
    *,
    seq: int,
    ts: str,
    op: str,
    record_id: str,
    record: dict[str, Any] | None,
    prev_hash: str = "",
    recursion_depth: int = 0,
) -> bytes:
    """Write one line, newline included, as chronomemory does. `hash_in` gives the next line's `prev_hash`."""
    body = {"seq": seq, "ts": ts, "op": op, "record_id": record_id, "record": record, "prev_hash": prev_hash}
    depth = {"recursion_depth": recursion_depth}
    strict_json.check(body | depth)
    line = body | {"hash": _hash(body | depth)} | depth
    _check_types(line)
    _check_op(line)
    return _SPELLINGS[0].encode(line).encode() + b"\n"


def hash_in(line: bytes) -> str:
    """Give the hash that a line states for itself."""
    return str(_fields(line)["hash"])


def _event(number: int, line: bytes, above: OldEvent | None) -> OldEvent:
    fields = _fields(line)
    event = _sound(number, fields)
    if all(spelling.encode(fields).encode() != line for spelling in _SPELLINGS):
        raise ValueError("its bytes are not as chronomemory writes them")
    _check_place(event, fields["prev_hash"], above)
    return event


def _sound(number: int, fields: dict[str, Any]) -> OldEvent:
    """One line by itself."""
    stated = fields["hash"]
    if stated != _hash({key: value for key, value in fields.items() if key != "hash"}):
        raise ValueError("its hash does not fit what it says")
    _check_op(fields)
    return OldEvent(number, fields["seq"], fields["ts"], fields["op"], fields["record_id"], fields["record"], stated)


def _fields(line: bytes) -> dict[str, Any]:
    fields = strict_json.parse(line, _DEPTH)
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    _check_types(fields)
    return fields


def _check_types(fields: dict[str, Any]) -> None:
    if missing := _KEYS.keys() - fields.keys():
        raise ValueError(f"lacks {', '.join(sorted(missing))}")
    if unknown := fields.keys() - _KEYS.keys():
        raise ValueError(f"unknown key {min(unknown)!a:.60}")
    for key, kind in _KEYS.items():
        if not isinstance(fields[key], kind) or isinstance(fields[key], bool):
            raise ValueError(f"{key} is of the wrong type")


def _hash(body: dict[str, Any]) -> str:
    try:
        return sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate, which has no hash") from None


def _check_op(fields: dict[str, Any]) -> None:
    if fields["op"] not in OPS:
        raise ValueError(f"unknown op {fields['op']!a:.60}")
    if fields["op"] in UPSERTS and fields["record"] is None:
        raise ValueError(f"an {fields['op']} without a record")


def _check_place(event: OldEvent, prev_hash: str, above: OldEvent | None) -> None:
    if prev_hash != (above.hash if above else ""):
        raise ValueError(f"its prev_hash is not {'the hash of the line above' if above else 'empty, as the first is'}")
    if above is None and event.op == "compact":
        return
    due = above.seq + 1 if above else 1
    if event.seq != due:
        raise ValueError(f"its seq is {event.seq!r:.60}, and {due} was due")


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
    """By which a record is told from others: its id. One that is no text is none that any text is."""
    id = record.get("id", "")
    return id if isinstance(id, str) else f"\0{json.dumps(id, sort_keys=True)}"


def _completed(record: dict[str, Any]) -> dict[str, Any]:
    """A record as that system has it in mind: without fields that it does not know, and with all that it does."""
    return {name: record.get(name, usual) for name, usual in _USUAL.items()}


def _bytes(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode()

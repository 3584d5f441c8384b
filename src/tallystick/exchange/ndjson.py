"""The file of an export, line by line (docs/reference/export-ndjson.md), and the checks of the events in it.

The records follow from the events, so a reader that imports events skips the records. Events are numbered from 1
without a gap, because in the ledger other people's events and its own are between them; an event names other places in
the ledger by these numbers. Their order is that of the ledger; times may step back, as where a memory imported
another's events.

An event that was recorded here was validated when it was decided. One from a file may be anything: it is checked whole,
before it is written, because everything that follows the ledger relies on it. Fields that a newer tallystick adds are
let through. What it may do is decided by the importer.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import orjson

from tallystick.records import operations as ops
from tallystick.records.belief import CONFLICT, OUTDATED, OWNER, Belief
from tallystick.records.clock import parse_moment
from tallystick.records.episode import ARCHIVED, RETRACTED, Episode
from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.event import ELSEWHERE, UNDOES, Event
from tallystick.records.fields import TRUST
from tallystick.records.graph.envelope import KINDS, key_of, record_of
from tallystick.records.operations import RECEIPT_PUT, RULE_RAN, TRUST_SET
from tallystick.records.page import STATUSES
from tallystick.records.recall import Frame, Receipt
from tallystick.records.review import OUTCOMES, Action
from tallystick.records.rule import ConsolidationRule
from tallystick.records.trust import NONE, USUAL, checked_source

FORMAT = 1
HEADER, EVENT, END = "tallystick", "event", "end"
RECORDS = ("belief", "episode", "path", "page", "review", "trust", "rule", "frame", "graph")
LONGEST = 64 << 20  # bytes of a line: a record of a graph may be long

_TS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_SHAPES = {
    "ts": _TS, "id": re.compile(r"[0-9A-HJKMNP-TV-Z]{26}"), "by": re.compile(r"[a-z]+:[0-9a-z]{1,32}"),
    "op": re.compile(r"[a-z]+(?:\.[a-z]+)*/[1-9]\d{0,3}"),
}  # fmt: skip
_LONGEST_NAME = 64  # of an operation, and of who recorded it
_FIRST = b'{"type":"tallystick",'


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a file."""

    user: str
    ledger: str  # the memory's own name
    begun: str  # when that began
    made: str  # when the file was written
    program: str
    through: int  # the last event of the ledger that the file knows of
    head: str  # and its hash, which a checkpoint of that ledger vouches for
    history: bool = True  # whether the events are in it
    format: int = FORMAT

    def line(self) -> bytes:
        return line(HEADER, asdict(self))


class Line(NamedTuple):
    """One line of a file: its number, its type and its other fields."""

    number: int
    kind: str
    told: dict[str, Any]


def line(kind: str, told: Mapping[str, Any]) -> bytes:
    """One line, newline included. The same fields give the same bytes."""
    return orjson.dumps({"type": kind, **told}) + b"\n"


def event_line(event: Event, n: int) -> bytes:
    """The line of an event whose body names other places by numbers of the file already."""
    return line(EVENT, {"n": n, "ts": event.ts, "op": event.op, "id": event.id, "by": event.by, "body": event.body})


def looks_like(start: bytes) -> bool:
    """Whether a file that begins so is an export of tallystick."""
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").replace(b" ", b"").startswith(_FIRST)


class Numbers:
    """Which event of a ledger is which in a file. Events are added in their order."""

    def __init__(self, before: int = -1) -> None:
        self._seqs, self._before = array("q"), before  # `before`: the place that nothing of the file comes before

    def add(self, seq: int) -> int:
        self._seqs.append(seq)
        return len(self._seqs)

    def last(self, seq: int) -> int:
        """The number of the last event that was recorded by then; 0 if there was none."""
        return bisect_right(self._seqs, seq)

    def first(self, seq: int) -> int:
        """The number of the first event from there on. 0 stays: it is before everything."""
        return bisect_left(self._seqs, seq) + 1 if seq > 0 else 0

    @property
    def count(self) -> int:
        return len(self._seqs)

    def place(self, n: int) -> int:
        """The place of the event of that number; of one that is not recorded yet, that of the last one."""
        return self._seqs[min(n, len(self._seqs)) - 1] if n > 0 and self._seqs else self._before

    def from_place(self, n: int) -> int:
        """The same, but one that is not recorded yet comes after the last one. 0 stays."""
        return self.place(n) + (n > len(self._seqs)) if n > 0 else 0


def renumbered(
    op: str, body: dict[str, Any], last: Callable[[int], int], first: Callable[[int], int]
) -> dict[str, Any]:
    """The body of an event, with other numbers where it names places in the ledger."""
    if UNDOES in body:
        body = {**body, UNDOES: {**body[UNDOES], "seq": last(body[UNDOES]["seq"])}}
    if op == ops.BELIEF_PUT and "again" in body:
        return {**body, "again": {**body["again"], "first": last(body["again"]["first"])}}
    if op == RULE_RAN:
        return {**body, "through": last(body["through"])}
    if op == TRUST_SET and "first" in body:
        return {**body, "first": first(body["first"])}
    if op == RECEIPT_PUT:
        # A receipt names the place that it was answered from. The hash there differs in every ledger.
        receipts = [{**receipt, "head": [last(receipt["head"][0]), ""]} for receipt in body["receipts"]]
        for receipt in receipts:
            if type(then := receipt.get("asked", {}).get("believed_at")) is int:
                receipt["asked"] = {**receipt["asked"], "believed_at": last(then)}
        return {**body, "receipts": receipts}
    return body


class Reader:
    """A file, line by line. What is not valid is Refused, with the number of its line."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = enumerate(lines, start=1)
        self.header = self._header()
        self.records = self.events = 0

    def __iter__(self) -> Iterator[Line]:
        """The records and the events, in their order. It ends with the last line, or is Refused."""
        for number, raw in self._lines:
            found = _object(number, raw)
            kind = found.pop("type", None)
            if kind == END:
                if found != {"records": self.records, "events": self.events}:
                    raise Refused(f"line {number}: the file should hold {_short(found)}; some of it is missing", "file")
                if any(raw.strip() for _, raw in self._lines):
                    raise Refused(f"line {number}: there is more after the end; export the memory again", "file")
                return
            if kind == EVENT:
                self._event(number, found)
            elif kind in RECORDS:
                self.records += 1
            else:
                message = f"line {number}: unknown type {_short(kind)}, perhaps of a newer tallystick"
                raise Refused(message, "unsupported")
            yield Line(number, str(kind), found)
        raise Refused("the file was cut off: its last line is missing; export it again", "file")

    def _header(self) -> Header:
        number, raw = next(self._lines, (1, b""))
        told = _object(number, raw)
        if told.pop("type", None) != HEADER:
            raise Refused('not a tallystick export: its first line is not of type "tallystick"', "file")
        if type(told.get("format")) is int and told["format"] > FORMAT:
            message = f"the file has format {told['format']}, this tallystick reads up to {FORMAT}; update tallystick"
            raise UnknownVersion(message)
        known = {each.name: each for each in fields(Header)}
        kinds: dict[str, type] = {"through": int, "history": bool, "format": int}
        if told.keys() != known.keys() or any(type(told[name]) is not kinds.get(name, str) for name in known):
            raise Refused(f"line 1: the first line of an export has {', '.join(known)}, and nothing else", "file")
        if not told["user"] or not (_TS.fullmatch(told["begun"]) and _TS.fullmatch(told["made"])):
            raise Refused("line 1: user, begun or made is not valid", "file")
        return Header(**told)

    def _event(self, number: int, told: dict[str, Any]) -> None:
        if told.keys() != {"n", "ts", "op", "id", "by", "body"} or type(told["body"]) is not dict:
            raise Refused(f"line {number}: an event has n, ts, op, id, by and body", "file")
        for name, shape in _SHAPES.items():
            value = told[name]
            if type(value) is not str or len(value) > _LONGEST_NAME or not shape.fullmatch(value):
                raise Refused(f"line {number}: the event's {name} is not valid: {_short(value)}", "file")
        self.events += 1
        if told["n"] != self.events:
            raise Refused(f"line {number}: event {_short(told['n'])} is in the place of event {self.events}", "file")


def _object(number: int, raw: bytes) -> dict[str, Any]:
    if len(raw) > LONGEST:
        raise Refused(f"line {number} is longer than {LONGEST:,} bytes", "file")
    try:
        found = orjson.loads(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
    except orjson.JSONDecodeError as error:
        raise Refused(f"line {number} is not JSON: {error.msg} at character {error.pos}", "file") from None
    if type(found) is not dict:
        raise Refused(f"line {number} is not a JSON object", "file")
    return found


def _short(value: object) -> str:
    return ascii(value)[:60]


# -- events of an export, checked --------------------------------------------------------------------------------------

Shape = Callable[[Any], object]  # checks a value; raises ValueError, TypeError, LookupError or Refused

_HEAVIEST = 1e6  # more than any weight
_MOST_PIECES = 1 << 10


def checked(event: Event, user: str) -> None:
    """Refused, if an event is not valid for its kind, or is not of that user."""
    shape = _EVENTS.get(event.op)
    if shape is None:
        raise Refused(f"unknown event {event.op}, perhaps of a newer tallystick", "unsupported")
    try:
        _has(event.body, {**_WHOSE, **_PIECE} if "piece" in (event.body or {}) else shape)
        owners = list(_owners(event.op, event.body or {}))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise Refused(f"not a valid {event.op} event ({error!s:.80})", "file") from None
    if any(each != user for each in owners):
        raise Refused("the event belongs to another user than the file", "mismatch")


def _owners(op: str, body: Mapping[str, Any]) -> Iterator[str]:
    """The user of an event, from every field that names one."""
    if "belief" in body or "episode" in body:
        yield (body.get("belief") or body["episode"]).get("user", OWNER)
    elif "receipts" in body:
        yield from (receipt.get("user", OWNER) for receipt in body["receipts"])
    elif op not in OF_ALL and op not in (ops.BELIEF_TOMBSTONE, ops.BELIEF_INVALIDATE):  # these have an id alone
        yield body.get("user", OWNER)
    if op == ops.REVIEW_ASK:
        yield body["action"].get("user", OWNER)


class Pieces:
    """Graph records that come in several events: they are checked with the last piece."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def take(self, event: Event) -> None:
        body = event.body or {}
        if event.op != ops.GRAPH_PUT or "piece" not in body:
            return
        if body["n"] == 0:
            self._found = []
        if len(self._found) != body["n"] or not 0 < body["of"] <= _MOST_PIECES:
            raise Refused("a piece of the record before this one is missing", "file")
        self._found.append(body["piece"])
        if len(self._found) == body["of"]:
            whole = orjson.loads("".join(self._found))
            (_HEAD if body["part"] == "head" else _record(body["part"]))(whole)


def _has(value: Any, shape: Mapping[str, Shape]) -> None:
    """Check the fields of an object. A `?` marks a field that may be missing."""
    if type(value) is not dict:
        raise TypeError("not an object")
    if ELSEWHERE in value:
        raise ValueError(f"{ELSEWHERE} is set on import, never by a file")
    if UNDOES in value and (type(value[UNDOES]) is not dict or type(value[UNDOES].get("seq")) is not int):
        raise ValueError(f"{UNDOES} must name an event and its number")
    for name, check in shape.items():
        plain = name.removeprefix("?")
        if plain in value:
            check(value[plain])
        elif plain == name:
            raise LookupError(f"{name} is missing")


def _that(is_right: Callable[[Any], bool], why: str) -> Shape:
    """The check of a condition; `why` follows the value in the message."""

    def check(value: Any) -> None:
        if not is_right(value):
            raise ValueError(f"{value!r:.40} {why}")

    return check


def _one_of(*allowed: Any) -> Shape:
    return _that(lambda value: value in allowed, "is not known")


def _number(low: float, high: float) -> Shape:
    return _that(
        lambda value: type(value) in (int, float) and math.isfinite(value) and low <= value <= high,
        f"is not from {low:g} to {high:g}",
    )


def _each(check: Shape, minimum: int = 0) -> Shape:
    def check_all(values: Any) -> None:
        if type(values) is not list or len(values) < minimum:
            raise TypeError("not a list, or too short")
        for value in values:
            check(value)

    return check_all


def _table(check: Shape) -> Shape:
    return lambda values: [check(value) for value in dict(values).values()]


def _fields(**shape: Shape) -> Shape:
    return lambda value: _has(value, {f"?{name}": check for name, check in shape.items()})


def _record(part: str) -> Shape:
    return lambda value: (key_of(part, value), record_of(part, value))


def _belief(value: Any) -> None:
    if orjson.loads(orjson.dumps(Belief.from_body(value).to_body())) != value:
        raise ValueError("a belief has unknown fields, or an empty one")


def _episode(value: Any) -> None:
    Episode.of(Event(0, "", ops.EPISODE_PUT, "", "", "", {"episode": value}))
    parse_moment(value["timestamp"])


def _source(value: Any) -> None:
    if type(value) is not str or ":" not in value:
        raise ValueError("a source is named like mcp:3f9a")
    checked_source(value)


_text = _that(lambda value: type(value) is str, "is not text")
_name = _that(lambda value: type(value) is str and value != "", "is not a name")
_flag = _that(lambda value: type(value) is bool, "is not true or false")
_any = _that(lambda value: type(value) is dict, "is not an object")
_whole = _that(lambda value: type(value) is int and -1 <= value < 1 << 53, "is not the number of an event")
_pair = _that(lambda value: type(value) is list and [type(each) for each in value] == [str, str], "is not a pair")
_place = _that(
    lambda value: type(value) is list and [type(each) for each in value] == [int, int] and 0 <= value[0] < value[1],
    "is no place in a text",
)
_texts = _each(_text)

_BECAUSE: dict[str, Shape] = {"?reason": _text}
_WHOSE: dict[str, Shape] = {"user": _name}
_ALIASES: dict[str, Shape] = {"rules": _number(1, _HEAVIEST), "same": _each(_pair, 1)}
_MARK: dict[str, Shape] = {"id": _name, "kind": _one_of(OUTDATED, CONFLICT), "was": _place, "now": _place}
_COMPARED: dict[str, Shape] = {
    "rules": _number(1, _HEAVIEST), "marks": _each(lambda value: _has(value, _MARK), 1),
}  # fmt: skip
_ORIGIN: dict[str, Shape] = {"id": _name, "at": parse_moment, "by": _that(
    lambda value: type(value) is str and bool(_SHAPES["by"].fullmatch(value)), "is not a source")}  # fmt: skip
_AGAIN: dict[str, Shape] = {"ids": _each(_name, 1), "same": _whole, "first": _whole}
_STATED: dict[str, Shape] = {
    "belief": _belief, "?replaces": _texts, "?over": _texts, "?merged": _texts, "?idempotency_key": _name,
    "?approved": _text, "?echo": _texts, "?names": lambda value: _has(value, _ALIASES),
    "?filed": _number(1, _HEAVIEST), "?compared": lambda value: _has(value, _COMPARED),
    "?origin": lambda value: _has(value, _ORIGIN), "?quarantined": _one_of(True),
    "?again": lambda value: _has(value, _AGAIN), "?drops": _texts, "?above": _texts,
}  # fmt: skip
_FRONT = _fields(
    description=_text, title=_text, tags=_texts, status=_one_of(*STATUSES), needs_compact=_flag, created=parse_moment,
    reason=_text,
)  # fmt: skip
_REVIEW: dict[str, Shape] = {"review": _name, "?user": _name}
_MERGED: dict[str, Shape] = {
    **_WHOSE, "node": _name, "into": _name, "?names": _texts, "?score": _number(-_HEAVIEST, _HEAVIEST),
    "?reasons": _texts,
}  # fmt: skip
_HEAD = _fields(metadata=_any, extra=_any, head=_text)
_SAVED: dict[str, Shape] = {f"?{part}": _each(_record(part)) for part in KINDS}
_PIECE: dict[str, Shape] = {
    "part": _one_of(*KINDS, "head"), "names": _texts, "piece": _text, "n": _whole, "of": _whole,
}  # fmt: skip
_EVENTS: dict[str, dict[str, Shape]] = {
    ops.BELIEF_PUT: _STATED,
    ops.BELIEF_SUPERSEDE: {**_STATED, "replaces": _texts},
    ops.BELIEF_TOMBSTONE: {"id": _name, "?uncovers": _texts, **_BECAUSE},
    ops.BELIEF_INVALIDATE: {"id": _name, **_BECAUSE},
    ops.EPISODE_PUT: {"episode": _episode, "?echo": _texts, "?names": _STATED["?names"]},
    ops.EPISODE_RETRACT: {**_WHOSE, "ids": _texts, **_BECAUSE},
    ops.EPISODE_FADE: {**_WHOSE, "ids": _texts, **_BECAUSE},
    ops.EPISODE_RESTORE: {**_WHOSE, "ids": _texts, "was": _one_of(RETRACTED, ARCHIVED), "?out": _flag, **_BECAUSE},
    ops.OUTCOME_PUT: {
        **_WHOSE, "ids": _texts, "signal": _number(0, 1), "weight": _number(0, _HEAVIEST), **_BECAUSE, "?path": _text,
    },
    ops.RELATION_PUT: {**_WHOSE, "ids": _pair, "?relation": _text, "?path": _text},
    ops.RECEIPT_PUT: {"receipts": _each(Receipt.from_body, 1)},
    ops.REVIEW_ASK: {**_REVIEW, "action": Action.from_body, "why": _text},
    ops.REVIEW_ANSWER: {**_REVIEW, "answer": _one_of(*OUTCOMES), **_BECAUSE, "?marker": _text},
    ops.REVIEW_GRANT: {**_REVIEW, "marker": _name, "expires": parse_moment},
    ops.REVIEW_REFUSE: {"review": _text, "?user": _name, "kind": _text, "?noun": _text, "target": _texts, "why": _text},
    ops.RULE_PUT: {**_WHOSE, "rule": ConsolidationRule.from_dict},
    ops.RULE_DROP: {**_WHOSE, "id": _name},
    ops.RULE_RAN: {**_WHOSE, "id": _name, "through": _whole, "considered": _whole, "made": _table(_whole)},
    ops.RULE_FOUND: {**_WHOSE, "id": _name, "ids": _each(_text, 1), "reason": _text},
    ops.DELTA_NOOP: {**_WHOSE, "step": _fields(sources=_texts), "?corroborates": _texts, "?why": _text},
    ops.PAGE_PUT: {**_WHOSE, "about": _name, "front": _FRONT, "?again": _flag},
    ops.PAGE_COMPACT: {**_WHOSE, "about": _name, "into": _table(_name)},
    ops.PAGE_RENAME: {**_WHOSE, "about": _name, "to": _name},
    ops.PAGE_CLEAN: _WHOSE,
    ops.PATH_BRANCH: {**_WHOSE, "path": _text, "parent": _text},
    ops.PATH_MERGE: {**_WHOSE, "path": _text, "into": _text, "brought": _each(_pair), "?rule": _text},
    ops.PATH_ABANDON: {**_WHOSE, "path": _text, **_BECAUSE},
    ops.PATH_COMPACT: {**_WHOSE, "path": _text, "?summary": _text},
    ops.PATH_REOPEN: {**_WHOSE, "path": _text, **_BECAUSE},
    ops.TRUST_SET: {
        **_WHOSE, "source": _source, "trust": _one_of(NONE, USUAL), "?since": _text, "?first": _whole, **_BECAUSE,
    },
    ops.TRUST_CORROBORATE: {**_WHOSE, "ids": _texts},
    ops.GRAPH_PUT: {**_WHOSE, "?trust": _one_of(*TRUST), "?head": _HEAD, **_SAVED},
    ops.GRAPH_MERGE: _MERGED,
    ops.GRAPH_PROPOSE: {**_MERGED, "score": _number(-_HEAVIEST, _HEAVIEST), "reasons": _texts},
    ops.GRAPH_UNMERGE: {**_WHOSE, "node": _name},
    ops.GRAPH_DISMISS: {**_WHOSE, "node": _name, "into": _name},
    ops.SESSION_START: {"session": _name, "task_type": _name},
    ops.SESSION_END: {"session": _text},
    ops.FRAME_PUT: {"frame": Frame.from_body},
    ops.FRAME_DROP: {"name": _name},
    ops.CONFIG_SET: {"key": _name, "value": _that(lambda value: type(value) in (str, type(None)), "is not text")},
    ops.IMPORT_TAKE: {**_WHOSE, "ledger": _text, "begun": _text, "made": parse_moment, "whole": _one_of(False)},
    ops.IMPORT_DONE: {**_WHOSE, "events": _whole},
}  # fmt: skip

# Events of the memory, not of one user.
OF_ALL = frozenset({ops.SESSION_START, ops.SESSION_END, ops.FRAME_PUT, ops.FRAME_DROP, ops.CONFIG_SET})

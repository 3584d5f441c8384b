"""The file of an export: one JSON object a line, in UTF-8, each with its `type`.

    {"type": "tallystick", "format": 1, …}        the first line: whose memory, of which ledger, written when
    {"type": "belief", …}, {"type": "episode", …}, path, page, review, trust, rule, frame, graph
                                                the current records, for people and other programs
    {"type": "event", "n": 1, …}                the history: all that was recorded, in order
    {"type": "end", "records": …, "events": …}  the last line: without it the file was cut off

The records follow from the events, so a reader that imports events skips the records. A file made without history has
no events, and there the records are all there is.

Events are numbered from 1 without a gap, because in the ledger other people's events and its own are between them; an
event names other places in the ledger by these numbers. Their order is that of the ledger; times may step back, as
where a memory imported another's events. Nothing that is read here is trusted: the importer decides what it may do.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import orjson

from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.event import Event
from tallystick.records.operations import RECEIPT_PUT, RULE_RAN, TRUST_SET

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


# -- numbers ---------------------------------------------------------------------------------------------------------


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
    if op == RULE_RAN:
        return {**body, "through": last(body["through"])}
    if op == TRUST_SET and "first" in body:
        return {**body, "first": first(body["first"])}
    if op == RECEIPT_PUT:
        return {**body, "receipts": [_of_receipt(receipt, last) for receipt in body["receipts"]]}
    return body


def _of_receipt(receipt: dict[str, Any], last: Callable[[int], int]) -> dict[str, Any]:
    """A receipt names the place that it was answered from. The hash there differs in every ledger."""
    found = {**receipt, "head": [last(receipt["head"][0]), ""]}
    asked = receipt.get("asked", {})
    if type(asked.get("believed_at")) is int:
        found["asked"] = {**asked, "believed_at": last(asked["believed_at"])}
    return found


# -- reading ---------------------------------------------------------------------------------------------------------


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
                self._end(number, found)
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

    def _end(self, number: int, told: dict[str, Any]) -> None:
        if told != {"records": self.records, "events": self.events}:
            raise Refused(f"line {number}: the file should hold {_short(told)}; some of it is missing", "file")
        if any(raw.strip() for _, raw in self._lines):
            raise Refused(f"line {number}: there is more after the end; export the memory again", "file")


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

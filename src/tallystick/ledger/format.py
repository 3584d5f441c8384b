"""The line format: one event, one line.

One event is one line of compact UTF-8 JSON, its keys in this order and no other:

    {"seq":42,"ts":"2026-11-14T23:59:59.123456Z","op":"belief.put/1","id":"01J…","by":"mcp:3f9a",
     "batch":40,"left":0,"digest":"<64 hex>","prev":"<64 hex>","hash":"<64 hex>","data":{"salt":"…","body":{…}}}\\n

(shown here on two lines). `digest` is the SHA-256 of the bytes of `data` as written. `hash` is the SHA-256 of the
line's bytes up to `,"hash":`, so it covers the header, the digest and the link to the line above. Checking slices
raw bytes: nothing is re-serialised, so it is the same in any language. The Merkle leaf is that same hashed slice.

Lines are split at the byte \\n alone. The header holds no personal text and is strict enough to be read by one
regular expression, so no two readers can disagree. How a line is erased: see `folder/erase_everywhere`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from tallystick.records import ids
from tallystick.records.errors import Refused
from tallystick.records.event import TIME as TIME, Event, at_origin

FORMAT = 1
ZERO = "0" * 64
MAX_LINE = 1 << 20
PER_ERASURE = 8000  # line hashes that fit in one event with room to spare

NO_END = "it has no newline"
NO_MATCH = "its data does not match its digest"

BEGIN = "ledger.begin/1"
SEAL = "ledger.seal/1"
TORN = "ledger.torn/1"
PRUNE = "ledger.prune/1"
RESTORE = "ledger.restore/1"
REPAIR = "ledger.repair/1"
COPY = "ledger.copy/1"
STATE = "ledger.state/1"
SNAPSHOT = "snapshot/1"  # of earlier versions
ERASE = "erase/1"
ERASED = "erase.done/1"

# Events that the ledger writes about itself; all others come from callers.
HOUSEKEEPING = frozenset({BEGIN, SEAL, TORN, PRUNE, RESTORE, REPAIR, COPY, TIME, STATE, SNAPSHOT, ERASE, ERASED})

_HEADER = (
    rb'\{"seq":(0|[1-9]\d{0,15}),"ts":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)"'
    rb',"op":"([a-z]+(?:\.[a-z]+)*/[1-9]\d{0,3})","id":"([0-9A-HJKMNP-TV-Z]{26})","by":"([a-z]+:[0-9a-z]{1,32})"'
    rb',"batch":(0|[1-9]\d{0,15}),"left":(0|[1-9]\d{0,15}),"digest":"([0-9a-f]{64})","prev":"([0-9a-f]{64})"'
    rb',"hash":"([0-9a-f]{64})","data":'
)
HEADER = re.compile(_HEADER)
LINE = re.compile(_HEADER + rb"([^\n]*)\}\n")
HASH_GROUP = 10
BEFORE_HASH = len(b',"hash":"')
_PARTS, _PARTS_OF_EVENT = 31, 19  # of a header, between quotes
_BEFORE_DATA = 64 + len(b'","data":')

OP = re.compile(r"[a-z]+(?:\.[a-z]+)*/[1-9]\d{0,3}\Z")
_BY = re.compile(r"[a-z]+:[0-9a-z]{1,32}\Z")
_HOLLOW = re.compile(rb"null *\Z")
LONGEST_OP = 64


class BadLine(Exception):
    """Bytes that are not a line of a ledger; the message says why."""


class Line(NamedTuple):
    """One whole line that matches its own hash (not yet compared with the line above)."""

    seq: int
    ts: str
    op: str
    id: str
    by: str
    batch: int
    left: int
    prev: str
    hash: str
    slice: bytes
    data: bytes
    sound: bool  # the data matches the digest; else it is erased, partly erased, or damaged

    def event(self) -> Event:
        """The event of the line; one imported from another memory appears as it was recorded there."""
        body = body_of(self.data) if self.sound else None
        return at_origin(Event(self.seq, self.ts, self.op, self.id, self.by, self.hash, body))


def check_by(by: str) -> str:
    """Refuse a `by` other than a surface and an opaque source, like `cli:local`: it could carry personal text."""
    if not _BY.match(by):
        raise Refused(f"not a source: {by!r}; write surface:source in lowercase and digits, like cli:local", "name")
    return by


@lru_cache(maxsize=256)
def check_op(op: str) -> None:
    """Refuse what is not the name of an operation and its version."""
    if len(op) > LONGEST_OP or not OP.match(op):
        raise Refused(f"not an operation: {op!r}", "name")


def data_of(body: object, salt: str | None = None) -> bytes:
    """Encode `data`. The salt, random by default, keeps an erased text from being guessed from its digest."""
    salt = os.urandom(16).hex() if salt is None else salt
    try:
        return b'{"salt":"' + salt.encode() + b'","body":' + orjson.dumps(body) + b"}"
    except orjson.JSONEncodeError as error:
        raise Refused(f"cannot be written as JSON: {error}", "json") from None


def body_of(data: bytes) -> dict[str, Any]:
    """Decode `data`. Raises BadLine."""
    try:
        body = orjson.loads(data)["body"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        body = None
    if not isinstance(body, dict):
        raise BadLine("its data is not in the ledger's format")
    return body


def encode(
    seq: int, ts: str, op: str, event_id: str, by: str, batch: int, left: int, prev: str, data: bytes
) -> tuple[bytes, bytes, str]:
    """Encode a line; return it with its hashed slice and its hash."""
    digest = sha256(data).hexdigest()
    head = (
        f'{{"seq":{seq},"ts":"{ts}","op":"{op}","id":"{event_id}","by":"{by}",'
        f'"batch":{batch},"left":{left},"digest":"{digest}","prev":"{prev}"'
    ).encode()
    hashed = sha256(head).hexdigest()
    line = b'%b,"hash":"%b","data":%b}\n' % (head, hashed.encode(), data)
    if len(line) > MAX_LINE:
        raise Refused(f"too long: a line of {len(line):,} bytes (limit {MAX_LINE:,}); write it in parts", "size")
    return line, head, hashed


class LineEncoder:
    """Encodes groups of lines that follow event `seq`, all of one sync."""

    def __init__(self, seq: int, hashed: str) -> None:
        self.seq, self.hash, self._batch = seq, hashed, seq + 1
        self._lines: list[bytes] = []

    def take(self) -> bytes:
        """The lines since the last call."""
        lines, self._lines = self._lines, []
        return b"".join(lines)

    def add(self, op: str, bodies: Sequence[dict[str, Any]], ts: str, by: str) -> None:
        """Add new events, as one group."""
        self.add_group([(op, ids.event_id(ts), by, ts, data_of(body)) for body in bodies])

    def add_group(self, events: Sequence[tuple[str, str, str, str, bytes]]) -> None:
        """Add one group of events: op, id, by, ts and data."""
        for left, (op, event_id, by, ts, data) in zip(range(len(events) - 1, -1, -1), events, strict=True):
            self.seq += 1
            line, _, self.hash = encode(self.seq, ts, op, event_id, by, self._batch, left, self.hash, data)
            self._lines.append(line)


def parse(raw: bytes) -> Line:
    """Decode the line in `raw` (with its newline), checked against its own hash. Raises BadLine."""
    found = LINE.fullmatch(raw)
    if found is None:
        raise BadLine(why_not(raw))
    seq, ts, op, event_id, by, batch, left, digest, prev, hashed, data = found.groups()
    head = raw[: found.start(HASH_GROUP) - BEFORE_HASH]
    if sha256(head).hexdigest() != hashed.decode():
        raise BadLine("its hash does not match its header")
    sound = sha256(data).hexdigest() == digest.decode()
    return Line(
        int(seq), ts.decode(), op.decode(), event_id.decode(), by.decode(), int(batch), int(left),
        prev.decode(), hashed.decode(), head, data, sound,
    )  # fmt: skip


def split(raw: bytes) -> Line:
    """Decode a line that a scan has found good, without checking it again: five times as fast. Raises BadLine.

    Its data counts as that of the event unless it is what erasure leaves.
    """
    head, _, rest = raw.partition(b',"hash":"')
    parts = head.decode().split('"')
    if len(parts) != _PARTS or not rest.endswith(b"}\n"):
        raise BadLine(why_not(raw))
    data = rest[_BEFORE_DATA:-2]
    return Line(
        int(parts[2][1:-1]), parts[5], parts[9], parts[13], parts[17], int(parts[20][1:-1]), int(parts[22][1:-1]),
        parts[29], rest[:64].decode(), head, data, not data.startswith(b"null"),
    )  # fmt: skip


def split_event(raw: bytes) -> Event:
    """The event in a line that a scan has found good, as that was recorded here: half of what its parts cost.

    Raises BadLine.
    """
    head, _, rest = raw.partition(b',"hash":"')
    parts = head.decode().split('"', _PARTS_OF_EVENT)
    data = rest[_BEFORE_DATA:-2]
    body = None if data.startswith(b"null") else body_of(data)
    return Event(int(parts[2][1:-1]), parts[5], parts[9], parts[13], parts[17], rest[:64].decode(), body)


def try_split(raw: bytes) -> Line | None:
    """The same; None if it is not a line."""
    try:
        return split(raw)
    except (BadLine, ValueError, IndexError):
        return None


def try_parse(raw: bytes) -> Line | None:
    """Decode the line in `raw`; None if it is not one."""
    try:
        return parse(raw)
    except BadLine:
        return None


def why_not(raw: bytes) -> str:
    """The reason why `raw` is not a line."""
    if len(raw) > MAX_LINE:
        return f"it is longer than {MAX_LINE:,} bytes"
    if not raw.endswith(b"\n"):
        return NO_END
    if HEADER.match(raw) is None:
        return "its header is not in the ledger's format"
    return "its end is not in the ledger's format"


def is_hollow(data: bytes) -> bool:
    """True if `data` is what erasure leaves."""
    return _HOLLOW.match(data) is not None


def hollow(length: int) -> bytes:
    """The bytes with which erasure replaces `length` bytes of data."""
    return b"null".ljust(length)

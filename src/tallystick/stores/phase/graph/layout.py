"""How a graph looks in a folder, and why the same graph is always the same bytes.

    workspace.json            schema version, metadata
    profiles/  nodes/  edges/  paths/  activation_plans/
                              each a few files of lines: a header, then one record a line, by id
    events.jsonl              the event log
    audit.jsonl               who did what
    runtime.json              what the runtime notes about itself
    lock                      held while writing; no part of the content
    .pending/                 a change of several files, while it is under way
    damaged/                  files that could not be read, as they were before they were written again

A part is in one file, `all.jsonl`, as long as it has no more than 2,000 records; then in 16 files by the first
hexadecimal digit of the CRC-32 of the id's UTF-8 bytes, `0.jsonl` to `f.jsonl`; beyond 32,000 in 256 by the first two;
and so on. How many files there are, and what is in each, follows from the content alone, never from the order of
saving. An id never becomes the name of a file, so none can lead elsewhere, nor clash where upper and lower case are
one. One record more touches one file, of about two thousand records at the most.

A file's header holds the SHA-256 of what follows. If it agrees, the lines are as a tallystick wrote them, and are not
judged again line by line; if not, somebody edited the file, and it is read strictly and written anew when it is next
saved to.

What cannot be read is told, with its place, and read past. A file with such a line is not written over, but by whoever
knows from the log what is to be in it: then it is kept in `damaged/` first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.graph.envelope import KEYS, KINDS, key_of, settled_line
from tallystick.records.graph.fields import SCHEMA_VERSION, line_of
from tallystick.records.json import loads
from tallystick.stores.phase.graph.contents import PARTS, Row, row_of

WORKSPACE, EVENTS, AUDIT, RUNTIME = "workspace.json", "events.jsonl", "audit.jsonl", "runtime.json"
LOCK, PENDING, DAMAGED = "lock", ".pending", "damaged"
FORMAT = "tallystick-graph"
MOST = 2000  # records in a file, on average, before there are sixteen times as many files

MALFORMED, UNKNOWN_VERSION, TWICE = "malformed-file", "unknown-schema-version", "id-twice"

_NAME = re.compile(r"(all|[0-9a-f]{1,8})\.jsonl\Z")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that is no record to us: where, and why."""

    code: str
    file: str
    line: int  # the first is 1; 0 is the file as a whole
    byte: int  # where the line begins
    reason: str

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.line}, byte {self.byte}" if self.line else self.file


@dataclass(slots=True)
class Shard:
    """What was read from one file."""

    names: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    is_neat: bool = True  # the bytes are those that we would write
    is_file: bool = True  # it could be opened, whatever is in it


class Found(NamedTuple):
    """A record in a file, and where it stands."""

    name: str
    row: Row
    line: int
    byte: int


def width_for(count: int) -> int:
    """By how many digits so many records are told apart."""
    width = 0
    while count > MOST * 16**width:
        width += 1
    return width


def file_of(name: str, width: int) -> str:
    """In which file of its part a record is."""
    return f"{crc32(name.encode()):08x}"[:width] + ".jsonl" if width else "all.jsonl"


def width_of(file: str) -> int | None:
    """By how many digits a file's name tells records apart; None for what is no file of a part."""
    found = _NAME.match(file)
    return None if found is None else 0 if found[1] == "all" else len(found[1])


def header_of(place: str, body: bytes | memoryview) -> bytes:
    """The first line of a file, newline included. A file that was renamed no longer has its own."""
    told = (place.encode(), SCHEMA_VERSION, sha256(body).hexdigest().encode())
    return b'{"file":"%b","schema_version":%d,"sha256":"%b"}\n' % told


def file_bytes(place: str, lines: Iterable[bytes]) -> bytes:
    """A file with these lines, which are in order."""
    body = b"\n".join([*lines, b""])
    return header_of(place, body) + body


def workspace_bytes(metadata: dict[str, Any], extra: dict[str, Any], head: str) -> bytes:
    told = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "metadata": metadata}
    told |= {"extra": extra} if extra else {}
    told |= {"profile": head} if head else {}
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_workspace(data: bytes) -> tuple[dict[str, Any], list[Problem]]:
    """What `workspace.json` says, and what is wrong with it."""
    try:
        told = loads(data)
    except ValueError as error:
        return {}, [Problem(MALFORMED, WORKSPACE, 0, 0, str(error))]
    if type(told) is not dict or told.get("format") != FORMAT or "schema_version" not in told:
        return {}, [Problem(MALFORMED, WORKSPACE, 0, 0, f"not an object with format {FORMAT!r} and a schema_version")]
    if told["schema_version"] != SCHEMA_VERSION or type(told["schema_version"]) is not int:
        return {}, [_unknown_version(WORKSPACE, told["schema_version"], 0)]
    if any(type(told.get(name, {})) is not dict for name in ("metadata", "extra")):
        return {}, [Problem(MALFORMED, WORKSPACE, 0, 0, "metadata and extra are objects")]
    return told, []


def is_as_written(place: str, data: bytes) -> bool:
    """Whether a file's header vouches for what follows it."""
    start = data.find(b"\n") + 1
    return data[:start] == header_of(place, memoryview(data)[start:])


def read_shard(place: str, data: bytes, shard: Shard) -> Iterator[Found]:
    """The records in a file, one after the other. What was passed over, and whether it is neat, `shard` says."""
    shard.is_neat = is_as_written(place, data)
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        shard.problems.append(Problem(MALFORMED, place, 0, 0, "the file is empty"))
    elif _has_header(place, lines[0], shard):
        yield from _records(place, lines, shard)


def _records(place: str, lines: list[bytes], shard: Shard) -> Iterator[Found]:
    part, _, file = place.partition("/")
    width, before, byte = width_of(file), "", len(lines[0]) + 1
    for number, line in enumerate(lines[1:], 2):
        try:
            name, row = _read(part, line)
        except UnknownVersion as error:
            reason = str(error).removesuffix(": upgrade it")
            shard.problems.append(Problem(UNKNOWN_VERSION, place, number, byte, reason))
        except (Refused, ValueError) as error:
            shard.problems.append(Problem(MALFORMED, place, number, byte, _one_line(error)))
        else:
            if name <= before or row.line != line or (width and file_of(name, width) != file):
                shard.is_neat = False
            before = name
            yield Found(name, row, number, byte)
        byte += len(line) + 1


def _has_header(place: str, line: bytes, shard: Shard) -> bool:
    """Whether the file may be read on. One of a newer program may not: nobody knows what its lines mean."""
    try:
        told = loads(line)
    except ValueError:
        told = None
    version = told.get("schema_version") if type(told) is dict else None
    if type(version) is int and version == SCHEMA_VERSION and "file" in told:
        return True
    if version is not None and version != SCHEMA_VERSION:
        shard.problems.append(_unknown_version(place, version, 1))
        return False
    shard.problems.append(Problem(MALFORMED, place, 1, 0, "not the header of a file of the graph"))
    return True


def trusted_rows(place: str, data: bytes) -> list[tuple[str, Row]] | None:
    """The records of a file whose header vouches for them; None if it does not, or vouches for what is none."""
    if not is_as_written(place, data):
        return None
    lines, part = data.split(b"\n")[1:-1], place.partition("/")[0]
    key = KEYS.get(part, "id")
    try:
        told = orjson.loads(b"[%b]" % b",".join(lines))
        rows = [(each[key], row_of(part, line, each)) for line, each in zip(lines, told, strict=True)]
    except (KeyError, TypeError, ValueError):
        return None
    names = {name for name, _ in rows if type(name) is str}
    return rows if len(names) == len(rows) else None


def _read(part: str, line: bytes) -> tuple[str, Row]:
    """The record in a line. A line that reads back to its own bytes means one thing only; others are read strictly."""
    told = orjson.loads(line)
    own = orjson.dumps(told, option=orjson.OPT_SORT_KEYS) if type(told) is dict else b""
    if own == line:
        own = line
    else:
        told = loads(line)
        own = line_of(told) if type(told) is dict else own
    name = key_of(part, told)
    return name, row_of(part, settled_line(part, own, told) if part in KINDS else own, told)


def _unknown_version(place: str, version: object, line: int) -> Problem:
    reason = f"schema version {ascii(version)[:40]}, and this program knows {SCHEMA_VERSION}"
    return Problem(UNKNOWN_VERSION, place, line, 0, reason)


def _one_line(error: Exception) -> str:
    said = f"not JSON: {error.msg}" if isinstance(error, orjson.JSONDecodeError) else str(error)
    return ascii(said)[1:-1][:200]


def lacks_audit(root: Path) -> bool:
    """Whether the audit of a folder is missing: its lock is made with it."""
    return os.path.lexists(root / (AUDIT + ".lock")) and not os.path.lexists(root / AUDIT)


def lacks_log(root: Path) -> bool:
    """Whether the log of a folder is missing. Its lock and the runtime's note are made with the log, not before it."""
    made = (root / (EVENTS + ".lock"), root / RUNTIME)
    return all(map(os.path.lexists, made)) and not os.path.lexists(root / EVENTS)


def kept_name(place: str, data: bytes) -> str:
    """How a file that could not be read is called where it is kept. The same bytes are kept once."""
    return f"{place.replace('/', '-')}.{sha256(data).hexdigest()[:8]}"


def is_own(name: str) -> bool:
    """Whether a name at the top of the folder is one of the layout's."""
    own = (WORKSPACE, EVENTS, AUDIT, RUNTIME, LOCK, PENDING, DAMAGED, *PARTS)
    return name in own or name.startswith((EVENTS, AUDIT))

"""The layout of a graph in a folder, file by file as in docs/reference/local-workspace.md.

The same graph is always the same bytes: how many files there are, and what is in each, follows from the content alone,
never from the order of saving. An id never becomes the name of a file, so none can lead elsewhere, nor clash where
upper and lower case are one. One record more touches one file, of about two thousand records at the most.

A file's header holds the SHA-256 of what follows. If it agrees, the lines are as tallystick wrote them, and are not
checked line by line; if not, somebody edited the file: it is read strictly, and rewritten by the next save to it.

What cannot be read is reported, with its place, and skipped. A file with such a line is overwritten only if its content
is known from the log; then it is copied to `damaged/` first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.graph.envelope import KEYS, KINDS, key_of, settled_line
from tallystick.records.graph.nodes import SCHEMA_VERSION, line_of
from tallystick.records.json import loads
from tallystick.stores.phase.event_log.protocol import reason_of, unknown_version
from tallystick.stores.phase.graph.base import PARTS, Row, row_of

WORKSPACE, EVENTS, AUDIT, RUNTIME = "workspace.json", "events.jsonl", "audit.jsonl", "runtime.json"
LOCK, DAMAGED = "lock", "damaged"
FORMAT = "tallystick-graph"
MOST = 2000  # records in a file, on average, before there are sixteen times as many files

MALFORMED, UNKNOWN_VERSION, TWICE = "malformed-file", "unknown-schema-version", "id-twice"

_NAME = re.compile(r"(?:[a-z_]+/)?(all|[0-9a-f]{1,8})\.jsonl\Z")

Stamp = tuple[int, int, int, int]  # inode, size, mtime, ctime
Found = tuple[str, Row, int, int]  # a record in a file: its id, its row, its line and byte


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
    """One file as it was read."""

    stamp: Stamp | None = None
    names: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    is_neat: bool = True  # the bytes are those that we would write
    is_file: bool = True  # it could be opened, whatever is in it


def width_for(count: int) -> int:
    """The number of digits by which so many records are distributed to files."""
    width = 0
    while count > MOST * 16**width:
        width += 1
    return width


def file_of(name: str, width: int) -> str:
    """The file of a record, in the folder of its part."""
    return f"{crc32(name.encode()):08x}"[:width] + ".jsonl" if width else "all.jsonl"


def width_of(file: str) -> int | None:
    """The number of digits in a file's name; None for any other file."""
    found = _NAME.match(file)
    return None if found is None else 0 if found[1] == "all" else len(found[1])


def header_of(place: str, body: bytes | memoryview) -> bytes:
    """The first line of a file, newline included. A renamed file no longer has its own."""
    digest = sha256(body).hexdigest().encode()
    return b'{"file":"%b","schema_version":%d,"sha256":"%b"}\n' % (place.encode(), SCHEMA_VERSION, digest)


def file_bytes(place: str, lines: Iterable[bytes]) -> bytes:
    """A file with these lines, which are in order."""
    body = b"\n".join([*lines, b""])
    return header_of(place, body) + body


def workspace_bytes(metadata: dict[str, Any], extra: dict[str, Any], head: str) -> bytes:
    fields = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "metadata": metadata}
    fields |= {"extra": extra} if extra else {}
    fields |= {"profile": head} if head else {}
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_workspace(data: bytes) -> tuple[dict[str, Any], list[Problem]]:
    """The content of `workspace.json`, and what is wrong with it."""
    code, fields = MALFORMED, None
    try:
        fields = loads(data)
        version = fields.get("schema_version") if type(fields) is dict else None
        if version is None or fields.get("format") != FORMAT:
            reason = f"not an object with format {FORMAT!r} and a schema_version"
        elif type(version) is not int or version != SCHEMA_VERSION:
            code, reason = UNKNOWN_VERSION, unknown_version(version)
        elif any(type(fields.get(name, {})) is not dict for name in ("metadata", "extra")):
            reason = "metadata and extra are objects"
        else:
            return fields, []
    except ValueError as error:
        reason = str(error)
    return {}, [Problem(code, WORKSPACE, 0, 0, reason)]


def read_note(data: bytes) -> tuple[str | None, object]:
    """The event id in `runtime.json` (None, if it cannot be read), and the schema version."""
    try:
        fields = loads(data)
    except ValueError:
        return None, None
    version, name = (fields.get("schema_version"), fields.get("applying")) if type(fields) is dict else (None, None)
    is_known = type(version) is int and version == SCHEMA_VERSION and type(name) is str
    return (name if is_known else None), version


def is_as_written(place: str, data: bytes) -> bool:
    """True if a file's header has the digest of what follows it."""
    start = data.find(b"\n") + 1
    return data[:start] == header_of(place, memoryview(data)[start:])


def read_shard(place: str, data: bytes, shard: Shard) -> Iterator[Found]:
    """The records in a file, one after the other. Problems, and whether the file is neat, are noted in `shard`."""
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
        try:  # a line that reads back to its own bytes means one thing only; others are read strictly
            fields, own = orjson.loads(line), line
            if type(fields) is not dict or orjson.dumps(fields, option=orjson.OPT_SORT_KEYS) != line:
                fields = loads(line)
                own = line_of(fields) if type(fields) is dict else b""
            name = key_of(part, fields)
            row = row_of(part, settled_line(part, own, fields) if part in KINDS else own, fields)
        except UnknownVersion as error:
            reason = str(error).removesuffix(": upgrade it")
            shard.problems.append(Problem(UNKNOWN_VERSION, place, number, byte, reason))
        except (Refused, ValueError) as error:
            shard.problems.append(Problem(MALFORMED, place, number, byte, reason_of(error)))
        else:
            if name <= before or row.line != line or (width and file_of(name, width) != file):
                shard.is_neat = False
            before = name
            yield name, row, number, byte
        byte += len(line) + 1


def _has_header(place: str, line: bytes, shard: Shard) -> bool:
    """True if the file may be read on. A file of a newer program may not: its lines may mean something else."""
    try:
        fields = loads(line)
    except ValueError:
        fields = None
    version = fields.get("schema_version") if type(fields) is dict else None
    if type(version) is int and version == SCHEMA_VERSION and "file" in fields:
        return True
    if version is not None and version != SCHEMA_VERSION:
        shard.problems.append(Problem(UNKNOWN_VERSION, place, 1, 0, unknown_version(version)))
        return False
    shard.problems.append(Problem(MALFORMED, place, 1, 0, "not the header of a file of the graph"))
    return True


def trusted_rows(place: str, data: bytes) -> list[tuple[str, Row]] | None:
    """The records of a file whose header has their digest; None if it has not, or if one is no record."""
    if not is_as_written(place, data):
        return None
    lines, part = data.split(b"\n")[1:-1], place.partition("/")[0]
    key = KEYS.get(part, "id")
    try:
        records = orjson.loads(b"[%b]" % b",".join(lines))
        rows = [(each[key], row_of(part, line, each)) for line, each in zip(lines, records, strict=True)]
    except (KeyError, TypeError, ValueError):
        return None
    names = {name for name, _ in rows if type(name) is str}
    return rows if len(names) == len(rows) else None


def lacks_log(root: Path) -> bool:
    """True if the log of a folder is missing. Its lock and the runtime's note are created with it, not before."""
    made = (root / (EVENTS + ".lock"), root / RUNTIME)
    return all(map(os.path.lexists, made)) and not os.path.lexists(root / EVENTS)


def is_own(name: str) -> bool:
    """True if a name at the top of the folder is part of the layout."""
    own = (WORKSPACE, EVENTS, AUDIT, RUNTIME, LOCK, DAMAGED, *PARTS)
    return name in own or name.startswith((EVENTS, AUDIT))

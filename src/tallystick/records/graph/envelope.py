"""The graph envelope: a whole graph as one JSON object, to move it from one program to another.

`to_bytes` and `from_bytes` are inverse: what was written is read back equal, and written again it is the same bytes.
UTF-8, line feeds, a record on each line with its keys sorted; profiles, nodes, edges and paths by their ids, events in
their order. Unknown fields are kept, in each record and in the envelope itself.

Reading checks everything: JSON that every reader reads alike, every record, no id twice. A refusal names the place.
What `to_bytes` wrote is recognised by its bytes and read a line at a time; anything else is read strictly. Lines that a
store passes on are checked when they are read, or all of them by `check`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar, cast, overload

import orjson

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_known_version, must_be_object
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import (
    SCHEMA_VERSION,
    MemoryEdge,
    MemoryNode,
    MemoryProfile,
    RecordFields,
    check_record,
    is_normal,
    line_of,
)
from tallystick.records.json import loads
from tallystick.records.path import MemoryPath

R = TypeVar("R")

KINDS: dict[str, type[Any]] = {
    "profiles": MemoryProfile, "nodes": MemoryNode, "edges": MemoryEdge, "paths": MemoryPath, "events": MemoryEvent,
}  # fmt: skip
KEYS = {"paths": "path_id"}  # the field with the id, where that is not `id`
NORMAL = ("profiles", "nodes", "edges")  # that `is_normal` can check
MUST_HAVE = {"nodes": ("kind",), "edges": ("source", "target", "kind")}

_HEAD = b'{"schema_version":%d,\n' % SCHEMA_VERSION


def key_of(part: str, raw: object) -> str:
    """The id of a record of that part. Refused, if a required field is missing."""
    must_be_object("a record", raw)
    record, name = cast("RecordFields", raw), KEYS.get(part, "id")
    for needed in (name, *MUST_HAVE.get(part, ())):
        value = record.get(needed)
        if type(value) is not str or not value:
            why = "is missing" if value is None else "must be a string that is not empty"
            raise Refused(f"{needed} {why}", "required")
    return cast(str, record[name])


def keys_in(head: RecordFields) -> Iterator[tuple[str, str]]:
    """The metadata of envelopes, key by key: the part that has it, and its name there."""
    for part in ("metadata", "extra"):
        yield from ((part, name) for name in head.get(part, {}))
    if head.get("head"):
        yield "head", "profile"


def record_of(part: str, raw: Mapping[str, Any]) -> Any:
    return KINDS[part].from_dict(raw)


def record_in(part: str, line: bytes) -> Any:
    raw, kind = orjson.loads(line), KINDS[part]
    if part in NORMAL and is_normal(line, raw, kind):
        return kind.judged(raw)
    return kind.from_dict(raw)


def settled_line(part: str, line: bytes, raw: RecordFields) -> bytes:
    """The line as the record itself would write it. Refused, if it is not a record of that part."""
    if part not in NORMAL or type(raw) is not dict or not is_normal(line, raw, KINDS[part]):
        return line_of(record_of(part, raw).to_dict())
    return line


class Records(Sequence[R], Generic[R]):
    """Records of one part, each made when it is read."""

    __slots__ = ("is_judged", "lines", "part")

    def __init__(self, part: str, lines: Iterable[bytes], *, is_judged: bool = False) -> None:
        self.part, self.lines, self.is_judged = part, tuple(lines), is_judged

    @classmethod
    def of(cls, part: str, given: Iterable[Any]) -> Records[R]:
        """From records, or from their dictionaries."""
        if isinstance(given, Records):
            return given
        records = (_made(part, each).to_dict() for each in given)
        return cls(part, _arranged(part, records), is_judged=True)

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Records[R]: ...
    def __getitem__(self, index: int | slice) -> R | Records[R]:
        if isinstance(index, slice):
            return Records(self.part, self.lines[index], is_judged=self.is_judged)
        return cast(R, record_in(self.part, self.lines[index]))

    def __iter__(self) -> Iterator[R]:
        return (cast(R, record_in(self.part, line)) for line in self.lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and (self.part, self.lines) == (other.part, other.lines)

    def __hash__(self) -> int:
        return hash((self.part, self.lines))

    def __repr__(self) -> str:
        return f"<{len(self)} {self.part}>"


def _made(part: str, given: Any) -> Any:
    if isinstance(given, KINDS[part]):
        return given
    if not isinstance(given, Mapping):
        raise Refused(f"{part} must be {KINDS[part].__name__} records, not {type(given).__name__}")
    return record_of(part, given)


def _arranged(part: str, given: Iterable[Any]) -> list[bytes]:
    """The lines of dictionaries, each checked, by their ids; events as they come. Refused, with the place."""
    lines: dict[str, bytes] = {}
    for number, raw in enumerate(given):
        try:
            name = key_of(part, raw)
            check_record(raw)
            if name in lines:
                raise Refused(f"the id {ascii(name)[:60]} is used twice", "duplicate")
            lines[name] = settled_line(part, line_of(raw), raw)
        except Refused as error:
            raise _placed(error, part, number) from None
    return list(lines.values()) if part == "events" else [lines[name] for name in sorted(lines)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEnvelope(Displayable):
    """A whole graph. Lists of records are taken as they come and put in order."""

    profile: MemoryProfile | None = None
    profiles: Sequence[MemoryProfile] = ()  # further ones, where a store has several
    nodes: Sequence[MemoryNode] = ()
    edges: Sequence[MemoryEdge] = ()
    paths: Sequence[MemoryPath] = ()
    events: Sequence[MemoryEvent] = ()
    metadata: RecordFields = field(default_factory=dict)
    extra: RecordFields = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        must_be_known_version(self.schema_version)
        object.__setattr__(self, "profile", _profile(self.profile))
        for part in KINDS:
            object.__setattr__(self, part, Records.of(part, getattr(self, part)))
        if self.profile is None and self.profiles:
            object.__setattr__(self, "profile", self.profiles[0])
        rest = [line for line in self.records("profiles").lines if line != self._head()]
        judged = self.records("profiles").is_judged
        object.__setattr__(self, "profiles", Records[MemoryProfile]("profiles", rest, is_judged=judged))
        for name in ("metadata", "extra"):
            must_be_object(name, getattr(self, name))
            check_record(getattr(self, name))
        taken = self.extra.keys() & _FIELDS
        if taken:
            raise Refused(f"extra must not hold {min(taken)!r}, which is a field of its own")

    def _head(self) -> bytes:
        return line_of(self.profile.to_dict()) if self.profile else b"null"

    def records(self, part: str) -> Records[Any]:
        """One part, by its name."""
        return cast(Records[Any], getattr(self, part))

    def settled(self, part: str) -> Iterator[tuple[str, bytes, RecordFields]]:
        """Every record of a part: its id, the line it is written as, its dictionary. Refused, with the place."""
        number, records, key = -1, self.records(part), KEYS.get(part, "id")
        try:
            for line in records.lines:
                number += 1
                raw = orjson.loads(line)
                if not records.is_judged:
                    line = settled_line(part, line, raw)
                yield raw[key], line, raw
        except Refused as error:
            raise _placed(error, part, number) from None

    def check(self) -> None:
        """Check every record. Refused, with the place of the first that is invalid."""
        for part in KINDS:
            for _ in () if self.records(part).is_judged else self.settled(part):
                continue

    def to_bytes(self) -> bytes:
        """The envelope as a file holds it. The same content gives the same bytes."""
        pieces = [_HEAD, b'"profile":', self._head()]
        for part in KINDS:
            lines = self.records(part).lines
            if lines or part != "profiles":
                pieces += (b',\n"%b":[' % part.encode(), b"\n" if lines else b"", b",\n".join(lines))
                pieces.append(b"\n]" if lines else b"]")
        pieces += (b',\n"metadata":', line_of(self.metadata))
        for name in sorted(self.extra):
            pieces += (b",\n", orjson.dumps(name), b":", orjson.dumps(self.extra[name], option=orjson.OPT_SORT_KEYS))
        return b"".join((*pieces, b"}\n"))

    @classmethod
    def from_bytes(cls, data: bytes | str) -> GraphEnvelope:
        """The envelope in a file. Refused, with the place."""
        given = data if isinstance(data, bytes) else data.encode(errors="surrogatepass")
        if found := cls.as_written(given):
            return found
        try:
            raw = loads(given)
        except ValueError as error:
            raise Refused(f"not an envelope: {error}", "json") from None
        return cls.from_dict(raw)

    @classmethod
    def as_written(cls, data: bytes) -> GraphEnvelope | None:
        """The envelope in a file, if `to_bytes` wrote it: read line by line, so that little of it is held twice."""
        if not data.startswith(_HEAD):
            return None
        try:
            lines = iter(data.removesuffix(b"}\n").split(b"\n"))
            next(lines)
            found = cls(**dict(_fields_in(lines)))
        except (_NotOurs, Refused, ValueError, TypeError):
            return None
        return found if found.to_bytes() == data else None

    def to_dict(self) -> RecordFields:
        whole: RecordFields = orjson.loads(self.to_bytes())
        return whole

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> GraphEnvelope:
        """The envelope of a dictionary. Refused, with the place."""
        if not isinstance(raw, Mapping):
            raise Refused(f"an envelope must be an object, not {type(raw).__name__}")
        if "schema_version" not in raw:
            raise Refused(f"an envelope needs a schema_version; this program knows {SCHEMA_VERSION}", "required")
        must_be_known_version(raw["schema_version"])
        parts = dict[str, Any]()
        for part in KINDS:
            if type(records := raw.get(part, [])) is not list:
                raise Refused(f"{part} must be a list, not {type(records).__name__}")
            parts[part] = Records[Any](part, _arranged(part, records), is_judged=True)
        extra = {name: value for name, value in raw.items() if name not in _FIELDS}
        return cls(profile=raw.get("profile"), metadata=raw.get("metadata", {}), extra=extra, **parts)

    def __repr__(self) -> str:
        counts = (f"{len(self.records(part))} {part}" for part in KINDS if part != "profiles")
        return f"<GraphEnvelope {', '.join(counts)}>"


_FIELDS = frozenset(f.name for f in fields(GraphEnvelope) if f.name != "extra")


def _profile(given: Any) -> MemoryProfile | None:
    if given is None or isinstance(given, MemoryProfile):
        return given
    try:
        return MemoryProfile.from_dict(given)
    except Refused as error:
        raise error.reworded(f"profile: {error}") from None


def _placed(error: Refused, part: str, number: int) -> Refused:
    """The error with the place in front."""
    return error.reworded(f"{part}[{number}]: {error}")


class _NotOurs(Exception):
    """Bytes that `to_bytes` did not write."""


def _fields_in(lines: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
    extra: RecordFields = {}
    for line in lines:
        name, _, value = line[1:].partition(b'":')
        part = name.decode()
        if part in KINDS:
            yield part, Records[Any](part, _read_part(part, lines) if value == b"[" else (), is_judged=True)
        elif part in _FIELDS:
            yield part, orjson.loads(value.removesuffix(b","))
        else:
            extra[orjson.loads(b'"%b"' % name)] = orjson.loads(value.removesuffix(b","))
    yield "extra", extra


def _read_part(part: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    """The records up to the end of their list: each reads back to its own bytes, and no id is used twice."""
    before, seen, key = "", set[str](), KEYS.get(part, "id")
    for line in lines:
        if line[:1] == b"]":
            return
        own = line.removesuffix(b",")
        raw = orjson.loads(own)
        if orjson.dumps(raw, option=orjson.OPT_SORT_KEYS) != own or settled_line(part, own, raw) != own:
            raise _NotOurs
        name = raw[key]
        if name in seen if part == "events" else name <= before:
            raise _NotOurs
        if part == "events":
            seen.add(name)
        before = name
        yield own
    raise _NotOurs

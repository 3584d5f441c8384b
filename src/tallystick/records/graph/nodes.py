"""The graph's own records: nodes, the edges between them, and profiles.

Construct one and it is valid: it has a name and a kind, its times are times, and it can be written and read back as it
is. `to_dict` gives the fields that are not defaults, `from_dict` takes them; unknown fields are kept in `extra`, so
nothing of a newer or foreign program is lost on the way through. `to_line` gives the same bytes for the same record, on
any machine and any day.

A node that turned out to be the same as another says so in `merged`; the other lists in `absorbed` which names came
from where, so that a merge can be undone.

`is_normal` checks a dictionary without making the record, in a small part of the time: what it accepts, `from_dict`
takes and `to_dict` gives back as it is. It may reject what is valid; then the record is made, and settles it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import date
from functools import lru_cache
from hashlib import sha256
from sys import float_info
from typing import Any, ClassVar, Self

import orjson

from tallystick.records.clock import comparable, said_time
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.fields import must_be_known_version, must_be_name, must_be_object, must_be_text
from tallystick.records.json import DEPTH, check, to_keep

SCHEMA_VERSION = 1

RecordFields = dict[str, Any]

_HEAVIEST = int(float_info.max)
_set = object.__setattr__


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of a record: the ids of its sources, who stated it, and when."""

    sources: tuple[str, ...] = ()
    by: str = ""
    at: str = ""
    extra: RecordFields = field(default_factory=dict)

    def __post_init__(self) -> None:
        _set(self, "sources", as_texts("sources", self.sources))
        must_be_text("by", self.by)
        _set(self, "at", as_moment(self.at, "at"))
        _check_extra(self)

    def to_dict(self) -> RecordFields:
        return {**self.extra, **_filled(self)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Provenance:
        return cls(**_split(cls, given))


class _Record(Displayable):
    """The methods that nodes, edges and profiles have in common."""

    __slots__ = ()

    always: ClassVar[tuple[str, ...]] = ("id", "kind")  # given even where they are empty

    provenance: Provenance
    extra: RecordFields

    def to_dict(self) -> RecordFields:
        found = {**self.extra, **_filled(self), **{name: getattr(self, name) for name in self.always}}
        found["provenance"] = self.provenance.to_dict()
        if not found["provenance"]:
            del found["provenance"]
        return found

    def to_line(self) -> bytes:
        return line_of(self.to_dict())

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        what = cls.__name__.removeprefix("Memory").lower()
        try:
            found = _split(cls, given)
            if "provenance" in found:
                found["provenance"] = Provenance.from_dict(as_object("provenance", found["provenance"]))
            return cls(**found)
        except TypeError:
            missing = ", ".join(name for name in cls.always if name not in given)
            raise Refused(f"invalid {what}: {missing} missing", "required") from None
        except UnknownVersion:
            raise
        except Refused as error:
            raise Refused(f"invalid {what}: {error}", error.code) from None

    @classmethod
    def judged(cls, given: RecordFields) -> Self:
        """The record of a dictionary that `is_normal`, and that belongs to the record from now on."""
        record: Self = _unchecked(cls, given)
        return record


class _Lasting(_Record):
    """A record that was so for a time."""

    __slots__ = ()

    valid_from: str
    valid_to: str

    def holds_at(self, moment: str) -> bool:
        """True if it was so at `moment`, which is as `comparable` gives it."""
        return self.valid_from <= moment and (not self.valid_to or moment < self.valid_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNode(_Lasting):
    """A remembered thing. `valid_from` and `valid_to` say when it was so in the world."""

    id: str
    kind: str
    label: str = ""
    aliases: tuple[str, ...] = ()
    properties: RecordFields = field(default_factory=dict)
    weight: float = 1.0
    valid_from: str = ""
    valid_to: str = ""
    provenance: Provenance = field(default_factory=Provenance)
    merged: RecordFields = field(default_factory=dict)  # into which node, and by whom, when, why
    absorbed: RecordFields = field(default_factory=dict)  # nodes that are this one, each with its names
    extra: RecordFields = field(default_factory=dict)

    def __post_init__(self) -> None:
        _set(self, "aliases", as_texts("aliases", self.aliases))
        if self.merged:
            must_be_name("merged.into", as_object("merged", self.merged).get("into"))
        for name, brought in as_object("absorbed", self.absorbed).items():
            as_texts(f"absorbed[{ascii(name)[:40]}]", brought)
        _check_common(self)

    @property
    def merged_into(self) -> str:
        """The node that this one turned out to be; empty if it was not merged."""
        return str(self.merged.get("into", ""))

    @property
    def names(self) -> tuple[str, ...]:
        """Its label and its aliases, each once."""
        return tuple(dict.fromkeys(name for name in (self.label, *self.aliases) if name))

    def __repr__(self) -> str:
        return f"<MemoryNode {self.id} {self.kind} {self.label!r}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEdge(_Lasting):
    """A relation that leads from one node to another."""

    always = ("id", "source", "target", "kind")

    id: str
    source: str
    target: str
    kind: str
    label: str = ""
    properties: RecordFields = field(default_factory=dict)
    weight: float = 1.0
    valid_from: str = ""
    valid_to: str = ""
    provenance: Provenance = field(default_factory=Provenance)
    led: tuple[dict[str, str], ...] = ()  # the ends that it had before nodes were merged, the last one last
    extra: RecordFields = field(default_factory=dict)

    def __post_init__(self) -> None:
        must_be_name("source", self.source)
        must_be_name("target", self.target)
        for step in as_list("led", self.led):
            if not as_object("led", step) or not step.keys() <= {"source", "target"}:
                raise Refused(f"led must hold objects with source or target, not {ascii(step)[:60]}")
            as_texts("led", step.values())
        _set(self, "led", tuple(self.led))
        _check_common(self)

    @classmethod
    def between(cls, source: str, kind: str, target: str, **rest: Any) -> MemoryEdge:
        """An edge whose id follows from its ends and kind: stated twice, it is one edge."""
        return cls(id=edge_id(source, kind, target), source=source, kind=kind, target=target, **rest)

    def __repr__(self) -> str:
        return f"<MemoryEdge {self.source} -{self.kind}-> {self.target}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryProfile(_Record):
    """The owner of a memory, and how it is meant to be kept: names and settings, no memories."""

    id: str
    kind: str = "profile"
    label: str = ""
    properties: RecordFields = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)
    extra: RecordFields = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_common(self)

    def __repr__(self) -> str:
        return f"<MemoryProfile {self.id} {self.label!r}>"


def edge_id(source: str, kind: str, target: str) -> str:
    """The id of the one edge of that kind between two nodes."""
    check_record([source, kind, target])
    return "e-" + sha256(orjson.dumps([source, kind, target])).hexdigest()[:24]


def line_of(record: Mapping[str, Any]) -> bytes:
    """A record as one line, without its newline: keys sorted, so that equal records are equal bytes."""
    return to_keep(orjson.dumps(record, option=orjson.OPT_SORT_KEYS))


def check_record(record: object) -> None:
    """Refuse what could not be written and read back, alone or within an envelope."""
    try:
        check([[record]])  # an envelope puts two levels above it
    except ValueError as error:
        raise Refused(f"cannot be written: {str(error).removeprefix('[0][0]').removeprefix('.')}", "json") from None


def as_list(name: str, value: object) -> Iterable[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise Refused(f"{name} must be a list, not {type(value).__name__}")
    return value


def as_texts(name: str, values: object) -> tuple[str, ...]:
    found = tuple(as_list(name, values))
    for number, value in enumerate(found):
        must_be_text(f"{name}[{number}]", value)
    return found


def as_object(name: str, value: Any) -> Mapping[str, Any]:
    must_be_object(name, value)
    found: Mapping[str, Any] = value
    return found


def as_weight(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _HEAVIEST:  # type: ignore[operator]
        raise Refused(f"weight must be a number from 0 up, not {ascii(value)[:40]}")
    return float(value) + 0.0  # type: ignore[arg-type]  # -0.0 becomes 0.0


def as_moment(value: date | str, what: str) -> str:
    if not isinstance(value, str | date):
        raise Refused(f"{what} must be a date or time, not {type(value).__name__}", "time")
    try:
        text = said_time(value)
        return text if not text or is_settled(text) else comparable(text)
    except Refused as error:
        raise Refused(f"{what}: {error}", error.code) from None


@lru_cache(4096)
def is_settled(moment: str) -> bool:
    """True if a text is a date or time as records hold it."""
    try:
        return comparable(moment) == moment
    except Refused:
        return False


def _check_common(record: Any) -> None:
    must_be_name("id", record.id)
    must_be_name("kind", record.kind)
    must_be_text("label", record.label)
    as_object("properties", record.properties)
    _check_extra(record)
    if not isinstance(record.provenance, Provenance):
        raise Refused(f"provenance must be a Provenance, not {type(record.provenance).__name__}")
    if isinstance(record, _Lasting):
        _set(record, "weight", as_weight(record.weight))  # type: ignore[attr-defined]
        for name in ("valid_from", "valid_to"):
            _set(record, name, as_moment(getattr(record, name), name))
    check_record(record.to_dict())


def _check_extra(record: Any) -> None:
    taken = as_object("extra", record.extra).keys() & {*_NAMES[type(record)], "schema_version"}
    if taken:
        raise Refused(f"extra must not hold {min(taken)!r}, which is a field of its own")


def _filled(record: Any) -> RecordFields:
    """The fields that are not defaults, as JSON has them."""
    found = {name: getattr(record, name) for name in _NAMES[type(record)]}
    return {
        name: list(value) if type(value) is tuple else value
        for name, value in found.items()
        if (value != 1.0 if name == "weight" else value)
    }


def _split(cls: type[Any], given: Mapping[str, Any]) -> RecordFields:
    """The arguments of a record: its own fields, and the unknown ones as `extra`."""
    as_object("the record", given)
    must_be_known_version(given.get("schema_version", SCHEMA_VERSION))
    names = _NAMES[cls]
    extra = {name: value for name, value in given.items() if name not in names and name != "schema_version"}
    return {**{name: given[name] for name in names if name in given}, "extra": extra}


def _unchecked(cls: type[Any], given: RecordFields) -> Any:
    """The record of a dictionary that was checked."""
    record, names = object.__new__(cls), _NAMES[cls]
    for name, default in _DEFAULTS[cls].items():
        value = given.get(name, default) if default is not dict else given.get(name) or {}
        _set(record, name, tuple(value) if type(default) is tuple else value)
    if source := given.get("provenance"):
        _set(record, "provenance", _unchecked(Provenance, source))
    _set(record, "extra", {name: given[name] for name in given if name not in names})
    return record


_KINDS: tuple[type[Any], ...] = (Provenance, MemoryNode, MemoryEdge, MemoryProfile)
_NAMES = {kind: tuple(f.name for f in fields(kind) if f.name != "extra") for kind in _KINDS}
_DEFAULTS: dict[type[Any], dict[str, Any]] = {
    kind: {
        f.name: Provenance() if f.name == "provenance" else dict if f.default is MISSING else f.default
        for f in fields(kind)
    }
    for kind in _KINDS
}


# -- records that are known by their looks -----------------------------------------------------------------------------

Judges = dict[str, Callable[[object], bool]]


def is_normal(line: bytes, given: RecordFields, kind: type[Any]) -> bool:
    """True if `given`, which is the value of `line`, is in the form in which a record of that kind is written."""
    judges, needed = _NORMAL[kind]
    if line.count(b"{") + line.count(b"[") > DEPTH - 2 or not needed <= given.keys():
        return False
    return _all_pass(given, judges)


def _all_pass(given: RecordFields, judges: Judges) -> bool:
    for name, value in given.items():
        judge = judges.get(name)
        if judge is _is_name:  # most are, and are spared the call
            if type(value) is not str or not value:
                return False
        elif judge is not None and not judge(value):
            return False
    return True


def _is_name(value: object) -> bool:
    return type(value) is str and value != ""


def _is_texts(value: object) -> bool:
    return type(value) is list and set(map(type, value)) == {str}


def _is_weight(value: object) -> bool:
    return type(value) is float and value >= 0 and value != 1.0 and str(value) != "-0.0"


def _is_moment(value: object) -> bool:
    return type(value) is str and value != "" and is_settled(value)


def _is_source(value: object) -> bool:
    return type(value) is dict and value != {} and _all_pass(value, _SOURCE)


_NEVER = dict.fromkeys(("schema_version", "merged", "absorbed", "led"), lambda _: False)
_SOURCE: Judges = {**_NEVER, "sources": _is_texts, "by": _is_name, "at": _is_moment}
_COMMON: Judges = {
    **_NEVER, "id": _is_name, "kind": _is_name, "label": _is_name, "provenance": _is_source,
    "properties": lambda value: type(value) is dict and value != {},
}  # fmt: skip
_FOR_A_TIME: Judges = {**_COMMON, "weight": _is_weight, "valid_from": _is_moment, "valid_to": _is_moment}
_NORMAL: dict[type[Any], tuple[Judges, frozenset[str]]] = {
    MemoryNode: ({**_FOR_A_TIME, "aliases": _is_texts}, frozenset(MemoryNode.always)),
    MemoryEdge: ({**_FOR_A_TIME, "source": _is_name, "target": _is_name}, frozenset(MemoryEdge.always)),
    MemoryProfile: (_COMMON, frozenset(MemoryProfile.always)),
}

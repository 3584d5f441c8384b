"""The graph's own records: nodes, the edges between them, and profiles.

Construct one and it is valid: it has a name and a kind, its times are times, and it can be written and read back as it
is. `to_dict` gives the fields that say something, `from_dict` takes them; fields that this program does not know are
kept in `extra`, so nothing of a newer or foreign program is lost on the way through. `to_line` gives the same bytes
for the same record, on any machine and any day.

A node that was found to be the same thing as another says so in `merged`; the other lists in `absorbed` which names
came from where, so that it can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from hashlib import sha256
from typing import Any, TypeVar

import orjson

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.graph.fields import (
    SCHEMA_VERSION,
    RecordFields,
    as_list,
    as_moment,
    as_object,
    as_texts,
    as_weight,
    check_record,
    line_of,
    must_be_name,
    must_be_text,
    put_field,
)

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a record comes from: the ids of its sources, who stated it, and when."""

    sources: tuple[str, ...] = ()
    by: str = ""
    at: str = ""
    extra: RecordFields = field(default_factory=dict)

    def __post_init__(self) -> None:
        put_field(self, "sources", as_texts(self.sources, "sources"))
        must_be_text(self.by, "by")
        put_field(self, "at", as_moment(self.at, "at"))
        _unknown(self.extra, _PROVENANCE)

    def to_dict(self) -> RecordFields:
        return {**self.extra, **_said(self, _PROVENANCE)}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Provenance:
        return cls(**_known(told, _PROVENANCE))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNode(Displayable):
    """Something that is remembered. `valid_from` and `valid_to` say when it was so in the world."""

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
        put_field(self, "aliases", as_texts(self.aliases, "aliases"))
        if self.merged:
            must_be_name(as_object(self.merged, "merged").get("into"), "merged.into")
        for name, brought in as_object(self.absorbed, "absorbed").items():
            as_texts(brought, f"absorbed[{ascii(name)[:40]}]")
        _settle(self, _NODE)

    @property
    def merged_into(self) -> str:
        """The node that this one turned out to be; empty if it stands for itself."""
        return str(self.merged.get("into", ""))

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called: its label and its aliases, each once."""
        return tuple(dict.fromkeys(name for name in (self.label, *self.aliases) if name))

    def holds_at(self, moment: str) -> bool:
        """Whether it was so then. `moment` is as `comparable` gives it."""
        return _holds(self, moment)

    def to_dict(self) -> RecordFields:
        return _told(self, _NODE, ("id", "kind"))

    def to_line(self) -> bytes:
        return line_of(self.to_dict())

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> MemoryNode:
        """The node that `to_dict` gave. Refused, with the reason."""
        return _from(cls, told, _NODE, "node")

    @classmethod
    def judged(cls, told: RecordFields) -> MemoryNode:
        """The same, from a dictionary that `is_normal` and that is the record's own from now on."""
        return _unjudged(cls, told, _NODE)

    def __repr__(self) -> str:
        return f"<MemoryNode {self.id} {self.kind} {self.label!r}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEdge(Displayable):
    """A relation that leads from one node to another."""

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
        must_be_name(self.source, "source")
        must_be_name(self.target, "target")
        for step in as_list(self.led, "led"):
            if not as_object(step, "led") or not step.keys() <= {"source", "target"}:
                raise Refused(f"led holds objects with source or target, not {ascii(step)[:60]}")
            as_texts(step.values(), "led")
        put_field(self, "led", tuple(self.led))
        _settle(self, _EDGE)

    @classmethod
    def between(cls, source: str, kind: str, target: str, **rest: Any) -> MemoryEdge:
        """An edge whose id follows from its ends and kind: said twice, it is one edge."""
        return cls(id=edge_id(source, kind, target), source=source, kind=kind, target=target, **rest)

    def holds_at(self, moment: str) -> bool:
        """Whether it was so then. `moment` is as `comparable` gives it."""
        return _holds(self, moment)

    def to_dict(self) -> RecordFields:
        return _told(self, _EDGE, ("id", "source", "target", "kind"))

    def to_line(self) -> bytes:
        return line_of(self.to_dict())

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> MemoryEdge:
        """The edge that `to_dict` gave. Refused, with the reason."""
        return _from(cls, told, _EDGE, "edge")

    @classmethod
    def judged(cls, told: RecordFields) -> MemoryEdge:
        """The same, from a dictionary that `is_normal` and that is the record's own from now on."""
        return _unjudged(cls, told, _EDGE)

    def __repr__(self) -> str:
        return f"<MemoryEdge {self.source} -{self.kind}-> {self.target}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryProfile(Displayable):
    """Whose memory it is and how it is meant to be kept: names and settings, no memories."""

    id: str
    kind: str = "profile"
    label: str = ""
    properties: RecordFields = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)
    extra: RecordFields = field(default_factory=dict)

    def __post_init__(self) -> None:
        _settle(self, _PROFILE)

    def to_dict(self) -> RecordFields:
        return _told(self, _PROFILE, ("id", "kind"))

    def to_line(self) -> bytes:
        return line_of(self.to_dict())

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> MemoryProfile:
        """The profile that `to_dict` gave. Refused, with the reason."""
        return _from(cls, told, _PROFILE, "profile")

    @classmethod
    def judged(cls, told: RecordFields) -> MemoryProfile:
        """The same, from a dictionary that `is_normal` and that is the record's own from now on."""
        return _unjudged(cls, told, _PROFILE)

    def __repr__(self) -> str:
        return f"<MemoryProfile {self.id} {self.label!r}>"


def edge_id(source: str, kind: str, target: str) -> str:
    """The name of the one edge of that kind between two nodes."""
    check_record([source, kind, target])
    return "e-" + sha256(orjson.dumps([source, kind, target])).hexdigest()[:24]


# -- fields ----------------------------------------------------------------------------------------------------------


def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if f.name != "extra")


def _settle(record: Any, names: tuple[str, ...]) -> None:
    """Judge what the kinds of record have in common."""
    must_be_name(record.id, "id")
    must_be_name(record.kind, "kind")
    must_be_text(record.label, "label")
    as_object(record.properties, "properties")
    _unknown(record.extra, names)
    if not isinstance(record.provenance, Provenance):
        raise Refused(f"provenance is a Provenance, not {type(record.provenance).__name__}")
    if "weight" in names:
        put_field(record, "weight", as_weight(record.weight))
        for name in ("valid_from", "valid_to"):
            put_field(record, name, as_moment(getattr(record, name), name))
    check_record(record.to_dict())


def _told(record: Any, names: tuple[str, ...], always: tuple[str, ...]) -> RecordFields:
    told = {**record.extra, **_said(record, names), **{name: getattr(record, name) for name in always}}
    if "provenance" in told:
        told["provenance"] = record.provenance.to_dict()
        if not told["provenance"]:
            del told["provenance"]
    return told


def _said(record: Any, names: tuple[str, ...]) -> RecordFields:
    """The fields that say something, as JSON has them."""
    said = {name: value for name in names if (value := getattr(record, name)) or (value == 0.0 and name == "weight")}
    if said.get("weight") == 1.0:
        del said["weight"]
    return {name: list(value) if type(value) is tuple else value for name, value in said.items()}


def _from(cls: type[R], told: Mapping[str, Any], names: tuple[str, ...], what: str) -> R:
    try:
        given = _known(told, names)
        if "provenance" in given:
            given["provenance"] = Provenance.from_dict(as_object(given["provenance"], "provenance"))
        return cls(**given)
    except TypeError:
        lacking = [name for name in ("id", "source", "target", "kind") if name in names and name not in told]
        raise Refused(f"no {what}: {', '.join(lacking)} missing", "required") from None
    except UnknownVersion:
        raise
    except Refused as error:
        raise Refused(f"no {what}: {error}", error.code) from None


def _unjudged(cls: type[R], told: RecordFields, names: tuple[str, ...]) -> R:
    record = object.__new__(cls)
    for name, default in _DEFAULTS[cls]:
        put_field(record, name, told.get(name, default) if default is not dict else told.get(name) or {})
    for name in ("aliases", "led"):
        if name in names:
            put_field(record, name, tuple(told.get(name, ())))
    source = told.get("provenance")
    if source:
        put_field(record, "provenance", _source_of(source))
    put_field(record, "extra", {name: told[name] for name in told if name not in names})
    return record


def _source_of(told: RecordFields) -> Provenance:
    source = object.__new__(Provenance)
    put_field(source, "sources", tuple(told.get("sources", ())))
    put_field(source, "by", told.get("by", ""))
    put_field(source, "at", told.get("at", ""))
    put_field(source, "extra", {name: told[name] for name in told if name not in _PROVENANCE})
    return source


def _known(told: Mapping[str, Any], names: tuple[str, ...]) -> RecordFields:
    as_object(told, "it")
    version = told.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:
        raise UnknownVersion(
            f"schema version {ascii(version)[:40]} is not known; this program knows {SCHEMA_VERSION}: upgrade it"
        )
    extra = {name: value for name, value in told.items() if name not in names and name != "schema_version"}
    return {**{name: told[name] for name in names if name in told}, "extra": extra}


def _holds(record: MemoryNode | MemoryEdge, moment: str) -> bool:
    return record.valid_from <= moment and (not record.valid_to or moment < record.valid_to)


def _unknown(extra: object, names: tuple[str, ...]) -> None:
    taken = as_object(extra, "extra").keys() & {*names, "schema_version"}
    if taken:
        raise Refused(f"extra holds {min(taken)!r}, which is a field of its own")


_PROVENANCE, _NODE, _EDGE, _PROFILE = map(_names, (Provenance, MemoryNode, MemoryEdge, MemoryProfile))
_NOWHERE = Provenance()
_DEFAULTS: dict[type[Any], list[tuple[str, Any]]] = {
    cls: [
        (f.name, _NOWHERE if f.name == "provenance" else dict if f.default is MISSING else f.default)
        for f in fields(cls)
    ]
    for cls in (MemoryNode, MemoryEdge, MemoryProfile)
}

"""A memory event: one thing that happened to a graph of memories or to a path of a conversation.

Construct it and it is valid: its payload can be written and read back as it is, its time is UTC, its kind is known.
The payload is a copy of what was given, so nobody changes an event from outside. `to_line` gives the same bytes for
the same event, on any machine and any day; `from_dict` and `to_dict` are inverse.

An event holds ids and records, never a transcript. What a kind does to the graph: see `stores/phase/event_log/replay`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.fields import _named, moment, names
from tallystick.records.json import check, to_keep

SCHEMA_VERSION = 1
_SHOWN = 80  # letters of a name

NODE_PUT = "node.put"
EDGE_PUT = "edge.put"
PROFILE_PUT = "profile.put"
BRANCH = "path.branch"
MERGE = "path.merge"
ABANDON = "path.abandon"
COMPACT = "path.compact"
APPLIED = "action.applied"
DENIED = "action.denied"
CUSTOM = "custom"

KINDS = (NODE_PUT, EDGE_PUT, PROFILE_PUT, BRANCH, MERGE, ABANDON, COMPACT, APPLIED, DENIED, CUSTOM)
PATH_KINDS = (BRANCH, MERGE, ABANDON, COMPACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvent(Displayable):
    """One event. A kind of one's own is `custom`, or begins with `custom.`."""

    id: str
    kind: str
    at: str  # as `2026-05-18T09:00:00.000000Z`; any time with a zone is taken
    path_id: str = ""  # the path it happened on; none, if it holds everywhere
    subject_ids: tuple[str, ...] = ()  # the nodes, edges, profiles or paths it is about
    payload: dict[str, Any] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION or type(self.schema_version) is not int:
            raise UnknownVersion(
                f"schema version {self.schema_version!r} is not known; this program writes {SCHEMA_VERSION}: upgrade it"
            )
        _named(self.id, "an event's id")
        if not is_kind(self.kind):
            raise Refused(f"kind {self.kind!r} is not known; it is one of {', '.join(KINDS)}, or begins with custom.")
        if type(self.path_id) is not str:
            raise Refused(f"an event's path_id is text, not {type(self.path_id).__name__}")
        if not isinstance(self.payload, Mapping):
            raise Refused(f"an event's payload is a dictionary, not {type(self.payload).__name__}")
        object.__setattr__(self, "at", moment(self.at))
        object.__setattr__(self, "subject_ids", names(self.subject_ids, "an event's subject_ids"))
        told = copied(
            {name: getattr(self, name) for name in _FIELDS if name != "payload"} | {"payload": dict(self.payload)}
        )
        object.__setattr__(self, "payload", told["payload"])

    @classmethod
    def new(
        cls,
        kind: str,
        at: datetime | str,
        *,
        path_id: str = "",
        subject_ids: Iterable[str] = (),
        payload: Mapping[str, Any] | None = None,
    ) -> MemoryEvent:
        """An event whose id follows from what it says: said again at the same moment, it is the same event."""
        told: dict[str, Any] = {
            "kind": kind, "at": moment(at), "path_id": path_id,
            "subject_ids": names(subject_ids, "an event's subject_ids"), "payload": dict(payload or {}),
        }  # fmt: skip
        return cls(id="e-" + digest_of(told)[:24], **told)

    @classmethod
    def judged(cls, told: dict[str, Any]) -> MemoryEvent:
        """The event of a dictionary that was read from JSON and that `fault_in` finds nothing wrong with."""
        event = object.__new__(cls)
        told["subject_ids"] = tuple(told["subject_ids"])
        for name, value in told.items():
            object.__setattr__(event, name, value)
        return event

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> MemoryEvent:
        """The event that `to_dict` gave. Refused, with the reason."""
        fault = fault_in(told)
        if fault:
            raise Refused(f"no memory event: {fault}")
        return cls(**{name: told[name] for name in _FIELDS})

    def to_dict(self) -> dict[str, Any]:
        """All fields, as JSON has them. The dictionary is the caller's own."""
        told = {name: getattr(self, name) for name in _FIELDS}
        return {**told, "subject_ids": list(self.subject_ids), "payload": orjson.loads(orjson.dumps(self.payload))}

    def to_line(self) -> bytes:
        """The event as one line of a log, newline included: its keys sorted, so that equal events are equal bytes."""
        return to_keep(orjson.dumps({name: getattr(self, name) for name in _FIELDS}, option=_AS_LINE))

    def __repr__(self) -> str:
        about = f" about {', '.join(self.subject_ids[:3])}" if self.subject_ids else ""
        return f"<MemoryEvent {self.id} {self.kind}{about} at {self.at}>"


_FIELDS = tuple(f.name for f in fields(MemoryEvent))
_SET = frozenset(_FIELDS)
_KINDS = frozenset(KINDS)
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z", re.ASCII)
_AS_LINE = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


def is_kind(kind: object) -> bool:
    return type(kind) is str and (kind in _KINDS or (kind.startswith("custom.") and len(kind) > len("custom.")))


def fault_in(told: object) -> str:
    """What keeps a dictionary read from JSON from being an event of this schema version; nothing, if it is one."""
    if type(told) is not dict:
        return f"an object is wanted, not {type(told).__name__}"
    if told.keys() != _SET:
        return _wrong_keys(told)
    if not isinstance(told["id"], str) or not told["id"]:
        return "an event's id is a text that is not empty"
    if not is_kind(told["kind"]):
        return f"kind {ascii(told['kind'])[:60]} is not known"
    if not isinstance(told["path_id"], str):
        return "path_id is not a text"
    if not isinstance(told["payload"], dict):
        return "payload is not an object"
    subjects = told["subject_ids"]
    if not isinstance(subjects, list) or not all(isinstance(name, str) and name for name in subjects):
        return "subject_ids is not a list of names"
    return _wrong_time(told["at"])


def _wrong_keys(told: Mapping[str, Any]) -> str:
    lacking = [name for name in _FIELDS if name not in told]
    if lacking:
        return f"{', '.join(lacking)} missing"
    odd = sorted(ascii(name)[:40] for name in told.keys() - _SET)
    return f"{', '.join(odd[:3])} is no field of an event"


def _wrong_time(at: object) -> str:
    try:
        if isinstance(at, str) and _STAMP.match(at):
            datetime.fromisoformat(at)
            return ""
    except ValueError:
        pass
    return "at is not a time like 2026-05-18T09:00:00.000000Z"


def shown(name: str) -> str:
    """A name as a message can show it: on one line, with nothing hidden in it, and not for ever."""
    return name if len(name) <= _SHOWN and name.isprintable() else ascii(name[:_SHOWN])


def digest_of(told: Mapping[str, Any]) -> str:
    """Equal for equal content, and for no other. Refused, if it cannot be written as JSON."""
    return sha256(orjson.dumps(copied(dict(told)), option=orjson.OPT_SORT_KEYS)).hexdigest()


def copied(told: dict[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing with `told`, as JSON would give it back."""
    try:
        check(told)
    except ValueError as error:
        raise Refused(f"cannot be written: {error}", "json") from None
    copy: dict[str, Any] = orjson.loads(orjson.dumps(told))
    return copy

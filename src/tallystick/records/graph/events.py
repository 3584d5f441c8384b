"""A memory event: one thing that happened to a graph of memories or to a path of a conversation.

Construct it and it is valid: its payload can be written and read back as it is, its time is UTC, its kind is known.
The payload is a copy of what was given, so nobody changes an event from outside. `to_line` gives the same bytes for
the same event, on any machine and any day; `from_dict` and `to_dict` are inverse.

An event holds ids and records, never a transcript. `stores/phase/event_log/replay` applies it to the graph.
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
from tallystick.records.errors import Refused
from tallystick.records.fields import moment, must_be_json, must_be_known_version, must_be_name, must_be_text, names
from tallystick.records.json import to_keep

SCHEMA_VERSION = 1
_SHOWN = 80  # characters of a name

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
    """One event. Your own kinds are `custom`, or begin with `custom.`."""

    id: str
    kind: str
    at: str  # as `2026-05-18T09:00:00.000000Z`; any time with a zone is taken
    path_id: str = ""  # the path it happened on; empty: it holds on all
    subject_ids: tuple[str, ...] = ()  # the nodes, edges, profiles or paths it is about
    payload: dict[str, Any] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        must_be_known_version(self.schema_version)
        must_be_name("id", self.id)
        if not is_kind(self.kind):
            known = ", ".join(KINDS)
            raise Refused(f"kind must be one of {known}, or begin with custom., not {self.kind!r}")
        must_be_text("path_id", self.path_id)
        if not isinstance(self.payload, Mapping):
            raise Refused(f"payload must be an object, not {type(self.payload).__name__}")
        object.__setattr__(self, "at", moment(self.at))
        object.__setattr__(self, "subject_ids", names(self.subject_ids, "subject_ids"))
        raw = copied(
            {name: getattr(self, name) for name in _FIELDS if name != "payload"} | {"payload": dict(self.payload)}
        )
        object.__setattr__(self, "payload", raw["payload"])

    @classmethod
    def new(
        cls, kind: str, at: datetime | str, *, path_id: str = "", subject_ids: Iterable[str] = (),
        payload: Mapping[str, Any] | None = None,
    ) -> MemoryEvent:  # fmt: skip
        """An event whose id follows from its content: stated again for the same time, it is the same event."""
        raw: dict[str, Any] = {
            "kind": kind, "at": moment(at), "path_id": path_id,
            "subject_ids": names(subject_ids, "subject_ids"), "payload": dict(payload or {}),
        }  # fmt: skip
        return cls(id="e-" + digest_of(raw)[:24], **raw)

    @classmethod
    def judged(cls, raw: dict[str, Any]) -> MemoryEvent:
        """The event of a dictionary that was read from JSON and that `fault_in` finds nothing wrong with."""
        event = object.__new__(cls)
        raw["subject_ids"] = tuple(raw["subject_ids"])
        for name, value in raw.items():
            object.__setattr__(event, name, value)
        return event

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> MemoryEvent:
        fault = fault_in(raw)
        if fault:
            raise Refused(f"not a memory event: {fault}")
        return cls(**{name: raw[name] for name in _FIELDS})

    def to_dict(self) -> dict[str, Any]:
        """All fields, as JSON has them. The dictionary is the caller's own."""
        raw = {name: getattr(self, name) for name in _FIELDS}
        return {**raw, "subject_ids": list(self.subject_ids), "payload": orjson.loads(orjson.dumps(self.payload))}

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


def fault_in(raw: object) -> str:
    """The reason why a dictionary read from JSON is not an event of this schema version; empty, if it is one."""
    if type(raw) is not dict:
        return f"it must be an object, not {type(raw).__name__}"
    if raw.keys() != _SET:
        lacking = [name for name in _FIELDS if name not in raw]
        odd = sorted(ascii(name)[:40] for name in raw.keys() - _SET)
        return f"{', '.join(lacking)} missing" if lacking else f"an event has no field {', '.join(odd[:3])}"
    if not isinstance(raw["id"], str) or not raw["id"]:
        return "id must be a string that is not empty"
    if not is_kind(raw["kind"]):
        return f"unknown kind {ascii(raw['kind'])[:60]}"
    if not isinstance(raw["path_id"], str):
        return "path_id must be a string"
    if not isinstance(raw["payload"], dict):
        return "payload must be an object"
    subjects = raw["subject_ids"]
    if not isinstance(subjects, list) or not all(isinstance(name, str) and name for name in subjects):
        return "subject_ids must be a list of names"
    return _wrong_time(raw["at"])


def _wrong_time(at: object) -> str:
    try:
        if isinstance(at, str) and _STAMP.match(at):
            datetime.fromisoformat(at)
            return ""
    except ValueError:
        pass
    return "at must be a time like 2026-05-18T09:00:00.000000Z"


def shown(name: str) -> str:
    """A name as a message can show it: short, on one line, with nothing hidden in it."""
    return name if len(name) <= _SHOWN and name.isprintable() else ascii(name[:_SHOWN])


def digest_of(raw: Mapping[str, Any]) -> str:
    """The digest of some content, which is JSON."""
    return sha256(orjson.dumps(copied(dict(raw)), option=orjson.OPT_SORT_KEYS)).hexdigest()


def copied(raw: dict[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing with `raw`, as JSON would give it back."""
    must_be_json(raw)
    copy: dict[str, Any] = orjson.loads(orjson.dumps(raw))
    return copy

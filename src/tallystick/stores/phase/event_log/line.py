"""One line of an event log, judged: an event, or what is wrong with it. Both logs read by this.

A line that this program wrote is recognised by its bytes: written again it is the same, so its form needs no further
check. Any other line is read strictly (no key twice, no NaN, no lone surrogate, no depth beyond the limit), so that two
readers cannot read two things.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import orjson

from tallystick.records.errors import Refused
from tallystick.records.graph.events import SCHEMA_VERSION, MemoryEvent, fault_in, shown
from tallystick.records.json import DEPTH, loads
from tallystick.stores.phase.event_log.protocol import MALFORMED, UNKNOWN_SCHEMA

MAX_LINE = 1 << 24

_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


class Bad(Exception):
    """A line that is no event known to this program. `id` is its own, if it has one."""

    def __init__(self, code: str, reason: str, id: str = "") -> None:
        super().__init__(reason)
        self.code, self.reason, self.id = code, reason, id


def fields_of(raw: bytes) -> dict[str, Any]:
    """The fields of a line, if it is an event of this schema version; else Bad."""
    if len(raw) > MAX_LINE:
        raise Bad(MALFORMED, f"a line of {len(raw)} bytes; the limit is {MAX_LINE}")
    try:
        fields = orjson.loads(raw)
        if raw.count(b"[") + raw.count(b"{") > DEPTH or orjson.dumps(fields, option=_SORTED) != raw:
            fields = loads(raw)
    except ValueError as error:
        raise Bad(MALFORMED, reason_of(error)) from None
    if isinstance(fields, dict) and fields.get("schema_version") != SCHEMA_VERSION and "schema_version" in fields:
        name = fields.get("id")
        raise Bad(UNKNOWN_SCHEMA, unknown_version(fields["schema_version"]), name if isinstance(name, str) else "")
    fault = fault_in(fields)
    if fault or type(fields["schema_version"]) is not int:
        raise Bad(MALFORMED, fault or "schema_version is not a whole number")
    return fields  # type: ignore[no-any-return]


def reason_of(error: Exception) -> str:
    """The message of an error about JSON, in one printable line."""
    text = f"not JSON: {error.msg}" if isinstance(error, orjson.JSONDecodeError) else str(error)
    return ascii(text)[1:-1][:200]


def unknown_version(version: object) -> str:
    return f"schema version {ascii(version)[:40]}, and this program knows {SCHEMA_VERSION}"


def event_of(raw: bytes) -> MemoryEvent:
    """The event in a line; else Bad."""
    return MemoryEvent.judged(fields_of(raw))


def lines_of(events: Iterable[MemoryEvent]) -> dict[str, bytes]:
    """The lines of new events, by id. Refused, if an id occurs twice, or a line would be too long."""
    fresh: dict[str, bytes] = {}
    for event in events:
        if not isinstance(event, MemoryEvent):
            raise Refused(f"a log accepts memory events, not {type(event).__name__}")
        must_be_free((event.id,), fresh)
        fresh[event.id] = event.to_line()
        must_fit(event.id, fresh[event.id])
    return fresh


def must_fit(name: str, line: bytes) -> None:
    """Refused, if a line would be too long to be read again."""
    if len(line) >= MAX_LINE:
        raise Refused(f"event {shown(name)} is {len(line)} bytes long, not below {MAX_LINE}; split it", "size")


def new_ones(known: Mapping[str, bytes], lines: Mapping[str, bytes]) -> dict[str, bytes]:
    """The lines with new ids. Refused, if one of a known id has other content."""
    for name, line in lines.items():
        if known.get(name, line) != line:
            raise Refused(f"event {shown(name)} exists with other content; events never change", "exists")
    return {name: line for name, line in lines.items() if name not in known}


def must_be_free(names: Iterable[str], taken: Container[str]) -> None:
    """Refused, if one of the ids is taken."""
    for name in names:
        if name in taken:
            raise Refused(f"event {name!r} exists already; an event is appended once", "exists")

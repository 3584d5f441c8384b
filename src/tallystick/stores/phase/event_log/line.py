"""One line of an event log, judged: an event, or what is wrong with it. Both adapters read by this.

A line that we wrote is known by its bytes: written again it is the same, so its form needs no second look. Any other
line is read strictly (no key twice, no NaN, no lone surrogate, no depth beyond the limit), so that two readers cannot
read two things.
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
    """A line that is no event that this program knows. `id` is what it calls itself, if it does."""

    def __init__(self, code: str, reason: str, id: str = "") -> None:
        super().__init__(reason)
        self.code, self.reason, self.id = code, reason, id


def fields_of(raw: bytes) -> dict[str, Any]:
    """What a line says, if it is an event of this schema version; else Bad."""
    if len(raw) > MAX_LINE:
        raise Bad(MALFORMED, f"a line of {len(raw)} bytes; {MAX_LINE} is the most")
    told = _value(raw)
    if isinstance(told, dict) and told.get("schema_version") != SCHEMA_VERSION and "schema_version" in told:
        raise _unknown_version(told)
    fault = fault_in(told)
    if fault or type(told["schema_version"]) is not int:
        raise Bad(MALFORMED, fault or "schema_version is not a whole number")
    return told  # type: ignore[no-any-return]


def event_of(raw: bytes) -> MemoryEvent:
    """The event in a line; else Bad."""
    return MemoryEvent.judged(fields_of(raw))


def _value(raw: bytes) -> Any:
    try:
        told = orjson.loads(raw)
        if raw.count(b"[") + raw.count(b"{") <= DEPTH and orjson.dumps(told, option=_SORTED) == raw:
            return told
        return loads(raw)
    except ValueError as error:
        raise Bad(MALFORMED, _one_line(error)) from None


def _one_line(error: ValueError) -> str:
    said = f"not JSON: {error.msg}" if isinstance(error, orjson.JSONDecodeError) else str(error)
    return ascii(said)[1:-1][:200]


def _unknown_version(told: dict[str, Any]) -> Bad:
    name = told.get("id")
    reason = f"schema version {ascii(told['schema_version'])[:40]}, and this program knows {SCHEMA_VERSION}"
    return Bad(UNKNOWN_SCHEMA, reason, name if isinstance(name, str) else "")


def lines_of(events: Iterable[MemoryEvent]) -> dict[str, bytes]:
    """The lines of new events, by id. Refused, if an id stands twice among them, or a line would be too long."""
    fresh: dict[str, bytes] = {}
    for event in events:
        if not isinstance(event, MemoryEvent):
            raise Refused(f"a log takes memory events, not {type(event).__name__}")
        must_be_free((event.id,), fresh)
        fresh[event.id] = event.to_line()
        must_fit(event.id, fresh[event.id])
    return fresh


def must_fit(name: str, line: bytes) -> None:
    """Refused, if a line would be too long to be read again."""
    if len(line) >= MAX_LINE:
        raise Refused(
            f"event {shown(name)} is {len(line)} bytes long, and a line ends before {MAX_LINE}; split it", "size"
        )


def new_ones(known: Mapping[str, bytes], lines: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those of `lines` whose ids are not known. Refused, if one of a known id says something else."""
    for name, line in lines.items():
        if known.get(name, line) != line:
            raise Refused(
                f"event {shown(name)} is here already and says otherwise; an event is never changed", "exists"
            )
    return {name: line for name, line in lines.items() if name not in known}


def must_be_free(names: Iterable[str], taken: Container[str]) -> None:
    """Refused, if one of the ids is taken."""
    for name in names:
        if name in taken:
            raise Refused(f"there is an event {name!r} already; an event is appended once", "exists")

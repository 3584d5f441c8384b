"""Checks of fields that several records share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tallystick.records.clock import parse_moment, stamp
from tallystick.records.errors import Refused


def moment(at: datetime | str) -> str:
    """A time as records hold it. Refused, if it names no moment."""
    if isinstance(at, datetime):
        return stamp(at)
    if not isinstance(at, str):
        raise Refused(f"a time is a datetime or a text like 2026-05-18T09:00:00Z, not {type(at).__name__}")
    return parse_moment(at)


def names(given: Iterable[str], what: str) -> tuple[str, ...]:
    """Names as a record holds them, none of them empty. A single text where a list was meant is a common slip."""
    if isinstance(given, str):
        raise Refused(f"{what} is a list of names; write [{given!r}]")
    if not isinstance(given, Iterable):
        raise Refused(f"{what} is a list of names, not {type(given).__name__}")
    found = tuple(given)
    for name in found:
        _named(name, f"a name in {what}")
    return found


def _named(value: object, what: str) -> None:
    if type(value) is not str:
        raise Refused(f"{what} is text, not {type(value).__name__}")
    if not value:
        raise Refused(f"{what} is not empty: an empty name names nothing", "name")

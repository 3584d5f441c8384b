"""Checks of fields, one for each kind of value, shared by all records.

A refusal names the field, what it must be, and what was given instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from tallystick.records.clock import parse_moment, stamp
from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.json import check

TRUST = ("human", "agent", "tool", "web", "import")


def must_be_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise Refused(f"{name} must be a string, not {type(value).__name__}")


def must_be_name(name: str, value: object) -> None:
    """A string that is not empty."""
    must_be_text(name, value)
    if not value:
        raise Refused(f"{name} must not be empty", "name")


def must_be_texts(record: object, *names: str) -> None:
    """Each of these fields of a record is a string."""
    for name in names:
        if not isinstance(value := getattr(record, name), str):
            must_be_text(name, value)


def must_be_object(name: str, value: object) -> None:
    if not isinstance(value, dict):
        raise Refused(f"{name} must be an object, not {type(value).__name__}")


def must_be_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise Refused(f"{name} must be true or false, not {value!r:.60}")


def must_be_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Refused(f"{name} must be a number from 0 to 1, not {value!r:.60}")


def must_be_one_of(name: str, value: object, known: Collection[str]) -> None:
    if value not in known:
        raise Refused(f"{name} must be one of {', '.join(known)}, not {value!r:.60}")


def must_be_known_version(version: object, known: int = 1) -> None:
    if type(version) is not int or version != known:
        raise UnknownVersion(f"unknown schema version {ascii(version)[:40]}; this program knows {known}: upgrade it")


def must_be_json(value: object) -> None:
    """It can be written as JSON and read back as it is."""
    try:
        check(value)
    except ValueError as error:
        raise Refused(f"cannot be written: {error}", "json") from None


def moment(at: datetime | str) -> str:
    """A time as records hold it. Refused, if it is not a time with a zone."""
    if isinstance(at, datetime):
        return stamp(at)
    if not isinstance(at, str):
        raise Refused(f"a time must be a datetime or a string like 2026-05-18T09:00:00Z, not {type(at).__name__}")
    return parse_moment(at)


def names(given: Iterable[str], what: str) -> tuple[str, ...]:
    """Names as a record holds them, none of them empty. A single string where a list was meant is a common mistake."""
    if isinstance(given, str):
        raise Refused(f"{what} must be a list of names; write [{given!r}]")
    if not isinstance(given, Iterable):
        raise Refused(f"{what} must be a list of names, not {type(given).__name__}")
    found = tuple(given)
    for name in found:
        must_be_name(f"a name in {what}", name)
    return found

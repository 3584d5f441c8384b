"""What the fields of the graph's records have in common: how each is judged, and how a record becomes a line.

Whatever passes here can be written and read back as it is. A refusal names the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from sys import float_info
from typing import Any

import orjson

from tallystick.records.clock import comparable, said_time
from tallystick.records.errors import Refused
from tallystick.records.json import check, to_keep

SCHEMA_VERSION = 1

RecordFields = dict[str, Any]

_HEAVIEST = int(float_info.max)


def line_of(told: Mapping[str, Any]) -> bytes:
    """A record as one line, without its newline: keys sorted, so that equal records are equal bytes."""
    return to_keep(orjson.dumps(told, option=orjson.OPT_SORT_KEYS))


def check_record(told: object) -> None:
    """Refuse what could not be written and read back, alone or within an envelope."""
    try:
        check([[told]])  # an envelope puts two levels above it
    except ValueError as error:
        raise Refused(f"cannot be written: {str(error).removeprefix('[0][0]').removeprefix('.')}", "json") from None


def put_field(record: object, name: str, value: object) -> None:
    object.__setattr__(record, name, value)


def must_be_text(value: object, what: str) -> None:
    if type(value) is not str:
        raise Refused(f"{what} is text, not {type(value).__name__}")


def must_be_name(value: object, what: str) -> None:
    must_be_text(value, what)
    if not value:
        raise Refused(f"{what} is empty: it names nothing", "name")


def as_list(value: object, what: str) -> Iterable[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise Refused(f"{what} is a list, not {type(value).__name__}")
    return value


def as_texts(values: object, what: str) -> tuple[str, ...]:
    found = tuple(as_list(values, what))
    for number, value in enumerate(found):
        if type(value) is not str:
            raise Refused(f"{what}[{number}] is text, not {type(value).__name__}")
    return found


def as_object(value: Any, what: str) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise Refused(f"{what} is an object, not {type(value).__name__}")
    return value


def as_weight(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _HEAVIEST:  # type: ignore[operator]
        raise Refused(f"weight is a number from 0 on, not {ascii(value)[:40]}")
    return float(value) + 0.0  # type: ignore[arg-type]  # minus nothing is nothing


def as_moment(value: date | str, what: str) -> str:
    if not isinstance(value, str | date):
        raise Refused(f"{what} is a date or time, not {type(value).__name__}", "time")
    try:
        said = said_time(value)
        return said if not said or is_settled(said) else comparable(said)
    except Refused as error:
        raise Refused(f"{what}: {error}", error.code) from None


@lru_cache(4096)
def is_settled(moment: str) -> bool:
    """Whether a text is a date or time as records hold it."""
    try:
        return comparable(moment) == moment
    except Refused:
        return False

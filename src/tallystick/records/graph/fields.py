"""Checks of the fields of graph records, and the line that a record is written as.

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
from tallystick.records.fields import must_be_object, must_be_text
from tallystick.records.json import check, to_keep

SCHEMA_VERSION = 1

RecordFields = dict[str, Any]

_HEAVIEST = int(float_info.max)


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

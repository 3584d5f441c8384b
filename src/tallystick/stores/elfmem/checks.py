"""Checks of what goes into the index. Each returns the value to bind, or refuses it."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite
from numbers import Integral, Real
from reprlib import repr as briefly

from tallystick.records.errors import Refused
from tallystick.records.json import loads

_MOST = 2**63 - 1


def quoted(value: object) -> str:
    """A value as a message shows it: one line, and not a long one."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "an integer beyond 64 bits"  # Python refuses to print the longest of them
    return briefly(value)


def words(name: str, value: object) -> str:
    """Any text that UTF-8 can carry."""
    if not isinstance(value, str):
        raise Refused(f"{name} is text, not {type(value).__name__}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(f"{name} holds a lone surrogate, which no UTF-8 can carry; decode it again", "text") from None
    return value


def label(name: str, value: object) -> str:
    """A text that names something. SQLite's LIKE and JSON stop at a NUL: such names would be taken for others."""
    text = words(name, value)
    if not text or "\0" in text:
        raise Refused(f"{name} names something: {quoted(text)} is empty or holds a NUL", "name")
    return text


def labels(name: str, values: Iterable[object]) -> list[str]:
    """Texts that each name something. A single text where a list was meant is a common slip."""
    if isinstance(values, str):
        raise Refused(f"{name} is a list of texts; write [{quoted(values)}]")
    return [label(f"each of {name}", value) for value in values]


def one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise Refused(f"{name} {quoted(value)} is not known; it is one of {', '.join(known)}")
    return value


def number(name: str, value: object, *, least: float = -inf, limit: float = inf) -> float:
    """A finite number within bounds. NumPy's count too; the driver would not take them as they are."""
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            found = float(value)
        except OverflowError:
            found = inf
        if isfinite(found) and least <= found <= limit:
            return found
    raise Refused(f"{name} is {_range(least, limit)}, not {quoted(value)}")


def _range(least: float, limit: float) -> str:
    if isfinite(limit):
        return f"a number from {least:g} to {limit:g}"
    return f"a finite number of {least:g} or more" if isfinite(least) else "a finite number"


def count(name: str, value: object) -> int:
    """A whole number that 64 bits can hold, not below zero."""
    if not isinstance(value, bool) and isinstance(value, Integral) and 0 <= int(value) <= _MOST:
        return int(value)
    raise Refused(f"{name} is a whole number from 0 to {_MOST}, not {quoted(value)}")


def pair(name: str, value: object) -> tuple[str, str]:
    """Two names. A text of two characters is not two names."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Refused(f"each of {name} is a pair of ids, not {quoted(value)}")
    return label(f"each id in {name}", value[0]), label(f"each id in {name}", value[1])


def json_text(name: str, value: object, kind: type = dict) -> str:
    """JSON text of an object, or of a list."""
    text = words(name, value)
    try:
        found = loads(text)
    except ValueError as error:
        raise Refused(f"{name}: {error}", "json") from None
    if not isinstance(found, kind):
        called = "a list" if kind is list else "an object"
        raise Refused(f"{name} is the JSON of {called}, not {quoted(text)}", "json")
    return text

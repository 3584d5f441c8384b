"""A filter as a Python function, made once of small ones: no tree is walked per row.

What is compared is what SQLite would see in the row: TRUE is 1, a whole number beyond 64 bits is a float, a number that
JSON cannot hold is NULL. A list, an object, bytes, and in metadata text with a NUL, are `OTHER`: there, but neither
equal to nor before nor after anything.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final, TypeAlias

from tallystick.consolidate.filter.row import Row
from tallystick.consolidate.filter.tree import Absent, Column, Compare, Every, Like, Node, OneOf, Pair, Some, Step
from tallystick.records.clock import stamp

Test: TypeAlias = Callable[[Row], bool]

OTHER: Final = object()

_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBERS = (int, float)


def compiled(node: Node) -> Test:
    """The function that tells whether a row fits."""
    if isinstance(node, Every):
        return _every([compiled(part) for part in node.parts])
    if isinstance(node, Some):
        return _some([compiled(part) for part in node.parts])
    if isinstance(node, Compare):
        return _compare(node)
    if isinstance(node, Pair):
        return _pair(node)
    if isinstance(node, OneOf):
        return _one_of(node)
    return _like(node) if isinstance(node, Like) else _absent(node)


def holds(left: Any, sign: str, right: Any) -> bool:
    """Whether two plain values compare so. NULL never does; values of two kinds are unequal, and in no order."""
    if left is None or right is None:
        return False
    if sign == "=":
        return bool(left == right) and left is not OTHER
    if sign == "!=":
        return bool(left != right)
    return _ordered(left, right) and _SIGNS[sign](left, right)


def _ordered(left: Any, right: Any) -> bool:
    if isinstance(left, _NUMBERS):
        return isinstance(right, _NUMBERS)
    return left is not OTHER and type(left) is type(right)


def _every(tests: list[Test]) -> Test:
    if len(tests) == 2:
        one, two = tests
        return lambda row: one(row) and two(row)
    if len(tests) == 3:
        one, two, three = tests
        return lambda row: one(row) and two(row) and three(row)
    return lambda row: all(test(row) for test in tests)


def _some(tests: list[Test]) -> Test:
    if len(tests) == 2:
        one, two = tests
        return lambda row: one(row) or two(row)
    return lambda row: any(test(row) for test in tests)


def _compare(node: Compare) -> Test:
    get, value = _getter(node.column), node.value
    if isinstance(value, str) and node.column.name == "metadata" and node.sign in ("=", "!="):
        return _same_text(_raw(node.column.steps), value, node.sign == "=")
    sign = _SIGNS[node.sign]
    if node.column.is_text or node.column.is_moment:
        return lambda row: sign(get(row), value)
    if node.sign == "=":
        return lambda row: bool(get(row) == value)
    if node.sign == "!=":
        return lambda row: (found := get(row)) is not None and bool(found != value)
    kinds = (str,) if isinstance(value, str) else _NUMBERS
    return lambda row: type(found := get(row)) in kinds and sign(found, value)


def _same_text(raw: Callable[[Row], Any], value: str, same: bool) -> Test:
    """The test that most filters are made of: only what is not text needs a second look."""
    if same:
        return lambda row: bool(raw(row) == value)
    return lambda row: (found := raw(row)) != value and (type(found) is str or _written(found) is not None)


def _pair(node: Pair) -> Test:
    left, sign, right = _getter(node.left), node.sign, _getter(node.right)
    return lambda row: holds(left(row), sign, right(row))


def _one_of(node: OneOf) -> Test:
    get, values = _getter(node.column), frozenset(node.values)
    if node.negated:
        return lambda row: (found := get(row)) is not None and found not in values
    return lambda row: get(row) in values


def _like(node: Like) -> Test:
    get, matches = _getter(node.column), node.pattern.matcher()
    if node.column.is_moment:
        return lambda row: matches(stamp(row.timestamp)) != node.negated
    if node.negated:
        return lambda row: (found := get(row)) is not None and not (type(found) is str and matches(found))
    return lambda row: type(found := get(row)) is str and matches(found)


def _absent(node: Absent) -> Test:
    get, negated = _getter(node.column), node.negated
    return lambda row: (get(row) is None) != negated


def _getter(column: Column) -> Callable[[Row], Any]:
    """What SQLite would see of this column."""
    if column.is_text:
        return operator.attrgetter(column.name)
    if column.is_moment:
        return _moment
    if column.name != "metadata":
        name = column.name
        return lambda row: _stored(row.extra.get(name))
    raw = _raw(column.steps)
    return lambda row: _written(raw(row))


def _raw(steps: tuple[Step, ...]) -> Callable[[Row], Any]:
    """What metadata has at this place, as it is."""
    if len(steps) == 1 and isinstance(key := steps[0], str):
        return lambda row: row.metadata.get(key)
    return lambda row: _reached(row.metadata, steps)


def _moment(row: Row) -> datetime:
    """The row's moment in UTC: there two moments are equal exactly if they are written alike."""
    moment = row.timestamp
    return moment if moment.tzinfo is UTC else datetime.fromisoformat(stamp(moment))


def _reached(found: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        if isinstance(step, str):
            found = found.get(step) if isinstance(found, dict) else None
        else:
            found = found[step] if isinstance(found, list | tuple) and step < len(found) else None
    return found


def _written(value: Any) -> Any:
    """A value of metadata, as it is once it was written as JSON and read by SQLite."""
    if type(value) is str:
        return OTHER if "\0" in value else value
    plain = _stored(value)
    if type(plain) is float and not isfinite(plain):
        return None
    return OTHER if type(plain) is str and "\0" in plain else plain


def _stored(value: Any) -> Any:
    """A value of an added column, as SQLite holds it."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else _as_float(value)
    if isinstance(value, float):
        return None if value != value else float(value)
    return str.__str__(value) if isinstance(value, str) else OTHER


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")

"""Tests of a filter as Python functions, made once and called for each row.

A value counts as SQLite would store it: TRUE is 1, a whole number beyond 64 bits is a float, a number that JSON cannot
hold is NULL. A list, an object, bytes, and in metadata text with a NUL, are `OTHER`: present, but neither equal to nor
before nor after anything.

A NOT is applied to the comparisons while the filter is parsed. So a test need not tell "unknown" from "no": neither
makes a row fit.

A test may come with SQL that is true of every episode that fits, and perhaps of others: with it, a table of episodes
need not be read whole. It is left out where it would be long; SQLite limits how deep an expression may be.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from tallystick.records.clock import stamp
from tallystick.text.like import pattern

TEXTS = ("id", "scope_key", "content", "user", "session", "agent")
DOCUMENTED = (*TEXTS, "timestamp", "metadata")
OTHER: Final = object()

_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBERS = (int, float)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_LONGEST_SQL = 300
_PLAIN = re.compile(r"[A-Za-z0-9 ]+")  # text that is the same in JSON
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9 %]+")


class Row(NamedTuple):
    """One episode. `timestamp` has a zone. `extra` are the added columns by name; a missing one is NULL."""

    id: str
    scope_key: str
    content: str
    timestamp: datetime
    metadata: dict[str, Any]
    extra: Mapping[str, Any] = _NOTHING
    user: str = ""
    session: str = ""
    agent: str = ""


class Test(NamedTuple):
    """A condition that a row fits or does not: a function that never raises, whatever the row; and SQL that holds for
    every row that fits, with its values. Empty: any."""

    fits: Callable[[Row], bool]
    sql: str = ""
    values: tuple[object, ...] = ()

    @property
    def is_everything(self) -> bool:
        return self is everything


Value: TypeAlias = str | int | float | datetime
Step: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or with `steps` the place inside metadata that they lead to: keys, and numbers in a list from 0."""

    name: str
    steps: tuple[Step, ...] = ()

    @property
    def is_text(self) -> bool:
        """Always text, never NULL."""
        return self.name in TEXTS

    @property
    def is_moment(self) -> bool:
        return self.name == "timestamp"

    def getter(self) -> Callable[[Row], Any]:
        """The function that takes this column's value from a row, as SQLite would see it."""
        if self.is_text:
            return operator.attrgetter(self.name)
        if self.is_moment:
            return _moment
        if self.name != "metadata":
            return lambda row: _stored(row.extra.get(self.name))
        raw = self.raw()
        return lambda row: _from_json(raw(row))

    def raw(self) -> Callable[[Row], Any]:
        """The function that takes the value from a row's metadata as it is."""
        if len(self.steps) == 1 and isinstance(key := self.steps[0], str):
            return lambda row: row.metadata.get(key)
        return lambda row: _reached(row.metadata, self.steps)


# -- joined tests ------------------------------------------------------------------------------------------------------


everything, nothing = Test(lambda _: True), Test(lambda _: False)


def every(tests: list[Test]) -> Test:
    """All of them."""
    return _combined(tests, everything, nothing, all)


def some(tests: list[Test]) -> Test:
    """At least one of them."""
    return _combined(tests, nothing, everything, any)


def _combined(tests: list[Test], neutral: Test, decisive: Test, fold: Callable[[Iterable[bool]], bool]) -> Test:
    if decisive in tests:
        return decisive
    tests = [test for test in tests if test is not neutral]
    if len(tests) < 2:
        return tests[0] if tests else neutral
    checks = [test.fits for test in tests]
    word, with_sql = (" AND ", [test for test in tests if test.sql]) if fold is all else (" OR ", tests)
    return _joined(lambda row: fold(fits(row) for fits in checks), word, with_sql)


def _joined(fits: Callable[[Row], bool], word: str, tests: list[Test]) -> Test:
    sql = word.join(test.sql for test in tests)
    if not all(test.sql for test in tests) or not 0 < len(sql) <= _LONGEST_SQL:
        return Test(fits)
    return Test(fits, f"({sql})", tuple(value for test in tests for value in test.values))


# -- comparisons -------------------------------------------------------------------------------------------------------


def holds(left: Any, sign: str, right: Any) -> bool:
    """Whether two plain values compare so. NULL never does; values of two kinds are unequal, and in no order."""
    if left is None or right is None:
        return False
    if sign == "=":
        return bool(left == right) and left is not OTHER
    if sign == "!=":
        return bool(left != right)
    if isinstance(left, _NUMBERS):
        return isinstance(right, _NUMBERS) and _SIGNS[sign](left, right)
    return left is not OTHER and type(left) is type(right) and _SIGNS[sign](left, right)


def compare(column: Column, sign: str, value: Value) -> Test:
    """A column against a value. `sign` is one of = != < <= > >=."""
    sql, values = "", tuple[object, ...]()
    if isinstance(value, datetime):
        sql, values = f"timestamp {sign} ?", (stamp(value),)
    elif column.is_text and column.name != "content":
        sql, values = f"{column.name} {sign} ?", (value,)
    elif column.name == "metadata" and sign == "=" and isinstance(value, str) and _PLAIN.fullmatch(value):
        sql, values = "instr(metadata, ?)", (orjson.dumps(value),)  # a search for the bytes of a text
    return Test(_compared(column, sign, value), sql, values)


def _compared(column: Column, sign: str, value: Value) -> Callable[[Row], bool]:
    get, is_true = column.getter(), _SIGNS[sign]
    if isinstance(value, str) and column.name == "metadata" and sign in ("=", "!="):
        raw = column.raw()  # most filters are made of these: only what is not text needs a second look
        if sign == "=":
            return lambda row: bool(raw(row) == value)
        return lambda row: (found := raw(row)) != value and (type(found) is str or _from_json(found) is not None)
    if column.is_text or column.is_moment:
        return lambda row: is_true(get(row), value)
    if sign == "=":
        return lambda row: bool(get(row) == value)
    if sign == "!=":
        return lambda row: (found := get(row)) is not None and bool(found != value)
    kinds = (str,) if isinstance(value, str) else _NUMBERS
    return lambda row: type(found := get(row)) in kinds and is_true(found, value)


def pair(left: Column, sign: str, right: Column) -> Test:
    """Two columns of the same row."""
    one, other = left.getter(), right.getter()
    return Test(lambda row: holds(one(row), sign, other(row)))


def one_of(column: Column, listed: tuple[Value, ...], negated: bool) -> Test:
    """The column's value is among these; if negated, it has one and it is not."""
    get, values = column.getter(), frozenset(listed)
    if negated:
        return Test(lambda row: (found := get(row)) is not None and found not in values)
    return _joined(lambda row: get(row) in values, " OR ", [compare(column, "=", value) for value in listed])


def like(column: Column, text: str, escape: str, negated: bool) -> Test | None:
    """The column's value is LIKE `text`; if negated, it has one and it is not. None, if `text` ends in an escape."""
    get, matches = column.getter(), pattern(text, escape)
    if matches is None:
        return None
    if column.is_moment:
        return Test(lambda row: matches(stamp(row.timestamp)) != negated)
    if negated:
        return Test(lambda row: (found := get(row)) is not None and not (type(found) is str and matches(found)))
    is_plain = column.name == "content" and not escape and _PLAIN_PATTERN.fullmatch(text)
    sql = ("CAST(content AS TEXT) LIKE ?", (f"%{text}%",)) if is_plain else ("", ())
    return Test(lambda row: type(found := get(row)) is str and matches(found), *sql)


def absent(column: Column, negated: bool) -> Test:
    """The column is NULL; if negated, it is not."""
    get = column.getter()
    return Test(lambda row: (get(row) is None) != negated)


# -- values ------------------------------------------------------------------------------------------------------------


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


def _from_json(value: Any) -> Any:
    """A value of metadata, as it is once it was written as JSON and read by SQLite."""
    plain = _stored(value)
    if type(plain) is float and not isfinite(plain):
        return None
    return OTHER if type(plain) is str and "\0" in plain else plain


def _stored(value: Any) -> Any:
    """A value of an added column, as SQLite stores it."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, int):
        try:
            return int(value) if -(2**63) <= value < 2**63 else float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if isinstance(value, float):
        return None if value != value else float(value)
    return str.__str__(value) if isinstance(value, str) else OTHER

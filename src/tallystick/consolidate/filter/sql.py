"""A filter as an SQLite expression. Of the filter's own text nothing enters it: values and paths are bound.

`V` below is the value of a column as the filter compares it: NULL, a number, text, or an empty blob for all that is
none of these (a list, an object, text with a NUL, which some versions of SQLite would cut). SQLite's own order of kinds
is never relied upon: where an order is asked for, both sides are first seen to be of one kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from tallystick.consolidate.filter.path import spelled
from tallystick.consolidate.filter.tree import (
    Absent,
    Column,
    Compare,
    Every,
    Leaf,
    Like,
    Node,
    OneOf,
    Pair,
    Some,
    Value,
)
from tallystick.records.clock import stamp

_NUMBER = "('integer', 'real')"
_CHAIN = 8  # parts joined in a row; SQLite bounds the depth of an expression, and so do we


class Sql(NamedTuple):
    """An expression, the values of its placeholders in their order, and how many comparisons it holds."""

    text: str
    values: list[object]
    weight: int = 1


def sql_of(node: Node, names: Mapping[str, str]) -> Sql:
    """The expression that is true for the rows that fit, and false or NULL for all others."""
    if isinstance(node, Every):
        parts = [sql_of(part, names) for part in node.parts]
        held = [_held(sql) if isinstance(part, Some) else sql for part, sql in zip(node.parts, parts, strict=True)]
        return _joined(" AND ", held) if held else Sql("1", [])
    if isinstance(node, Some):
        return _joined(" OR ", [sql_of(part, names) for part in node.parts]) if node.parts else Sql("0", [])
    return _leaf(node, names)


def _joined(word: str, parts: list[Sql]) -> Sql:
    """The heaviest part first and the light ones in groups.

    SQLite's parser holds what stands before an opening parenthesis on a small stack; so it holds next to nothing.
    """
    parts = sorted(parts, key=lambda part: part.weight, reverse=True)
    while len(parts) > _CHAIN:
        rest = parts[1:]
        groups = [rest[at : at + _CHAIN] for at in range(0, len(rest), _CHAIN)]
        parts = [parts[0], *(_held(_chained(word, group)) for group in groups)]
    return _chained(word, parts)


def _chained(word: str, parts: list[Sql]) -> Sql:
    values = [value for part in parts for value in part.values]
    return Sql(word.join(part.text for part in parts), values, sum(part.weight for part in parts))


def _held(part: Sql) -> Sql:
    return part._replace(text=f"({part.text})")


def _leaf(leaf: Leaf, names: Mapping[str, str]) -> Sql:
    if isinstance(leaf, Compare):
        return _compare(leaf, names)
    if isinstance(leaf, Pair):
        return _pair(leaf, names)
    value = _value(leaf.column, names)
    if isinstance(leaf, OneOf):
        marks = ", ".join("?" * len(leaf.values))
        return _put(f"{{}} {_not(leaf)}IN ({marks})", value, _bound(leaf.values))
    if isinstance(leaf, Absent):
        return _put(f"{{}} IS {_not(leaf)}NULL", value)
    pattern = Sql("", [leaf.pattern.written])
    if leaf.column.is_text or leaf.column.is_moment:
        return _put(f"{{}} {_not(leaf)}LIKE ? ESCAPE '\\'", value, pattern)
    like = _put("typeof({}) = 'text' AND {} LIKE ? ESCAPE '\\'", value, value, pattern)
    return _put("{} IS NOT NULL AND NOT ({})", value, like) if leaf.negated else like


def _compare(leaf: Compare, names: Mapping[str, str]) -> Sql:
    of_number = isinstance(leaf.value, int | float)
    value, bound = _value(leaf.column, names, of_number), _bound([leaf.value])
    if leaf.sign in ("=", "!=") or leaf.column.is_text or leaf.column.is_moment:
        return _put(f"{{}} {leaf.sign} ?", value, bound)
    kind = f"IN {_NUMBER}" if of_number else "= 'text'"
    return _put(f"typeof({{}}) {kind} AND {{}} {leaf.sign} ?", value, value, bound)


def _pair(leaf: Pair, names: Mapping[str, str]) -> Sql:
    """Two columns. The plus takes from a column its declared type, by which SQLite would turn numbers into text."""
    left, right = (_put("+{}", _value(column, names)) for column in (leaf.left, leaf.right))
    test = _put(f"{{}} {leaf.sign} {{}}", left, right)
    if leaf.sign == "!=":
        return test
    if leaf.sign == "=":
        return _put("typeof({}) != 'blob' AND {}", left, test)
    alike = f"CASE typeof({{}}) WHEN 'text' THEN typeof({{}}) = 'text' ELSE typeof({{}}) IN {_NUMBER} END"
    return _put(f"typeof({{}}) != 'blob' AND {alike} AND {{}}", left, left, right, right, test)


def _value(column: Column, names: Mapping[str, str], of_number: bool = False) -> Sql:
    """`V`. For a number it is enough that what is none does not look like one."""
    name = f"({names[column.name]})"
    if column.is_text or column.is_moment:
        return Sql(name, [])
    if column.name != "metadata":
        return Sql(f"CASE typeof({name}) WHEN 'blob' THEN x'' ELSE {name} END", [])
    if of_number:
        return Sql(f"json_extract({name}, ?)", [spelled(column.steps)])
    raw = f"replace(json_extract({name}, ?, '$[0]'), '\\\\', '')"  # without its escaped backslashes
    other = f"json_type({name}, ?) IN ('array', 'object') OR instr({raw}, '\\u0000')"
    return Sql(f"CASE WHEN {other} THEN x'' ELSE json_extract({name}, ?) END", [spelled(column.steps)] * 3)


def _put(template: str, *parts: Sql) -> Sql:
    """`template` with the parts in its braces, one after the other; what is left over brings only values."""
    return Sql(template.format(*(part.text for part in parts)), [value for part in parts for value in part.values])


def _bound(values: Iterable[Value]) -> Sql:
    return Sql("", [stamp(value) if isinstance(value, datetime) else value for value in values])


def _not(leaf: OneOf | Like | Absent) -> str:
    return "NOT " if leaf.negated else ""

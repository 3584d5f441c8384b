"""What stands on either side of a comparison: a column, a place inside metadata, or a value that is written out."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from math import isinf
from typing import TypeAlias

from tallystick.consolidate.filter.moment import moment
from tallystick.consolidate.filter.path import DEEPEST, BadPath, named, place, steps_of
from tallystick.consolidate.filter.reader import Reader
from tallystick.consolidate.filter.tokens import Token, brief, fold
from tallystick.consolidate.filter.tree import Column, Step, Value
from tallystick.records.errors import ConsolidationRuleError

KEYWORDS = frozenset(["AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE"])

_CONSTANTS: dict[str, int | None] = {"TRUE": 1, "FALSE": 0, "NULL": None}


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as the filter has it. TRUE is 1 and FALSE is 0."""

    value: str | int | float | None
    at: int


Operand: TypeAlias = Column | Literal


def operand(reader: Reader) -> Operand:
    """The column or value that comes next."""
    token = reader.take()
    if token.kind == "text":
        return Literal(token.value, token.at)
    if token.kind == "number":
        return Literal(_number(reader, token), token.at)
    if token.keyword in ("-", "+"):
        return _signed(reader, token)
    if token.keyword in _CONSTANTS:
        return Literal(_CONSTANTS[token.keyword], token.at)
    if token.kind == "quoted" or (token.kind == "word" and token.keyword not in KEYWORDS):
        return _column(reader, token)
    if token.keyword == "(":
        raise reader.wrong(token.at, "a value stands without parentheses, and a sub-select is not understood")
    raise reader.wrong(token.at, "a column or a value is missing here")


def valued(reader: Reader, column: Column, literal: Literal) -> Value | None:
    """The value to compare `column` with, if one can. A moment is understood as such; NULL is None."""
    value = literal.value
    if value is None:
        return None
    if column.is_moment:
        understood = moment(value) if isinstance(value, str) else None
        if understood is None:
            way_out = "write it like '2026-01-01' or '2026-01-01T10:00:00+02:00'"
            raise reader.wrong(literal.at, f"timestamp is compared with a moment, which this is not; {way_out}")
        return understood
    if column.is_text and not isinstance(value, str):
        raise reader.wrong(literal.at, f"{column} is text; put the value in single quotes")
    return value


def _number(reader: Reader, token: Token) -> int | float:
    """Whole numbers beyond 64 bits become floats, as in SQLite."""
    if token.value.isdigit() and len(token.value) <= 19 and int(token.value) < 2**63:
        return int(token.value)
    value = float(token.value)
    if isinf(value):
        raise reader.wrong(token.at, "this number is too large to be compared; leave it out")
    return value


def _signed(reader: Reader, sign: Token) -> Literal:
    token = reader.take()
    if token.kind != "number":
        raise reader.wrong(token.at, f"a number is missing after {sign.value}; there is no arithmetic in a filter")
    number = _number(reader, token)
    return Literal(-number if sign.value == "-" else number, sign.at)


def _column(reader: Reader, token: Token) -> Column:
    if reader.next.keyword == "(" and token.kind == "word":
        return _function(reader, token)
    name = reader.columns.get(fold(token.value))
    if name is None:
        raise _unknown(reader, token)
    if name == "metadata":
        return Column(name, _steps(reader, token))
    if reader.next.keyword in (".", "[", "->", "->>"):
        raise reader.wrong(reader.next.at, f"{brief(name)} holds no keys; only metadata does")
    return Column(name)


def _unknown(reader: Reader, token: Token) -> ConsolidationRuleError:
    """No such column: a slip of the pen, text in the wrong quotes, or another table."""
    shown = brief(token.value)
    if token.keyword == "SELECT":
        return reader.wrong(token.at, "a sub-select is not understood; a filter sees one episode at a time")
    if reader.next.keyword == ".":
        return reader.wrong(token.at, f"there is no table {shown} to look into; name the column alone")
    close = get_close_matches(fold(token.value), reader.columns, n=1)
    columns = ", ".join(brief(name) if name != "metadata" else "metadata.key" for name in reader.columns.values())
    hint = f"did you mean {brief(reader.columns[close[0]])}?" if close else f"there are {columns}"
    quotes = f"; text stands in single quotes: '{shown}'" if token.kind == "quoted" else ""
    return reader.wrong(token.at, f"there is no column {shown}; {hint}{quotes}")


def _function(reader: Reader, token: Token) -> Column:
    """`json_extract(metadata, '$.key')`, the one function there is."""
    if token.keyword != "JSON_EXTRACT":
        known = "the only function is json_extract(metadata, '$.key')"
        raise reader.wrong(token.at, f"{brief(token.value)}(…) is not understood; {known}")
    reader.take()
    first = reader.take()
    if first.kind not in ("word", "quoted") or fold(first.value) != "metadata":
        raise reader.wrong(first.at, "json_extract looks into metadata only: json_extract(metadata, '$.key')")
    reader.needs(",", "json_extract needs a path: json_extract(metadata, '$.key')")
    path = reader.take()
    if path.kind != "text":
        raise reader.wrong(path.at, "the path is text in single quotes, as in '$.key'")
    steps = _path(reader, path)
    reader.needs(")", "json_extract takes metadata and one path, and then a closing parenthesis")
    return Column("metadata", _bounded(reader, first, steps))


def _steps(reader: Reader, metadata: Token) -> tuple[Step, ...]:
    """What follows the name of metadata: `.key`, `."odd key"`, `['key']`, `[0]`, `->> 'key'`, `->> '$.path'`."""
    steps: list[Step] = []
    arrow = None
    while lead := reader.takes(".", "[", "->", "->>"):
        if arrow and arrow.value == "->>":
            raise reader.wrong(lead.at, "->> ends the way to a value; write -> before it")
        arrow = lead if lead.value.startswith("->") else None
        steps += _step(reader, lead.value)
    if not steps:
        raise reader.wrong(metadata.at, "metadata is compared by its keys; write metadata.key")
    if arrow and arrow.value == "->":
        raise reader.wrong(arrow.at, "-> gives no plain value; write ->>")
    return _bounded(reader, metadata, steps)


def _step(reader: Reader, lead: str) -> list[Step]:
    token = reader.take()
    if lead == ".":
        if token.kind not in ("word", "quoted"):
            raise reader.wrong(token.at, 'a key is missing after the dot; write an odd one as metadata."odd key"')
        return [_named(reader, token)]
    if token.kind == "number":
        steps = [_place(reader, token)]
    elif token.kind == "text" and token.value.startswith("$") and lead != "[":
        steps = _path(reader, token)
    elif token.kind == "text" or (token.kind == "quoted" and lead == "["):
        steps = [_named(reader, token)]
    else:
        raise reader.wrong(token.at, "a key in single quotes or a place in a list is missing here")
    if lead == "[":
        reader.needs("]", "a closing bracket is missing here")
    return steps


def _named(reader: Reader, token: Token) -> Step:
    try:
        return named(token.value, token.at)
    except BadPath as bad:
        raise reader.wrong(bad.at, str(bad)) from None


def _place(reader: Reader, token: Token) -> Step:
    try:
        return place(token.value, token.at)
    except BadPath as bad:
        raise reader.wrong(bad.at, str(bad)) from None


def _path(reader: Reader, token: Token) -> list[Step]:
    """The path in `token`. Where it is wrong is counted in the filter, in which a quote is written twice."""
    try:
        return steps_of(token.value)
    except BadPath as bad:
        raise reader.wrong(token.at + 1 + bad.at + token.value[: bad.at].count("'"), str(bad)) from None


def _bounded(reader: Reader, token: Token, steps: list[Step]) -> tuple[Step, ...]:
    if len(steps) > DEEPEST:
        raise reader.wrong(token.at, f"a place in metadata is up to {DEEPEST} steps away; name one less deep")
    return tuple(steps)

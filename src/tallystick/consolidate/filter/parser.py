"""How a filter is read: from its tokens to its tree, each token looked at once, or to the character that is wrong.

    any      = all { OR all }
    all      = one { AND one }
    one      = { NOT } ( "(" any ")" | test )
    test     = operand sign operand
             | operand [NOT] IN "(" operand { "," operand } ")"
             | operand [NOT] BETWEEN operand AND operand
             | operand [NOT] LIKE text [ESCAPE text]
             | operand IS [NOT] NULL
             | TRUE | FALSE | NULL | number

Every part is read knowing whether it stands under an odd number of NOTs, and gives the tree of what then must hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from tallystick.consolidate.filter import like as patterns
from tallystick.consolidate.filter.evaluate import holds
from tallystick.consolidate.filter.operand import KEYWORDS, Literal, Operand, operand, valued
from tallystick.consolidate.filter.reader import Reader
from tallystick.consolidate.filter.tokens import brief
from tallystick.consolidate.filter.tree import (
    EVERYTHING,
    MIRRORED,
    NOTHING,
    OPPOSITE,
    Absent,
    Column,
    Compare,
    Like,
    Node,
    OneOf,
    Pair,
    every,
    some,
)

DEEPEST = 50  # parentheses inside one another

_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TESTS = "= != < <= > >= IN BETWEEN LIKE IS NULL"


def read(text: str, columns: Iterable[str]) -> Node:
    """The tree of a filter. An empty one fits everything."""
    reader = Reader(text, columns)
    if reader.next.kind == "end":
        return EVERYTHING
    node = _any(reader, False, 0)
    if reader.next.kind != "end":
        raise reader.wrong(reader.next.at, f"{_named(reader)} is not expected here; go on with AND or OR, or end")
    return node


def _any(reader: Reader, negated: bool, depth: int) -> Node:
    parts = [_all(reader, negated, depth)]
    while reader.takes("OR"):
        parts.append(_all(reader, negated, depth))
    return every(parts) if negated else some(parts)


def _all(reader: Reader, negated: bool, depth: int) -> Node:
    parts = [_one(reader, negated, depth)]
    while reader.takes("AND"):
        parts.append(_one(reader, negated, depth))
    return some(parts) if negated else every(parts)


def _one(reader: Reader, negated: bool, depth: int) -> Node:
    while reader.takes("NOT"):
        negated = not negated
    opened = reader.takes("(")
    if opened is None:
        return _test(reader, negated)
    if depth == DEEPEST:
        raise reader.wrong(opened.at, f"parentheses stand up to {DEEPEST} deep in one another; write it flatter")
    node = _any(reader, negated, depth + 1)
    reader.needs(")", f"the parenthesis of character {opened.at} is still open; close it, or go on with AND or OR")
    return node


def _test(reader: Reader, negated: bool) -> Node:
    at = reader.next.at
    reader.count(at)
    left = operand(reader)
    if sign := reader.takes(*_SIGNS):
        return _compared(reader, left, _signed(_SIGNS[sign.keyword], negated), operand(reader), at)
    if reader.takes("IS"):
        return _absent(reader, left, negated)
    turned = reader.takes("NOT")
    negated = negated != (turned is not None)
    if reader.takes("IN"):
        return _listed(reader, left, negated, at)
    if reader.takes("BETWEEN"):
        return _between(reader, left, negated, at)
    if reader.takes("LIKE"):
        return _like(reader, left, negated, at)
    if isinstance(left, Literal) and not isinstance(left.value, str) and not turned:
        return NOTHING if left.value is None else EVERYTHING if bool(left.value) != negated else NOTHING
    raise reader.wrong(reader.next.at, f"a comparison is expected here, not {_named(reader)}: one of {_TESTS}")


def _compared(reader: Reader, left: Operand, sign: str, right: Operand, at: int) -> Node:
    """Two operands. Whatever is compared with NULL is unknown, and so never fits."""
    if isinstance(left, Literal):
        if isinstance(right, Column):
            return _compared(reader, right, MIRRORED[sign], left, at)
        return EVERYTHING if holds(left.value, sign, right.value) else NOTHING
    if isinstance(right, Literal):
        value = valued(reader, left, right)
        return NOTHING if value is None else Compare(left, sign, value)
    if left.is_moment != right.is_moment:
        raise reader.wrong(at, "timestamp is compared with a moment that is written out, like '2026-01-01'")
    return Pair(left, sign, right)


def _absent(reader: Reader, left: Operand, negated: bool) -> Node:
    negated = negated != (reader.takes("NOT") is not None)
    reader.needs("NULL", "IS is followed by NULL or NOT NULL; other values are compared with =")
    if isinstance(left, Column):
        return Absent(left, negated)
    return EVERYTHING if (left.value is None) != negated else NOTHING


def _listed(reader: Reader, left: Operand, negated: bool, at: int) -> Node:
    items = _items(reader)
    values = tuple(item.value for item in items if isinstance(item, Literal))
    if isinstance(left, Literal) or len(values) < len(items):
        tests = [_compared(reader, left, _signed("=", negated), item, at) for item in items]
        return every(tests) if negated else some(tests)
    fitting = [valued(reader, left, item) for item in items if isinstance(item, Literal)]
    known = tuple(value for value in fitting if value is not None)
    return NOTHING if negated and len(known) < len(fitting) else OneOf(left, known, negated) if known else NOTHING


def _items(reader: Reader) -> list[Operand]:
    reader.needs("(", "IN is followed by a list in parentheses: IN ('a', 'b')")
    if reader.next.keyword == ")":
        raise reader.wrong(reader.next.at, "the list is empty; name at least one value")
    items = [operand(reader)]
    while comma := reader.takes(","):
        reader.count(comma.at)
        items.append(operand(reader))
    reader.needs(")", "the list goes on with a comma or ends with a parenthesis here")
    return items


def _between(reader: Reader, left: Operand, negated: bool, at: int) -> Node:
    low = operand(reader)
    reader.needs("AND", "BETWEEN needs two values joined with AND: BETWEEN 1 AND 5")
    reader.count(reader.next.at)
    high = operand(reader)
    tests = [
        _compared(reader, left, _signed(">=", negated), low, at),
        _compared(reader, left, _signed("<=", negated), high, at),
    ]
    return some(tests) if negated else every(tests)


def _like(reader: Reader, left: Operand, negated: bool, at: int) -> Node:
    token = reader.take()
    if token.kind != "text":
        raise reader.wrong(token.at, "LIKE is followed by a pattern in single quotes: LIKE '%word%'")
    if not isinstance(left, Column):
        raise reader.wrong(at, "LIKE has a column on its left side: content LIKE '%word%'")
    if len(token.value) > patterns.LONGEST:
        raise reader.wrong(token.at, f"a pattern holds up to {patterns.LONGEST:,} characters; shorten it")
    understood = patterns.pattern(token.value, _escape(reader))
    if understood is None:
        raise reader.wrong(token.end - 1, "the pattern ends in its escape character; write that twice to mean itself")
    return Like(left, understood, negated)


def _escape(reader: Reader) -> str:
    if not reader.takes("ESCAPE"):
        return ""
    token = reader.take()
    if token.kind != "text" or len(token.value) != 1:
        raise reader.wrong(token.at, "ESCAPE is followed by one character in single quotes: ESCAPE '!'")
    return token.value


def _signed(sign: str, negated: bool) -> str:
    return OPPOSITE[sign] if negated else sign


def _named(reader: Reader) -> str:
    """The next token, for a message."""
    token = reader.next
    if token.kind == "end":
        return "the end"
    return token.keyword if token.keyword in KEYWORDS else brief(token.value) or "an empty text"

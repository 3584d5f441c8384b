"""The language of a rule's `when_filter`: it looks like SQL and is none. Empty = every episode.

    timestamp >= '2026-01-01' AND metadata.intent != 'noop' AND content LIKE '%deploy%'

Columns: `id`, `scope_key`, `user`, `session`, `agent`, `content`, `timestamp`, the added ones, and places in metadata:
`metadata.key`, `metadata.a.b`, `metadata."odd key"`, `metadata['key']`, `metadata.list[0]`,
`json_extract(metadata, '$.a.b[0]')`, `metadata ->> 'key'`.
Tests: `= == != <> < <= > >=`, `[NOT] IN (…)`, `[NOT] BETWEEN … AND …`, `[NOT] LIKE '…' [ESCAPE '…']`, `IS [NOT] NULL`,
joined with `AND`, `OR`, `NOT` and parentheses. Values: `'text'` (a quote in it is written twice), numbers, `TRUE`,
`FALSE`, `NULL`. Names and keywords are read in any case, keys of metadata exactly.

What holds, in Python (`fits`) and in SQLite (`to_sql`) alike:

- A key that is not there, and JSON's null, are NULL. A comparison with NULL is unknown, so is its NOT, and a row of
  which the filter is unknown does not fit.
- TRUE is 1 and FALSE is 0, in metadata too. Numbers compare with numbers and text with text, character by character.
  Values of two kinds are not equal, and neither comes first: of `'5'` and 5 only `!=` holds, and neither `<` nor its
  NOT. A list or an object is not NULL and not equal to anything that can be written in a filter.
- LIKE takes A-Z and a-z as equal and no other letters. What is not text is not like any pattern.
- `timestamp` is compared with moments: a date is its midnight, and what has no zone is UTC. For LIKE it is the text
  `2026-01-31T23:59:59.000000Z`.
- `id`, `scope_key`, `user`, `session`, `agent` and `content` are text: comparing them with a number is an error,
  not a surprise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tallystick.consolidate.filter.evaluate import compiled
from tallystick.consolidate.filter.parser import read
from tallystick.consolidate.filter.row import Row
from tallystick.consolidate.filter.sql import sql_of
from tallystick.consolidate.filter.tree import EVERYTHING, Node

__all__ = ["Filter", "Row", "parse"]


class Filter:
    """A condition that a row fits or does not. The same in Python and in SQLite, and never an error on any row."""

    __slots__ = ("_node", "_test")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._test = compiled(node)

    @property
    def is_everything(self) -> bool:
        """Every row fits, as of an empty filter."""
        return self._node == EVERYTHING

    def fits(self, row: Row) -> bool:
        return self._test(row)

    def to_sql(self, names: Mapping[str, str]) -> tuple[str, list[object]]:
        """An SQLite expression, to be put in parentheses, and the values of its `?`.

        `names` has for each column the expression that yields it: text for the documented ones, `timestamp` as
        `clock.stamp` writes it, `metadata` as JSON text in which letters outside ASCII are written as they are.
        """
        text, values, _ = sql_of(self._node, names)
        return text, values


def parse(text: str, *, columns: Iterable[str] = ()) -> Filter:
    """The filter that `text` spells over the documented columns and `columns`.

    Anything else is a ConsolidationRuleError whose `at` is the character that is not understood.
    """
    return Filter(read(text, columns))

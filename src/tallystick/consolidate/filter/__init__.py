"""The language of a rule's `when_filter`: it looks like SQL and is not SQL. Empty = every episode.

    timestamp >= '2026-01-01' AND metadata.intent != 'noop' AND content LIKE '%deploy%'

Columns: `id`, `scope_key`, `user`, `session`, `agent`, `content`, `timestamp`, the added ones, and places in metadata:
`metadata.key`, `metadata.a.b`, `metadata."odd key"`, `metadata['key']`, `metadata.list[0]`,
`json_extract(metadata, '$.a.b[0]')`, `metadata ->> 'key'`.
Tests: `= == != <> < <= > >=`, `[NOT] IN (…)`, `[NOT] BETWEEN … AND …`, `[NOT] LIKE '…' [ESCAPE '…']`, `IS [NOT] NULL`,
joined with `AND`, `OR`, `NOT` and parentheses. Values: `'text'` (a quote in it is written twice), numbers, `TRUE`,
`FALSE`, `NULL`. Names and keywords are read in any case, keys of metadata exactly.

What holds, as in SQLite:

- A missing key and JSON's null are NULL. A comparison with NULL is unknown, so is its NOT, and a row for which the
  filter is unknown does not fit.
- TRUE is 1 and FALSE is 0, in metadata too. Numbers compare with numbers and text with text, character by character.
  Values of two kinds are not equal, and neither comes first: of `'5'` and 5 only `!=` holds, and neither `<` nor its
  NOT. A list or an object is not NULL and not equal to anything that can be written in a filter.
- LIKE takes A-Z and a-z as equal and no other letters. What is not text is not like any pattern.
- `timestamp` is compared with moments: a date is its midnight, and a moment without a zone is UTC. For LIKE it is the
  text `2026-01-31T23:59:59.000000Z`.
- `id`, `scope_key`, `user`, `session`, `agent` and `content` are text: comparing them with a number is an error,
  not a surprise.
"""

from __future__ import annotations

from tallystick.consolidate.filter.evaluate import Row, Test as Filter
from tallystick.consolidate.filter.parser import parse

__all__ = ["Filter", "Row", "parse"]

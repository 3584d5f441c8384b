"""Searching the contents of blocks by words, in what one reader may see.

Whatever a question holds (quotes, operators, column names, nothing at all), it is taken apart into words, and each word
is quoted: no question raises, and none reaches anything but the contents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import orjson

from keepsake.projections.index import prepared as sql
from keepsake.projections.index.block import Source
from keepsake.projections.index.file import IndexFile

NOW = (1 << 62) - 1  # later than any event
MOST_WORDS = 64

_WORD = re.compile(r"[^\W_]+")


class Scope(NamedTuple):
    """Who asks, from where, and for which moment. `session` and `agent` narrow; None is any."""

    user: str
    at: int = NOW
    path: str = ""
    session: str | None = None
    agent: str | None = None
    quarantined: bool = False  # whether what waits for a person's yes is shown too

    def values(self) -> dict[str, object]:
        at = max(min(self.at, NOW), -1)
        return {**self._asdict(), "at": at, "quarantined": int(self.quarantined)}

    def is_nobodys(self) -> bool:
        """Whether a name is one that nothing can be recorded under, because it cannot be written down."""
        names = (self.user, self.path, self.session or "", self.agent or "")
        return not "".join(names).isascii() and any("\ud800" <= each <= "\udfff" for each in "".join(names))


class Found(NamedTuple):
    """A block that matches, the best first."""

    block: str
    content: str
    rank: float  # of bm25: the less, the better
    confidence: float
    reinforced: int
    decay: float
    last: float  # active hours at which it was last said or used


def words_of(question: str) -> list[str]:
    """The words of a question, each once, in their order."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))[:MOST_WORDS]


def search(index: IndexFile, words: Iterable[str], scope: Scope, most: int) -> list[Found]:
    """Blocks that hold any of the words, and that a source says which `scope` may see."""
    match = " OR ".join(map(_quoted, words))
    if not match or scope.is_nobodys():
        return []
    rows = index.db.execute(sql.SEARCH, {"words": match, "most": min(most, NOW), **scope.values()})
    return [Found(*row) for row in rows]


def matching(index: IndexFile, word: str, blocks: list[str]) -> set[str]:
    """Those of `blocks` that hold the word."""
    rows = index.db.execute(sql.MATCHING, (_quoted(word), orjson.dumps(blocks).decode()))
    return {row[0] for row in rows}


def sources_of(index: IndexFile, blocks: list[str], scope: Scope) -> dict[str, list[Source]]:
    """Who says each of `blocks`, as far as `scope` may see: the newest first."""
    found: dict[str, list[Source]] = {block: [] for block in blocks}
    for row in index.db.execute(sql.SHOWN, {"ids": orjson.dumps(blocks).decode(), **scope.values()}):
        source = Source(*row)
        found[source.block_id or ""].append(source)
    return found


def _quoted(word: str) -> str:
    return f'"{word}"'

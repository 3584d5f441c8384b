"""Full-text search of the contents of blocks, within what one reader may see.

Whatever a question holds (quotes, operators, column names, nothing at all), it is taken apart into words, and each word
is quoted: no question raises, and none reaches anything but the contents.

This is the whole interface to full text; to replace SQLite's by another, replace this module.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import zip_longest
from operator import attrgetter
from typing import NamedTuple

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.rows import Source
from tallystick.projections.index.segmentation import runs
from tallystick.records.times import Times
from tallystick.state.paths import Paths
from tallystick.text.fingerprint import WORD
from tallystick.text.words import is_encodable

NOW = (1 << 62) - 1  # later than any event
EVERY_ROW = (0, NOW)
MOST_WORDS = 64
_FEW = 10  # times as many others: then what is quarantined changes nothing
_COUNTED = 20_000  # blocks in a folder up to which words are counted by user

_MAIN, MAIN = ("",), '[""]'


class Scope(NamedTuple):
    """Who asks, from where, and for which moment. `session` and `agent` narrow; None is any."""

    user: str
    at: int = NOW  # what was current after that event
    path: str = ""
    session: str | None = None
    agent: str | None = None
    quarantined: bool = False  # whether what needs approval is visible too
    now: str = ""  # the time by which what has expired is hidden
    as_of: str | None = None  # what was true in the world then; None: whatever is current
    lineage: tuple[str, ...] = ()  # paths whose beliefs are visible, nearest first; empty: `path` and the main line
    heard: tuple[str, ...] = ()  # paths whose episodes are visible; empty: the same

    def on(self, paths: Paths) -> Scope:
        """The same scope, with what is visible from `path` at that moment."""
        at = None if self.at >= NOW else self.at
        heard = paths.heard(self.user, self.path, at)
        if not self.path and heard == _MAIN:
            return self
        lineage = paths.lineage(self.user, self.path, at)
        return self._replace(path=lineage[0], lineage=lineage, heard=heard)

    def is_main(self) -> bool:
        """True if only the main line is visible, which is quick."""
        return not self.path and not self.lineage

    def values(self) -> dict[str, object]:
        usual: dict[str, object] = {"at": _place(self.at), "quarantined": int(self.quarantined), "paths": self.paths}
        if self.is_main():
            return {**self._asdict(), **usual, "lineage": None, "heard": None}
        lineage, heard = map(orjson.dumps, self._both())
        return {**self._asdict(), **usual, "lineage": lineage.decode(), "heard": heard.decode()}

    @property
    def paths(self) -> str:
        """Every path of which something is visible, as a JSON array."""
        if self.is_main():
            return MAIN
        lineage, heard = self._both()
        return orjson.dumps(list(dict.fromkeys([*lineage, *heard]))).decode()

    def _both(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (self.lineage, self.heard) if self.lineage else ((self.path, ""), (self.path, ""))

    def is_nobodys(self) -> bool:
        """True if nothing can be recorded under one of its names."""
        names = (self.user, self.path, self.session or "", self.agent or "", self.as_of or "", *self.lineage)
        return not is_encodable("\n".join(names))

    def is_wide(self) -> bool:
        """True if nearly all that the user has is in it."""
        return self.at >= NOW and self.session is None and self.agent is None and self.as_of is None


class Found(NamedTuple):
    """A block that matches, the best first."""

    block: str
    rank: float  # bm25 with its sign changed: more is better


class SourceRow(NamedTuple):
    """The columns of a source that matter for how well it answers. The others are read of what is served."""

    id: str
    what: str
    block_id: str
    session: str
    agent: str
    path: str
    trust: str
    about: str
    happened: str | None
    at: str
    since_seq: int
    standing: int
    expires: str | None
    valid_from: str | None
    echo: int = 0


def words_of(question: str) -> list[str]:
    """The words of a question, each once, in their order."""
    return list(dict.fromkeys(word.lower() for word in WORD.findall(question)))[:MOST_WORDS]


def search(
    index: IndexFile, words: Sequence[str], scope: Scope, limit: int, rows: tuple[int, int] = EVERY_ROW
) -> list[Found]:  # fmt: skip
    """Blocks that have any of the words, and a source that `scope` may see.

    `rows` are the first and the last row to look at, where the caller knows them. On a path, as many again from off
    the main line.
    """
    found = _run(index, sql.TEXT_HITS_VISIBLE, words, scope, limit, rows)
    return in_turn(found, search_aside(index, words, scope, limit, rows))


def search_aside(
    index: IndexFile, words: Sequence[str], scope: Scope, limit: int, rows: tuple[int, int] = EVERY_ROW
) -> list[Found]:  # fmt: skip
    """Blocks off the main line that have any of the words, and a source that `scope` may see."""
    return [] if scope.is_main() else _run(index, sql.ASIDE_HITS_VISIBLE, words, scope, limit, rows)


def in_turn(found: list[Found], aside: list[Found]) -> list[Found]:
    """Alternate between the two: how rare a word is differs, so their ranks cannot be compared."""
    return [each for pair in zip_longest(aside, found) for each in pair if each is not None]


def search_all(
    index: IndexFile, words: Iterable[str], limit: int,
    named: Callable[[Iterable[int]], Mapping[int, str]] | None = None,
) -> list[Found]:  # fmt: skip
    """Blocks that have any of the words, whoever may see them: the caller checks each before it is served.

    Most folders are one person's, and most of what they have is current: taking a few more than wanted is many times
    faster than checking every match. `named` gives the ids of rows where the caller knows them.
    """
    match = _any_of(words)
    if not match:
        return []
    ranks = dict(index.db.execute(sql.TEXT_HITS, (match, min(limit, NOW))).fetchall())
    names = named(ranks) if named else {
        row[0]: row[1] for row in index.db.execute(sql.FREE_ROWS, (orjson.dumps(list(ranks)).decode(),))
    }  # fmt: skip
    found = [Found(names[row], -rank) for row, rank in ranks.items()]
    found.sort(key=lambda each: (-each.rank, each.block))
    return found


def search_letters(
    index: IndexFile, question: str, scope: Scope, limit: int, rows: tuple[int, int] = EVERY_ROW
) -> list[Found]:  # fmt: skip
    """`search` for scripts that put no space between words."""
    letters = runs(question, MOST_WORDS)
    found = _run(index, sql.LETTER_HITS_VISIBLE, letters, scope, limit, rows)
    if scope.is_main():
        return found
    return in_turn(found, _run(index, sql.ASIDE_LETTER_HITS_VISIBLE, letters, scope, limit, rows))


def _run(
    index: IndexFile, statement: str, words: Iterable[str], scope: Scope, limit: int, rows: tuple[int, int]
) -> list[Found]:  # fmt: skip
    match, (first, last) = _any_of(words), rows
    if not match or scope.is_nobodys():
        return []
    values = {"words": match, "limit": min(limit, NOW), "first": first, "last": last, **scope.values()}
    return [Found(block, -rank) for block, rank in index.db.execute(statement, values)]


def count_of(index: IndexFile, user: str, at: int = NOW) -> int:
    """The number of blocks of the main line that this user had by event `at`; in a large folder, of everyone."""
    total = _everyones(index)
    return _number(index, sql.COUNT_OF, user, _place(at)) if _is_counted(total, user) else total


def _number(index: IndexFile, statement: str, *values: object) -> int:
    return int(index.db.execute(statement, values).fetchone()[0] or 0)


def _everyones(index: IndexFile) -> int:
    return _number(index, sql.LAST_ROW) - count_aside(index)


def count_aside(index: IndexFile) -> int:
    """The number of blocks off the main line, of everyone."""
    return _number(index, sql.ASIDE_COUNT)


def count_on(index: IndexFile, scope: Scope) -> int:
    """The number of blocks off the main line on the paths of a reader."""
    return 0 if scope.is_main() else _number(index, sql.ASIDE_COUNT_OF, scope.user, _place(scope.at), scope.paths)


def kept_out(index: IndexFile, user: str) -> frozenset[int]:
    """The rows of what is quarantined. However much that is, it must not make the words of others common."""
    return frozenset(row for (row,) in index.db.execute(sql.QUARANTINED_ROWS, (user,)))


def rarity(
    index: IndexFile, words: list[str], user: str, total: int | None = None, at: int = NOW,
    out: frozenset[int] = frozenset(), *, on: Scope | None = None,
) -> list[float]:  # fmt: skip
    """The rarity of each word, in any of its endings; a word that nobody used counts as used once.

    It is that among the `total` contents that `count_of` counts: this user's by event `at`, or in a large folder all;
    without the rows in `out`. Whoever is alone in a folder has them all, and full text knows how many have a word. `on`
    is a reader who sees other paths too: their contents count as well, those of any other path do not.
    """
    total = count_of(index, user, at) if total is None else total
    if total == _everyones(index):
        counts = _known(index, words, user, total)
    else:
        counts = [_counted(index, word, user, at) for word in words]
    if out:
        counts = [count - _kept_out_with(index, word, out, count) for word, count in zip(words, counts, strict=True)]
        total = max(total - len(out), 1)
    if on is not None and (more := count_on(index, on)):
        total += more
        on_paths = on.user, _place(on.at), on.paths
        counts = [
            count + _number(index, sql.ASIDE_COUNT_WITH, _quoted(word), *on_paths)
            for count, word in zip(counts, words, strict=True)
        ]
    return [math.log(1 + max(total - count + 0.5, 0.5) / (count + 0.5)) for count in (max(each, 1) for each in counts)]


def said_with(index: IndexFile, name: str, scope: Scope, limit: int) -> list[str]:
    """The newest contents of the main line with these words in a row."""
    words = " ".join(WORD.findall(name))
    if not words or scope.is_nobodys():
        return []
    values = {"words": _quoted(words), "limit": limit, **scope.values()}
    return [text for (text,) in index.db.execute(sql.SAID_WITH, values)]


def _is_counted(total: int, user: str) -> bool:
    return total <= _COUNTED and is_encodable(user)


def _known(index: IndexFile, words: list[str], user: str, total: int) -> list[int]:
    """The number of contents that have each word. In a large folder, a word of several terms goes by the first."""
    terms = [_terms(word) for word in words]
    wanted = orjson.dumps([term for each in terms for term in each[:1]]).decode()
    known: dict[str, int] = dict(index.db.execute(sql.COUNTS, (wanted,)).fetchall())
    counts = [known.get(each[0], 0) if each else 0 for each in terms]
    if _is_counted(total, user):
        for place, each in enumerate(terms):
            if len(each) > 1:
                counts[place] = _counted(index, words[place], user, NOW)
    return counts


def _counted(index: IndexFile, word: str, user: str, at: int) -> int:
    return _number(index, sql.COUNT_WITH, _quoted(word), user, _place(at))


def _kept_out_with(index: IndexFile, word: str, out: frozenset[int], count: int) -> int:
    """The number of rows in `out` that have a word; 0 where they are too few to matter."""
    if len(out) * _FEW < count:
        return 0
    rows = index.db.execute(sql.ROWS_WITH, (_quoted(word), min(out), max(out)))
    return sum(row in out for (row,) in rows)


def _place(at: int) -> int:
    """An event's number as SQLite can hold it."""
    return max(min(at, NOW), -1)


_ONE_WORD = threading.Lock()  # all threads share the tokenizer


@cache
def _tokenizer() -> sqlite3.Connection:
    """An empty table with the tokenizer of full text."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.execute("CREATE VIRTUAL TABLE word USING fts5(said, content='', tokenize='porter unicode61')")
    db.execute("CREATE VIRTUAL TABLE term USING fts5vocab(word, row)")
    return db


@lru_cache(maxsize=1 << 16)
def _terms(word: str) -> tuple[str, ...]:
    """The terms of a word by SQLite's own rules, in the order of the alphabet, each as often as it occurs."""
    db = _tokenizer()
    with _ONE_WORD:
        db.execute("INSERT INTO word (rowid, said) VALUES (1, ?)", (word,))
        try:
            rows = db.execute("SELECT term, cnt FROM term").fetchall()
        finally:
            db.execute("INSERT INTO word (word) VALUES ('delete-all')")
    return tuple(str(term) for term, count in rows for _ in range(count))


def sources_of(index: IndexFile, blocks: list[str], scope: Scope) -> dict[str, list[Source]]:
    """The sources of each of `blocks` that `scope` may see, newest first. A block without any is left out."""
    found: dict[str, list[Source]] = {}
    if blocks and not scope.is_nobodys():
        for row in index.db.execute(sql.VISIBLE_SOURCES, {"ids": orjson.dumps(blocks).decode(), **scope.values()}):
            source = Source(*row)
            if index.times.doubted:
                source.happened, source.at = _believed(index.times, source)
            found.setdefault(source.block_id or "", []).append(source)
    return found


def source_rows(index: IndexFile, blocks: list[str], scope: Scope) -> dict[str, list[SourceRow]]:
    """The same sources, with the columns of `SourceRow`."""
    found: dict[str, list[SourceRow]] = {}
    if blocks and not scope.is_nobodys():
        rows = index.db.execute(sql.SOURCE_ROWS, {"ids": orjson.dumps(blocks).decode(), **scope.values()})
        for each in map(SourceRow._make, rows):
            if index.times.doubted:
                happened, at = _believed(index.times, each)
                each = each._replace(happened=happened, at=at)
            found.setdefault(each.block_id, []).append(each)
    for said in found.values():
        said.sort(key=_since, reverse=True)
    return found


def _believed(times: Times, source: Source | SourceRow) -> tuple[str | None, str]:
    """The times at which something happened and was recorded, corrected where the clock was wrong."""
    seq, happened = source.since_seq, source.happened
    return happened and times.happened(seq, happened), times.at(seq, source.at)


_since = attrgetter("since_seq")


def _quoted(word: str) -> str:
    return f'"{word}"'


def _any_of(words: Iterable[str]) -> str:
    return " OR ".join(map(_quoted, words))

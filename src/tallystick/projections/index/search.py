"""Searching the contents of blocks by words, in what one reader may see.

Whatever a question holds (quotes, operators, column names, nothing at all), it is taken apart into words, and each word
is quoted: no question raises, and none reaches anything but the contents.

This is the whole interface to full text; whoever replaces SQLite's by another replaces this module.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
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

NOW = (1 << 62) - 1  # later than any event
EVERY_ROW = (0, NOW)
MOST_WORDS = 64
_FEW = 10  # times as many others, beside which what is kept out changes nothing
_COUNTED = 20_000  # blocks in a folder up to which words are counted by user

_MAIN, MAIN = ("",), '[""]'


class Scope(NamedTuple):
    """Who asks, from where, and for which moment. `session` and `agent` narrow; None is any."""

    user: str
    at: int = NOW  # what was held after that event
    path: str = ""
    session: str | None = None
    agent: str | None = None
    quarantined: bool = False  # whether what waits for a person's yes is shown too
    now: str = ""  # the time by which what has expired is hidden
    as_of: str | None = None  # what was true in the world then; None: whatever is held
    lineage: tuple[str, ...] = ()  # paths whose beliefs are seen, the nearest first; empty: `path` and the main line
    heard: tuple[str, ...] = ()  # those whose episodes are; empty: the same

    def on(self, paths: Paths) -> Scope:
        """The same, seeing what these paths show from `path` at that moment."""
        at = None if self.at >= NOW else self.at
        heard = paths.heard(self.user, self.path, at)
        if not self.path and heard == _MAIN:
            return self
        lineage = paths.lineage(self.user, self.path, at)
        return self._replace(path=lineage[0], lineage=lineage, heard=heard)

    def is_main(self) -> bool:
        """Whether only the main line is seen, which is quick."""
        return not self.path and not self.lineage

    def values(self) -> dict[str, object]:
        usual: dict[str, object] = {"at": _place(self.at), "quarantined": int(self.quarantined), "paths": self.paths}
        if self.is_main():
            return {**self._asdict(), **usual, "lineage": None, "heard": None}
        lineage, heard = map(orjson.dumps, self._both())
        return {**self._asdict(), **usual, "lineage": lineage.decode(), "heard": heard.decode()}

    @property
    def paths(self) -> str:
        """Every path of which something is seen, as a JSON array."""
        if self.is_main():
            return MAIN
        lineage, heard = self._both()
        return orjson.dumps(list(dict.fromkeys([*lineage, *heard]))).decode()

    def _both(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (self.lineage, self.heard) if self.lineage else ((self.path, ""), (self.path, ""))

    def is_nobodys(self) -> bool:
        """Whether a name is one that nothing can be recorded under, because it cannot be written down."""
        names = (self.user, self.path, self.session or "", self.agent or "", self.as_of or "", *self.lineage)
        return not "".join(names).isascii() and any("\ud800" <= each <= "\udfff" for each in "".join(names))

    def is_wide(self) -> bool:
        """Whether nearly all that the user has is in it."""
        return self.at >= NOW and self.session is None and self.agent is None and self.as_of is None


class Found(NamedTuple):
    """A block that matches, the best first."""

    block: str
    rank: float  # of bm25, turned round: the more, the better


class SourceRow(NamedTuple):
    """A source, as far as it matters for how well it answers. What else it holds is read of what is served."""

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
    index: IndexFile, words: Iterable[str], scope: Scope, limit: int, rows: tuple[int, int] = EVERY_ROW
) -> list[Found]:  # fmt: skip
    """Blocks that hold any of the words, and that a source says which `scope` may see.

    Whoever knows that what is wanted lies between two rows says so: full text passes over the others. On a path, as
    many again of what was said beside the main line.
    """
    match = " OR ".join(map(_quoted, words))
    if not match or scope.is_nobodys():
        return []
    return _both(index, (sql.TEXT_HITS_SHOWN, sql.ASIDE_HITS_SHOWN), match, scope, limit, rows)


def search_aside(index: IndexFile, words: Iterable[str], scope: Scope, limit: int) -> list[Found]:
    """Blocks that stand beside the main line, hold any of the words, and are said where `scope` sees it."""
    match = " OR ".join(map(_quoted, words))
    if not match or scope.is_main() or scope.is_nobodys():
        return []
    return _run(index, sql.ASIDE_HITS_SHOWN, match, scope, limit, EVERY_ROW)


def _both(
    index: IndexFile, statements: tuple[str, str], match: str, scope: Scope, limit: int, rows: tuple[int, int]
) -> list[Found]:  # fmt: skip
    """What the main line has, and on a path as much again of what stands beside it."""
    found = _run(index, statements[0], match, scope, limit, rows)
    return found if scope.is_main() else in_turn(found, _run(index, statements[1], match, scope, limit, rows))


def in_turn(found: list[Found], aside: list[Found]) -> list[Found]:
    """One from here, one from there: how rare a word is differs, so their ranks cannot be compared."""
    return [each for pair in zip_longest(aside, found) for each in pair if each is not None]


def search_all(
    index: IndexFile, words: Iterable[str], limit: int,
    named: Callable[[Iterable[int]], Mapping[int, str]] | None = None,
) -> list[Found]:  # fmt: skip
    """Blocks that hold any of the words, whoever may see them: the caller looks who says each, and shows no other.

    Most folders are one person's, and most of what they hold is held: taking a few more than wanted is many times
    faster than asking of every match whether it may be seen. Whoever knows the ids of some rows tells them by `named`.
    """
    match = " OR ".join(map(_quoted, words))
    if not match:
        return []
    ranks = dict(index.db.execute(sql.TEXT_HITS, (match, min(limit, NOW))).fetchall())
    names = named(ranks) if named else _names_of(index, ranks)
    found = [Found(names[row], -rank) for row, rank in ranks.items()]
    found.sort(key=lambda each: (-each.rank, each.block))
    return found


def _names_of(index: IndexFile, rows: Iterable[int]) -> dict[int, str]:
    return {row[0]: row[1] for row in index.db.execute(sql.FREE_ROWS, (orjson.dumps(list(rows)).decode(),))}


def search_letters(
    index: IndexFile, question: str, scope: Scope, limit: int, rows: tuple[int, int] = EVERY_ROW
) -> list[Found]:  # fmt: skip
    """The same for scripts that put no space between words."""
    match = " OR ".join(map(_quoted, runs(question, MOST_WORDS)))
    if not match or scope.is_nobodys():
        return []
    return _both(index, (sql.LETTER_HITS_SHOWN, sql.ASIDE_LETTER_HITS_SHOWN), match, scope, limit, rows)


def _run(
    index: IndexFile, statement: str, match: str, scope: Scope, limit: int, rows: tuple[int, int]
) -> list[Found]:  # fmt: skip
    first, last = rows
    values = {"words": match, "limit": min(limit, NOW), "first": first, "last": last, **scope.values()}
    return [Found(block, -rank) for block, rank in index.db.execute(statement, values)]


def count_of(index: IndexFile, user: str, at: int = NOW) -> int:
    """How many blocks this user had by event `at`, where counting is quick; in a large folder, how many there are.

    Those of the main line: what is said on other paths does not count.
    """
    total = _everyones(index)
    if not _is_counted(total, user):
        return total
    mine: int = index.db.execute(sql.COUNT_OF, (user, _place(at))).fetchone()[0]
    return mine


def _everyones(index: IndexFile) -> int:
    total: int = index.db.execute(sql.LAST_ROW).fetchone()[0] or 0
    return total - count_aside(index)


def count_aside(index: IndexFile) -> int:
    """How many blocks stand beside the main line, whosever."""
    count: int = index.db.execute(sql.ASIDE_COUNT).fetchone()[0]
    return count


def count_on(index: IndexFile, scope: Scope) -> int:
    """How many blocks stand on the paths of a reader beside the main line."""
    if scope.is_main():
        return 0
    count: int = index.db.execute(sql.ASIDE_COUNT_OF, (scope.user, _place(scope.at), scope.paths)).fetchone()[0]
    return count


def kept_out(index: IndexFile, user: str) -> frozenset[int]:
    """The rows of what is kept out of recall. However much that is, it must not make the words of others common."""
    return frozenset(row for (row,) in index.db.execute(sql.KEPT_OUT, (user,)))


def rarity(
    index: IndexFile, words: list[str], user: str, total: int | None = None, at: int = NOW,
    out: frozenset[int] = frozenset(), *, on: Scope | None = None,
) -> list[float]:  # fmt: skip
    """How rare each word is, in any of its endings; a word that nobody used counts as used once.

    Among the `total` contents that `count_of` counts: this user's by event `at`, or in a large folder all; without the
    rows in `out`. Whoever is alone in a folder has them all, and how many hold a word is known to full text. `on` is a
    reader who sees other paths too: what stands there is counted with it, and what stands on any other makes no word
    less rare.
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
        counts = [count + _counted_on(index, word, on) for count, word in zip(counts, words, strict=True)]
    return [math.log(1 + max(total - count + 0.5, 0.5) / (count + 0.5)) for count in (max(each, 1) for each in counts)]


def _is_counted(total: int, user: str) -> bool:
    return total <= _COUNTED and not any("\ud800" <= letter <= "\udfff" for letter in user)


def _known(index: IndexFile, words: list[str], user: str, total: int) -> list[int]:
    """In how many contents each word stands. In a large folder, a word that is several goes by the first of them."""
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
    count: int = index.db.execute(sql.COUNT_WITH, (_quoted(word), user, _place(at))).fetchone()[0]
    return count


def _counted_on(index: IndexFile, word: str, scope: Scope) -> int:
    asked = _quoted(word), scope.user, _place(scope.at), scope.paths
    count: int = index.db.execute(sql.ASIDE_COUNT_WITH, asked).fetchone()[0]
    return count


def _kept_out_with(index: IndexFile, word: str, out: frozenset[int], count: int) -> int:
    """How many of the rows in `out` hold a word. Where they are too few to matter, nobody counts them."""
    if len(out) * _FEW < count:
        return 0
    rows = index.db.execute(sql.ROWS_WITH, (_quoted(word), min(out), max(out)))
    return sum(row in out for (row,) in rows)


def _place(at: int) -> int:
    """An event's number as SQLite can hold it."""
    return max(min(at, NOW), -1)


@lru_cache(maxsize=1 << 16)
def _terms(word: str) -> tuple[str, ...]:
    """A word as full text holds it: SQLite is asked, so that nobody has to know its rules."""
    return _Tokenizer.one().terms(word)


class _Tokenizer:
    """An empty table with the same tokenizer, which is shown one word at a time."""

    _only: _Tokenizer | None = None

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute("CREATE VIRTUAL TABLE word USING fts5(said, content='', tokenize='porter unicode61')")
        self._db.execute("CREATE VIRTUAL TABLE heard USING fts5vocab(word, row)")

    @classmethod
    def one(cls) -> _Tokenizer:
        if cls._only is None:
            cls._only = cls()
        return cls._only

    def terms(self, word: str) -> tuple[str, ...]:
        """In the order of the alphabet, each as often as it is there."""
        self._db.execute("INSERT INTO word (rowid, said) VALUES (1, ?)", (word,))
        try:
            rows = self._db.execute("SELECT term, cnt FROM heard").fetchall()
        finally:
            self._db.execute("INSERT INTO word (word) VALUES ('delete-all')")
        return tuple(str(term) for term, count in rows for _ in range(count))


def shown(index: IndexFile, blocks: list[str], scope: Scope) -> dict[str, list[Source]]:
    """Who says each of `blocks`, as far as `scope` may see: the newest first. A block that nobody says is left out."""
    found: dict[str, list[Source]] = {}
    if blocks and not scope.is_nobodys():
        for row in index.db.execute(sql.SHOWN, {"ids": orjson.dumps(blocks).decode(), **scope.values()}):
            source = Source(*row)
            if index.times.doubted:
                source.happened, source.at = _believed(index.times, source)
            found.setdefault(source.block_id or "", []).append(source)
    return found


def told(index: IndexFile, blocks: list[str], scope: Scope) -> dict[str, list[SourceRow]]:
    """The same, in short."""
    found: dict[str, list[SourceRow]] = {}
    if blocks and not scope.is_nobodys():
        rows = index.db.execute(sql.TOLD, {"ids": orjson.dumps(blocks).decode(), **scope.values()})
        for each in map(SourceRow._make, rows):
            if index.times.doubted:
                happened, at = _believed(index.times, each)
                each = each._replace(happened=happened, at=at)
            found.setdefault(each.block_id, []).append(each)
    for said in found.values():
        if len(said) > 1:
            said.sort(key=_since, reverse=True)
    return found


def _believed(times: Times, source: Source | SourceRow) -> tuple[str | None, str]:
    """When something happened and was recorded, where the clock that said so was not wrong; else about when."""
    seq, happened = source.since_seq, source.happened
    return happened and times.happened(seq, happened), times.at(seq, source.at)


_since = attrgetter("since_seq")


def _quoted(word: str) -> str:
    return f'"{word}"'

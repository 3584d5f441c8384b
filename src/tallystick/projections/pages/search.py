"""Searching what stands on pages, in what one user may see.

All words that were typed are looked for first. If too few entries have them all, those that have any follow; if none
has, the last word may be the beginning of one. What was replaced, taken back or folded into another entry is found
only on request, and then tells what holds now.

Full text is asked by rank alone, and each entry it names is looked up only then, until there are enough: asking of
every match whether it may be seen would cost more than the search.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, tzinfo
from fnmatch import translate
from typing import Any, NamedTuple

import orjson

from tallystick.projections.pages.typed_query import Query, Term, every, letters_of, parse, some, words_in
from tallystick.records.clock import stamp
from tallystick.records.errors import Refused

__all__ = ["Match", "index_all", "index_entry", "letters_of", "recent", "search", "span_of", "unindex_entry"]

ENOUGH = 3  # entries that have all the words: then nothing less is shown
_MOST = (1 << 31) - 1
_MOST_DATES = 4
_EARLIEST, _LATEST = "", "~"  # before and after any time

_INDEX = """INSERT INTO entries_fts (rowid, content, tags, letters)
    SELECT n, content, tags, letters FROM entries WHERE n = ?"""
_UNINDEX = """INSERT INTO entries_fts (entries_fts, rowid, content, tags, letters)
    SELECT 'delete', n, content, tags, letters FROM entries WHERE n = ?"""

_ROW = "e.id, e.path, e.timestamp, e.tags, e.content, e.superseded_by, e.retracted, e.folded_into"
_SEEN = """e.timestamp >= :since AND e.timestamp < :until
    AND (:all OR e.superseded = 0 AND e.retracted = 0 AND e.folded_into = '') AND p.user = :user"""
_ON = " AND e.path IN (SELECT value FROM json_each(:paths))"
# by `rank` alone, which full text sorts by without being asked for each; to read it would be to count it again
_BY_WORDS = f"""SELECT {_ROW} FROM entries_fts AS f
    CROSS JOIN entries AS e ON e.n = f.rowid CROSS JOIN files AS p ON p.path = e.path
    WHERE f.entries_fts MATCH :match AND {_SEEN} {{}} ORDER BY f.rank LIMIT :limit"""
_BY_TIME = f"""SELECT {_ROW} FROM entries AS e CROSS JOIN files AS p ON p.path = e.path
    WHERE {_SEEN} {{}} ORDER BY e.timestamp DESC, e.n DESC LIMIT :limit"""
_BY_ID = f"""SELECT {_ROW} FROM entries AS e CROSS JOIN files AS p ON p.path = e.path
    WHERE e.id = coalesce((SELECT entry FROM versions WHERE id = :id), :id) AND {_SEEN} {{}} LIMIT :limit"""
_EVERYWHERE, _ON_SOME = ({way: way.format(on) for way in (_BY_WORDS, _BY_TIME, _BY_ID)} for on in ("", _ON))
_NEXT = """SELECT e.id, CASE WHEN e.superseded_by != '' THEN e.superseded_by ELSE e.folded_into END
    FROM entries AS e CROSS JOIN files AS p ON p.path = e.path
    WHERE e.id = coalesce((SELECT entry FROM versions WHERE id = :id), :id) AND p.user = :user"""
_IS_PAGE = "SELECT 1 FROM files WHERE path = ? AND user = ?"


class Match(NamedTuple):
    """An entry that was found."""

    id: str
    path: str
    timestamp: str
    tags: tuple[str, ...]
    content: str
    superseded_by: str
    retracted: bool
    folded_into: str
    has_all: bool  # all that was typed; else some of it
    chain: tuple[str, ...]  # from this entry to the one that holds now: just this one, if nothing replaced it


def index_entry(db: sqlite3.Connection, n: int) -> None:
    """Take a row of `entries` into full text. Once only: who changes its words or tags takes it out first."""
    db.execute(_INDEX, (n,))


def unindex_entry(db: sqlite3.Connection, n: int) -> None:
    """Take a row out, while it still has the words and tags it was indexed with."""
    db.execute(_UNINDEX, (n,))


def index_all(db: sqlite3.Connection) -> None:
    """Full text of all `entries` as they are now, whatever it held before."""
    db.execute("INSERT INTO entries_fts (entries_fts) VALUES ('rebuild')")


def search(
    db: sqlite3.Connection, query: str, *, user: str, paths: Iterable[str] | None = None,
    since: str | date | None = None, until: str | date | None = None, tags: Iterable[str] = (), top_k: int = 10,
    include_superseded: bool = False, zone: tzinfo = UTC,
) -> list[Match]:  # fmt: skip
    """The entries on pages of `user` that answer best what was typed, the best first.

    Words, "phrases in quotes", beginnings (`depl*`), `#tags`, days and months (`2026-04-21`, `2026-04`: said in the
    text, or the time of an entry) and ids, also by their last six digits. No text is wrong; an empty one finds nothing.

    `paths` are file names of pages, with or without `.md`, beginnings (`person-`) or patterns (`project-*`). `since`
    and `until` both belong to the time that is asked for: `until="2026-04-21"` has all of that day. What names no zone
    is read in `zone`. Of `tags` an entry must have one.
    """
    asked, values = parse(query), _values(user, since, until, zone, is_all=include_superseded)
    if not asked.terms or top_k < 1 or not _can_be_held(user):
        return []
    if paths is not None:
        values["paths"] = orjson.dumps(_pages(db, user, paths)).decode()
    hunt = _Hunt(db, values, min(top_k, _MOST), {tag.removeprefix("#").casefold() for tag in tags})
    hunt.run(asked, zone)
    return hunt.matches()


def recent(
    db: sqlite3.Connection, *, user: str, paths: Iterable[str] | None = None, since: str | date | None = None,
    top_k: int = 20, zone: tzinfo = UTC,
) -> list[Match]:  # fmt: skip
    """The entries on pages of `user` that hold now, the newest first. `paths` and `since`: as in `search`."""
    values = _values(user, since, None, zone, is_all=False)
    if top_k < 1 or not _can_be_held(user):
        return []
    if paths is not None:
        values["paths"] = orjson.dumps(_pages(db, user, paths)).decode()
    hunt = _Hunt(db, values, min(top_k, _MOST), set())
    hunt.newest()
    return hunt.matches()


def _values(
    user: str, since: str | date | None, until: str | date | None, zone: tzinfo, *, is_all: bool
) -> dict[str, Any]:  # fmt: skip
    return {
        "user": user, "all": is_all, "since": _EARLIEST if since is None else span_of(since, zone)[0],
        "until": _LATEST if until is None else span_of(until, zone)[1],
    }  # fmt: skip


class _Hunt:
    """One search: what was found so far, the best first."""

    def __init__(self, db: sqlite3.Connection, values: dict[str, Any], wanted: int, tags: set[str]) -> None:
        self._db, self._values, self._wanted, self._tags = db, values, wanted, tags
        self._found: dict[str, tuple[Any, ...]] = {}
        self._with_all = 0
        self._ways = _ON_SOME if "paths" in values else _EVERYWHERE

    def run(self, asked: Query, zone: tzinfo) -> None:
        """Look for all that was typed, and for less as long as that finds too little."""
        for name in asked.ids:
            self._take(_BY_ID, (), {"id": name})
        self._all(asked.terms)
        for day in asked.dates[:_MOST_DATES]:
            self._at(day, [term for term in asked.terms if term.date != day], zone)
        self._with_all = len(self._found)
        if not self._found and not self._has_pages():
            return
        if not self._found and (begun := asked.begun()):
            self._all(begun)
        if len(self._found) < ENOUGH and not asked.is_strict():
            self._some(asked.terms)
        if not self._found and any(term.is_must for term in asked.terms):
            self._some([term._replace(is_must=False) for term in asked.terms])

    def newest(self) -> None:
        """Look for nothing in particular."""
        self._take(_BY_TIME, (), {})
        self._with_all = len(self._found)

    def _has_pages(self) -> bool:
        return self._db.execute("SELECT 1 FROM files WHERE user = :user LIMIT 1", self._values).fetchone() is not None

    def _all(self, terms: Sequence[Term]) -> None:
        self._take(_BY_WORDS, terms, {"match": every(terms)})

    def _some(self, terms: Sequence[Term]) -> None:
        self._take(_BY_WORDS, [term for term in terms if term.is_must], {"match": some(terms)})

    def _at(self, day: str, others: Sequence[Term], zone: tzinfo) -> None:
        """What was noted on that day and has the other words; the newest first, if there are none."""
        try:
            first, end = span_of(day, zone)
        except Refused:  # the 31st of February
            return
        span = {"since": max(first, self._values["since"]), "until": min(end, self._values["until"])}
        if others:
            self._take(_BY_WORDS, others, {"match": every(others), **span})
        else:
            self._take(_BY_TIME, (), span)

    def _take(self, way: str, terms: Sequence[Term], more: dict[str, Any]) -> None:
        """Add what one statement finds, as far as it is what was meant, until there is enough."""
        missing = self._wanted - len(self._found)
        if missing < 1:
            return
        checked = [term for term in terms if term.prefix or term.tag]
        is_sure = not checked and not self._tags
        values = {**self._values, **more, "limit": self._wanted if is_sure else -1}
        with closing(self._db.execute(self._ways[way], values)) as rows:
            for row in rows:
                if row[0] not in self._found and (is_sure or self._is_meant(row, checked)):
                    self._found[row[0]] = row
                    missing -= 1
                    if not missing:
                        return

    def _is_meant(self, row: tuple[Any, ...], terms: Iterable[Term]) -> bool:
        tags = {tag.casefold() for tag in orjson.loads(row[3])}
        if self._tags and self._tags.isdisjoint(tags):
            return False
        return all(_says(row[4], tags, term) for term in terms)

    def matches(self) -> list[Match]:
        chains = _Chains(self._db, self._values["user"])
        return [
            Match(
                name, path, at, tuple(orjson.loads(tags)), content, by, retracted == 1, into, place < self._with_all,
                chains.of(name, by or into) if by or into else (name,),
            )
            for place, (name, path, at, tags, content, by, retracted, into) in enumerate(self._found.values())
        ]  # fmt: skip


def _says(content: str, tags: set[str], term: Term) -> bool:
    """Whether an entry has the tag of a term, or a word that begins as it does."""
    if term.tag:
        return term.tag in tags or f"#{term.tag}" in content.casefold()
    return any(word.startswith(term.prefix) for text in (content, *tags) for word in words_in(text))


class _Chains:
    """What took the place of what, looked up once."""

    def __init__(self, db: sqlite3.Connection, user: str) -> None:
        self._db, self._user = db, user
        self._next: dict[str, tuple[str, str] | None] = {}

    def of(self, name: str, after: str) -> tuple[str, ...]:
        """The ids from one entry to what holds now. It ends where it would begin again."""
        chain = {name: None}
        while after and (step := self._step(after)) and step[0] not in chain:
            name, after = step
            chain[name] = None
        return tuple(chain)

    def _step(self, name: str) -> tuple[str, str] | None:
        if name not in self._next:
            self._next[name] = self._db.execute(_NEXT, {"id": name, "user": self._user}).fetchone()
        return self._next[name]


def _pages(db: sqlite3.Connection, user: str, names: Iterable[str]) -> list[str]:
    """The paths of the user's pages that are named, by name, beginning or pattern."""
    found, patterns = list[str](), list[re.Pattern[str]]()
    for name in [names] if isinstance(names, str) else names:
        pattern = _pattern(name.lower())
        if _can_be_held(pattern) and db.execute(_IS_PAGE, (pattern, user)).fetchone():
            found.append(pattern)
        else:
            patterns.append(re.compile(translate(pattern)))
    if patterns:
        files = [row[0] for row in db.execute("SELECT path FROM files WHERE user = ?", (user,))]
        ends = [(path, path.rpartition("/")[2]) for path in files]
        found += [path for path, end in ends if any(each.match(path) or each.match(end) for each in patterns)]
    return found


def _pattern(name: str) -> str:
    return name + "*" if name.endswith("-") else name if name.endswith((".md", "*")) else name + ".md"


def _can_be_held(name: str) -> bool:
    """Whether a name can be written down at all: half a surrogate pair cannot, so nothing is anybody's of that name."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


_MONTH = re.compile(r"(\d{4})-(\d\d)\Z", re.ASCII)
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?![:\d])", re.ASCII)


def span_of(said: str | date, zone: tzinfo = UTC) -> tuple[str, str]:
    """The first moment of a month, day, minute or second, and the first after it, as the ledger writes them."""
    try:
        first, end = _span(said)
        return stamp(_in(first, zone)), stamp(_in(end, zone))
    except (ValueError, OverflowError):
        shown = ascii(str(said)[:40])
        raise Refused(
            f"not a time: {shown}; write it like 2026-05, 2026-05-03 or 2026-05-03T14:00:00Z", "time"
        ) from None


def _in(moment: datetime, zone: tzinfo) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _span(said: str | date) -> tuple[datetime, datetime]:
    if isinstance(said, datetime):
        return said, said + (timedelta(microseconds=1) if said.microsecond else timedelta(seconds=1))
    if isinstance(said, date):
        first = datetime(said.year, said.month, said.day)
        return first, first + timedelta(days=1)
    if month := _MONTH.match(said):
        first = datetime(int(month[1]), int(month[2]), 1)
        return first, (first + timedelta(days=31)).replace(day=1)
    if len(said) == len("2026-05-03"):
        return _span(date.fromisoformat(said))
    first = datetime.fromisoformat(said)
    return (first, first + timedelta(minutes=1)) if _MINUTE.match(said) else _span(first)

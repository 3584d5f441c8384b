"""Full-text search of the pages of one user.

All words that were typed are looked for first. If too few entries have them all, those that have any follow; if none
has, the last word may be the beginning of one. What was superseded, retracted or compacted is found only on request,
and then names what is current.

SQLite splits a text at whatever is not a letter to it, and drops most accents. That leaves out scripts that put no
space between words, letters glued to them (iPhoneを), vowel signs, wide letters and ligatures, emoji, and "email" where
a text says e-mail. Texts with such words get them a second time, plainly spelled: their `letters`, which are searched
along with the text. A question is spelled by the same rules, so that whatever a text says finds it. Nothing in a
question is an order to SQLite: it is taken apart into letters and digits, and each word is quoted.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, tzinfo
from fnmatch import translate
from itertools import pairwise
from typing import Any, NamedTuple

import orjson

from tallystick.projections.index.segmentation import has_no_spaces
from tallystick.projections.markdown.names import is_tag
from tallystick.records.clock import stamp
from tallystick.records.errors import Refused
from tallystick.text.words import is_encodable

ENOUGH = 3  # entries that have all the words: then no others are
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
# by `rank` alone, which full text sorts by without being asked for each; to read it would be to count it again. Each
# entry is checked only then, until there are enough: checking every match would cost more than the search
_BY_WORDS = f"""SELECT {_ROW} FROM entries_fts AS f
    CROSS JOIN entries AS e ON e.n = f.rowid CROSS JOIN files AS p ON p.path = e.path
    WHERE f.entries_fts MATCH :match AND {_SEEN} {{}} ORDER BY f.rank LIMIT :limit"""
_BY_TIME = f"""SELECT {_ROW} FROM entries AS e CROSS JOIN files AS p ON p.path = e.path
    WHERE {_SEEN} {{}} ORDER BY e.timestamp DESC, e.n DESC LIMIT :limit"""
_BY_ID = f"""SELECT {_ROW} FROM entries AS e CROSS JOIN files AS p ON p.path = e.path
    WHERE e.id = coalesce((SELECT entry FROM page_versions WHERE id = :id), :id) AND {_SEEN} {{}} LIMIT :limit"""
_EVERYWHERE, _ON_SOME = ({way: way.format(on) for way in (_BY_WORDS, _BY_TIME, _BY_ID)} for on in ("", _ON))
_NEXT = """SELECT e.id, CASE WHEN e.superseded_by != '' THEN e.superseded_by ELSE e.folded_into END
    FROM entries AS e CROSS JOIN files AS p ON p.path = e.path
    WHERE e.id = coalesce((SELECT entry FROM page_versions WHERE id = :id), :id) AND p.user = :user"""
_HAS_PAGES = "SELECT 1 FROM files WHERE user = :user LIMIT 1"
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
    chain: tuple[str, ...]  # from this entry to the current one: just this one, if nothing replaced it


def index_entry(db: sqlite3.Connection, n: int) -> None:
    """Add a row of `entries` to full text. Once only: remove it before its words or tags change."""
    db.execute(_INDEX, (n,))


def unindex_entry(db: sqlite3.Connection, n: int) -> None:
    """Remove a row, while it still has the words and tags it was indexed with."""
    db.execute(_UNINDEX, (n,))


def search(
    db: sqlite3.Connection, query: str, *, user: str, paths: Iterable[str] | None = None,
    since: str | date | None = None, until: str | date | None = None, tags: Iterable[str] = (), top_k: int = 10,
    include_superseded: bool = False, zone: tzinfo = UTC,
) -> list[Match]:  # fmt: skip
    """The entries on pages of `user` that match best what was typed, best first.

    Words, "phrases in quotes", beginnings (`depl*`), `#tags`, days and months (`2026-04-21`, `2026-04`: said in the
    text, or the time of an entry) and ids, also by their last six digits. Any text is valid; an empty one finds none.

    `paths` are file names of pages, with or without `.md`, beginnings (`person-`) or patterns (`project-*`). `since`
    and `until` are both inclusive: `until="2026-04-21"` has all of that day. A time without a zone is read in `zone`.
    Of `tags` an entry must have one.
    """
    asked = parse(query)
    hunt = _Hunt(db, user, paths, _span_values(since, until, zone), min(top_k, _MOST), tags, is_all=include_superseded)
    if asked.terms and hunt.may_find:
        hunt.run(asked, zone)
    return hunt.matches()


def recent(
    db: sqlite3.Connection, *, user: str, paths: Iterable[str] | None = None, since: str | date | None = None,
    top_k: int = 20, zone: tzinfo = UTC,
) -> list[Match]:  # fmt: skip
    """The current entries on pages of `user`, newest first. `paths` and `since`: as in `search`."""
    hunt = _Hunt(db, user, paths, _span_values(since, None, zone), min(top_k, _MOST), ())
    if hunt.may_find:
        hunt.newest()
    return hunt.matches()


def _span_values(since: str | date | None, until: str | date | None, zone: tzinfo) -> dict[str, Any]:
    return {
        "since": _EARLIEST if since is None else span_of(since, zone)[0],
        "until": _LATEST if until is None else span_of(until, zone)[1],
    }


class _Hunt:
    """One search: what was found so far, best first."""

    def __init__(
        self, db: sqlite3.Connection, user: str, paths: Iterable[str] | None, span: dict[str, Any], wanted: int,
        tags: Iterable[str], *, is_all: bool = False,
    ) -> None:  # fmt: skip
        self._db, self._wanted, self._values = db, wanted, {"user": user, "all": is_all, **span}
        self._tags = {tag.removeprefix("#").casefold() for tag in tags}
        self._found: dict[str, tuple[Any, ...]] = {}
        self._with_all = 0
        self._next: dict[str, tuple[str, str] | None] = {}  # the replacement of each entry
        self._ways = _EVERYWHERE if paths is None else _ON_SOME
        self.may_find = wanted >= 1 and is_encodable(user)
        if paths is not None and self.may_find:
            self._values["paths"] = orjson.dumps(_pages(db, user, paths)).decode()

    def run(self, asked: Query, zone: tzinfo) -> None:
        """Look for all that was typed, and for less as long as that finds too little."""
        for name in asked.ids:
            self._take(_BY_ID, (), {"id": name})
        self._all(asked.terms)
        days = dict.fromkeys(term.date for term in asked.terms if term.date)
        for day in list(days)[:_MOST_DATES]:
            self._at(day, [term for term in asked.terms if term.date != day], zone)
        self._with_all = len(self._found)
        if not self._found and not self._db.execute(_HAS_PAGES, self._values).fetchone():
            return
        if not self._found and (begun := asked.begun()):
            self._all(begun)
        is_must = [term.is_must for term in asked.terms]
        is_one = len(asked.terms) == len(asked.terms[0].loose) == 1  # then there is nothing less to look for
        if len(self._found) < ENOUGH and not (all(is_must) or is_one):
            self._some(asked.terms)
        if not self._found and any(is_must):
            self._some([term._replace(is_must=False) for term in asked.terms])

    def newest(self) -> None:
        """Look for nothing in particular."""
        self._take(_BY_TIME, (), {})
        self._with_all = len(self._found)

    def _all(self, terms: Sequence[Term]) -> None:
        self._take(_BY_WORDS, terms, {"match": every(terms)})

    def _some(self, terms: Sequence[Term]) -> None:
        self._take(_BY_WORDS, [term for term in terms if term.is_must], {"match": some(terms)})

    def _at(self, day: str, others: Sequence[Term], zone: tzinfo) -> None:
        """Look for what was recorded on that day and has the other words; newest first, if there are none."""
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
        """Add what one statement finds, as far as it has the tags and prefixes, until there is enough."""
        missing = self._wanted - len(self._found)
        if missing < 1:
            return
        checked = [term for term in terms if term.prefix or term.tag]
        is_sure = not checked and not self._tags
        values = {**self._values, **more, "limit": self._wanted if is_sure else -1}
        with closing(self._db.execute(self._ways[way], values)) as rows:
            for row in rows:
                if row[0] not in self._found and (is_sure or self._has(row[4], orjson.loads(row[3]), checked)):
                    self._found[row[0]] = row
                    missing -= 1
                    if not missing:
                        return

    def _has(self, content: str, listed: list[str], terms: Iterable[Term]) -> bool:
        """True if an entry has one of the tags, and of each term the tag, or a word that begins as it does."""
        tags = {tag.casefold() for tag in listed}
        if self._tags and self._tags.isdisjoint(tags):
            return False
        return all(
            term.tag in tags or f"#{term.tag}" in content.casefold() if term.tag
            else any(word.startswith(term.prefix) for text in (content, *tags) for word in words_in(text))
            for term in terms
        )  # fmt: skip

    def matches(self) -> list[Match]:
        return [
            Match(
                name, path, at, tuple(orjson.loads(tags)), content, by, retracted == 1, into, place < self._with_all,
                self._chain(name, by or into) if by or into else (name,),
            )
            for place, (name, path, at, tags, content, by, retracted, into) in enumerate(self._found.values())
        ]  # fmt: skip

    def _chain(self, name: str, after: str) -> tuple[str, ...]:
        """The ids from one entry to the current one. A ring ends where it would begin again."""
        chain = {name: None}
        while after:
            if after not in self._next:
                values = {"id": after, "user": self._values["user"]}
                self._next[after] = self._db.execute(_NEXT, values).fetchone()
            step = self._next[after]
            if step is None or step[0] in chain:
                break
            name, after = step
            chain[name] = None
        return tuple(chain)


def _pages(db: sqlite3.Connection, user: str, names: Iterable[str]) -> list[str]:
    """The paths of the user's pages with these names, beginnings or patterns."""
    found, patterns = list[str](), list[re.Pattern[str]]()
    for name in [names] if isinstance(names, str) else names:
        name = name.lower()
        pattern = name + "*" if name.endswith("-") else name if name.endswith((".md", "*")) else name + ".md"
        if is_encodable(pattern) and db.execute(_IS_PAGE, (pattern, user)).fetchone():
            found.append(pattern)
        else:
            patterns.append(re.compile(translate(pattern)))
    if patterns:
        files = [row[0] for row in db.execute("SELECT path FROM files WHERE user = ?", (user,))]
        ends = [(path, path.rpartition("/")[2]) for path in files]
        found += [path for path, end in ends if any(each.match(path) or each.match(end) for each in patterns)]
    return found


_MONTH = re.compile(r"(\d{4})-(\d\d)\Z", re.ASCII)
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?![:\d])", re.ASCII)


def span_of(said: str | date, zone: tzinfo = UTC) -> tuple[str, str]:
    """The first moment of a month, day, minute or second, and the first after it, as the ledger writes them."""
    try:
        first, end = (each if each.tzinfo else each.replace(tzinfo=zone) for each in _span(said))
        return stamp(first), stamp(end)
    except (ValueError, OverflowError):
        shown = ascii(str(said)[:40])
        raise Refused(
            f"not a time: {shown}; write it like 2026-05, 2026-05-03 or 2026-05-03T14:00:00Z", "time"
        ) from None


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


# -- spelling, and parsing a question ----------------------------------------------------------------------------------

MOST_TERMS = 64
LONGEST = 10_000  # characters of a question
_MOST_PARTS = 16  # of a word with hyphens
_LONGEST_JOINED = 40

_APART = "\ue001"  # before a letter that is a word by itself
_SIGN = "\ue000"  # a sign is written as this and its number
_NAME = "\ue002"  # the end of an entry's id is written as this and its six digits
_JOINED, _BESIDE = "-'’_‐‑", "./@:&+"  # between the parts of one word: e-mail, don't; main.py, 10:30
_LETTERS_OF_THEIR_OWN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ё": "е", "ſ": "s"}
)
# what SQLite spells as we do: a word of these alone is found as it stands
_EASY = re.compile(
    "[\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf-\xc5\xc7-\xcf\xd1-\xd7\xd9-\xdd\xe0-\xe5\xe7-\xef\xf1-\xf7"
    "\xf9-\xfd\xff-\u010f\u0112-\u0125\u0128-\u0130\u0134-\u0137\u0139-\u013e\u0143-\u0148\u014c-\u0151\u0154-\u0165"
    "\u0168-\u017e\u0391-\u03a1\u03a3-\u03a9\u03b1-\u03c1\u03c3-\u03c9\u0410-\u044f\u05d0-\u05ea\u0627-\u063a"
    "\u0641-\u064a\u2010-\u2027\u2030-\u2046\u20a0-\u20a7\u20a9-\u20b9]*\\Z"
)
_JOINS = re.compile(f"[{_JOINED}]")
_MANY_PARTS = re.compile(rf"[^\W_][{_JOINED}][^\W_]")
_UNIT = re.compile(f"(?:{_APART}.)+|[^ {_APART}.-]+(?:[.-][^ {_APART}.-]+)*", re.DOTALL)
_CHANGES = re.compile("[\u19b0-\u19c9\u1cf2\u1cf3\U0001f3fb-\U0001f3ff]")  # vowel signs, and the colours of a hand
_SLICE = 64  # letters put into normal form at once: a thousand accents on one letter take a million steps

_PHRASE = re.compile('"([^"]*)"|“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»')
_ID = re.compile(r"\d{8}-\d{4}-[0-9a-f]{6}\Z")
_ID_END = re.compile(r"[0-9a-f]{6}\Z")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d)?)?)?\Z", re.ASCII)


class _Spelling(dict[int, str]):
    """The spelling of each character: letters as they are sought, ` ` between words, `-` and `.` within one."""

    def __missing__(self, code: int) -> str:
        spelled = self[code] = _spelled(chr(code))
        return spelled


def _spelled(char: str) -> str:
    category = unicodedata.category(char)
    if char in _JOINED:
        return "-"
    if char in _BESIDE:
        return "."
    if category[0] == "M" or category == "Cf" or _CHANGES.match(char):
        return ""  # what only changes the letter before it, or shows nothing
    if category[0] == "P":
        return " "
    if has_no_spaces(char) or "\uac00" <= char <= "\ud7a3" or "\u1100" <= char <= "\u11ff":
        return _APART + char
    if category[0] in "LN":
        return _without_accents(char) or " "
    is_sign = category in ("So", "Sm", "Cn") and ("\u2190" <= char <= "\u2bff" or "\U0001f000" <= char <= "\U0001faff")
    return _APART + char if is_sign else " "


def _without_accents(char: str) -> str:
    if "\u0400" <= char <= "\u052f":  # here a letter with a breve is another letter
        return char.casefold().translate(_LETTERS_OF_THEIR_OWN)
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(each for each in letters.translate(_LETTERS_OF_THEIR_OWN) if unicodedata.category(each)[0] in "LN")


_SPELLING = _Spelling()


def units_of(text: str) -> list[str]:
    """The words of a text, plainly spelled. Parts of one are kept together, and so are letters without spaces."""
    if text.isascii() and text.isalnum():
        return [text.lower()]
    if not unicodedata.is_normalized("NFKC", text):
        slices = (text[start : start + _SLICE] for start in range(0, len(text), _SLICE))
        text = "".join(unicodedata.normalize("NFKC", each) for each in slices)
    return _UNIT.findall(text.translate(_SPELLING))


def words_in(text: str) -> Iterator[str]:
    """Every word of a text, plainly spelled, for whoever compares beginnings of words."""
    for unit in units_of(text):
        if unit[0] != _APART:
            yield from re.split("[.-]", unit)


def letters_of(text: str, entry_id: str = "") -> str | None:
    """The letters that are searched along with a text, and the end of its id; None, if there are none."""
    found = [_NAME + entry_id[-6:]] if _ID_END.match(entry_id[-6:]) else []
    if text.isascii() and not _JOINS.search(text):
        return " ".join(found) or None
    for chunk in text.split():
        if not _EASY.match(chunk):
            for unit in units_of(chunk):
                found += _single(unit) if unit[0] == _APART else [*re.split("[.-]", unit), *_joined(unit)]
        elif not chunk.isalnum() and _MANY_PARTS.search(chunk):
            for unit in units_of(chunk):
                found += _joined(unit)
    return " ".join(found) or None


def _single(unit: str) -> list[str]:
    """Letters that are words by themselves, as they are indexed."""
    chars = unit[1::2]
    return [char if unicodedata.category(char)[0] in "LN" else f"{_SIGN}{ord(char)}" for char in chars]


def _joined(unit: str) -> list[str]:
    """A word with hyphens, written as one."""
    if "-" not in unit or len(unit) > _LONGEST_JOINED or unit.replace("-", "").isdigit():
        return []
    return [unit.replace("-", "")]


class Term(NamedTuple):
    """One thing that is looked for, as a full-text query."""

    match: str
    loose: tuple[str, ...]  # queries that are enough, if not everything is found
    prefix: str = ""  # a word must begin so
    tag: str = ""  # it must have this tag, or say it
    date: str = ""  # or else be of this time
    is_must: bool = False  # nothing else is enough


class Query(NamedTuple):
    """A parsed question."""

    terms: tuple[Term, ...] = ()
    ids: tuple[str, ...] = ()
    last: str = ""  # as it was typed, outside quotes

    def begun(self) -> list[Term]:
        """The terms, with the last word as the beginning of one; none, if it is not a plain word."""
        units = units_of(self.last)
        if len(units) != 1 or len(units[0]) < 2 or not units[0].isalnum():
            return []
        whole = _unit(units[0])
        return [*(term for term in self.terms if term != whole), prefix_term(units[0])]


def parse(typed: str) -> Query:
    """Parse a question. Any text is valid."""
    if len(typed) > LONGEST:
        typed = "".join(typed[:LONGEST].rsplit(None, 1)[:1])
    terms, ids, is_phrase, chunk = list[Term](), list[str](), True, ""
    for is_phrase, chunk in _chunks(typed):
        terms += _phrase(chunk) if is_phrase else _terms(chunk)
        if not is_phrase and _ID.match(chunk):
            ids.append(chunk)
    kept = tuple(dict.fromkeys(terms))[:MOST_TERMS]
    return Query(kept, tuple(ids[:MOST_TERMS]), "" if is_phrase else chunk)


def _chunks(typed: str) -> Iterator[tuple[bool, str]]:
    """The parts between spaces, and those in quotes."""
    at = 0
    for quoted in _PHRASE.finditer(typed):
        yield from ((False, chunk) for chunk in typed[at : quoted.start()].split())
        yield True, next(group for group in quoted.groups() if group is not None)
        at = quoted.end()
    yield from ((False, chunk) for chunk in typed[at:].split())


def _phrase(text: str) -> list[Term]:
    """Words in this order; if they are not such that SQLite sees their order, just the words."""
    chunks = text.split()
    if not all(map(_EASY.match, chunks)):
        return [_unit(unit)._replace(is_must=True) for chunk in chunks for unit in units_of(chunk)]
    words = [word for chunk in chunks for word in words_in(chunk)][:MOST_TERMS]
    return [Term(_quoted(*words), tuple(map(_quoted, words)), is_must=True)] if words else []


def _terms(chunk: str) -> list[Term]:
    if chunk.isascii() and chunk.isalnum():
        return [_unit(chunk.lower())]
    if _ID.match(chunk):
        match = f"({_quoted(*chunk.split('-'))} OR {_quoted(_NAME + chunk[-6:])})"
        return [Term(match, (match,))]
    units = [_unit(unit) for unit in units_of(chunk)]
    bare = chunk.strip(".,;:!?()[]{}")
    if bare[:1] == "#" and is_tag(bare[1:]):
        return [term._replace(tag=bare[1:].casefold(), is_must=True) for term in units]
    if bare[-1:] == "*" and units and (words := list(words_in(chunk))):
        return [*units[:-1], prefix_term(words[-1])]
    if _DATE.match(bare) and units:
        match = units[0].match
        return [Term(match, (match,), date=bare)]
    return units


def prefix_term(word: str) -> Term:
    """A word that begins so.

    Full text knows words without their endings: what begins with `deploym` is `deploy` to it. So shorter words are
    looked at too, and `prefix` tells whoever looks which of them to keep.
    """
    asked = [f"{_quoted(word)}*"]
    if word.isascii() and word.isalpha():
        asked += [f"{_quoted(word[: max(3, len(word) - 2)])}*"] * (len(word) > 3)
        asked += [_quoted(word[:length]) for length in range(max(3, len(word) - 9), len(word) - 2)]
    return Term(f"({' OR '.join(asked)})", (_quoted(word),), prefix=word, is_must=True)


def _unit(unit: str) -> Term:
    """A word, a word of several parts, or letters that are words by themselves."""
    if unit[0] == _APART:  # letters that follow one another; a tag may be just these
        letters, as_written = _single(unit), unit[1::2]
        pairs = [_quoted(*pair) for pair in pairwise(letters)][:MOST_TERMS] or [_quoted(letters[0])]
        pairs = list(dict.fromkeys(pairs))
        run = " AND ".join(pairs)
        return Term(f"(({run}) OR {_quoted(as_written)})" if as_written.isalnum() else f"({run})", tuple(pairs))
    parts = re.split("[.-]", unit)[:_MOST_PARTS]
    if len(parts) == 2 and parts[1] == "s":
        parts = parts[:1]
    if len(parts) == 1:
        word = _quoted(parts[0])
        match = f"({word} OR {_quoted(_NAME + parts[0])})" if _ID_END.match(parts[0]) else word
        return Term(match, (match,))
    ways = [_quoted(*parts), *map(_quoted, _joined(unit))]
    return Term(f"({' OR '.join(ways)})", (*ways, *map(_quoted, parts)))


def _quoted(*words: str) -> str:
    return f'"{" ".join(words)}"'


def every(terms: Iterable[Term]) -> str:
    """A full-text query for all of the terms."""
    return " AND ".join(term.match for term in terms)


def some(terms: Sequence[Term]) -> str:
    """A full-text query for all that must be; of the rest any part, or without a must at least one."""
    must = every(term for term in terms if term.is_must)
    rest = dict.fromkeys(part for term in terms if not term.is_must for part in term.loose)
    parts = " OR ".join(list(rest)[: 2 * MOST_TERMS])
    return f"{must} AND (({must}) OR {parts})" if must and parts else must or parts

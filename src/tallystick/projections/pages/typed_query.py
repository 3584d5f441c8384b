"""What people type, and what of a text full text alone would not find.

SQLite splits a text at whatever is no letter to it, and drops most accents. That leaves out scripts that put no space
between words, letters glued to them (iPhoneを), vowel signs, wide letters and ligatures, emoji, and "email" where a
text says e-mail. Texts with such words get them a second time, plainly spelled: their *letters*, which are searched
along with the text. A question is spelled by the same rules, so that whatever a text says finds it.

Nothing in a question is an order to SQLite: it is taken apart here into letters and digits, and each word is quoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tallystick.projections.index.segmentation import has_no_spaces
from tallystick.projections.markdown.tag import is_tag

MOST_TERMS = 64
LONGEST = 10_000  # letters of a question
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
    """How each character is spelled: letters as they are sought, ` ` between words, `-` and `.` within one."""

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
    """What is searched along with a text, and the end of its id; None, if that is nothing."""
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
    """One thing that is looked for, as full text is asked for it."""

    match: str
    loose: tuple[str, ...]  # what will do, if all that was asked for is not to be had
    prefix: str = ""  # a word must begin so
    tag: str = ""  # it must have this tag, or say it
    date: str = ""  # or else be of this time
    is_must: bool = False  # it was put so that nothing else will do


class Query(NamedTuple):
    """What was typed."""

    terms: tuple[Term, ...] = ()
    ids: tuple[str, ...] = ()
    last: str = ""  # as it was typed, outside quotes

    @property
    def dates(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term.date for term in self.terms if term.date))

    def is_strict(self) -> bool:
        """Whether there is nothing less to look for."""
        return all(term.is_must for term in self.terms) or len(self.terms) == len(self.terms[0].loose) == 1

    def begun(self) -> list[Term]:
        """The same, with the last word as the beginning of one; nothing, if it is not a plain word."""
        units = units_of(self.last)
        if len(units) != 1 or len(units[0]) < 2 or not units[0].isalnum():
            return []
        whole = _unit(units[0])
        return [*(term for term in self.terms if term != whole), prefix_term(units[0])]


def parse(typed: str) -> Query:
    """Take a question apart. Whatever it holds, nothing is wrong with it."""
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
    """What stands between spaces, and what stands in quotes."""
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
    if unit[0] == _APART:
        return _run(_single(unit), unit[1::2])
    parts = re.split("[.-]", unit)[:_MOST_PARTS]
    if len(parts) == 2 and parts[1] == "s":
        parts = parts[:1]
    if len(parts) == 1:
        word = _quoted(parts[0])
        match = f"({word} OR {_quoted(_NAME + parts[0])})" if _ID_END.match(parts[0]) else word
        return Term(match, (match,))
    ways = [_quoted(*parts), *map(_quoted, _joined(unit))]
    return Term(f"({' OR '.join(ways)})", (*ways, *map(_quoted, parts)))


def _run(letters: list[str], as_written: str) -> Term:
    """Letters that follow one another; a tag may be just these."""
    pairs = [_quoted(*pair) for pair in pairwise(letters)][:MOST_TERMS] or [_quoted(letters[0])]
    pairs = list(dict.fromkeys(pairs))
    every = " AND ".join(pairs)
    return Term(f"(({every}) OR {_quoted(as_written)})" if as_written.isalnum() else f"({every})", tuple(pairs))


def _quoted(*words: str) -> str:
    return f'"{" ".join(words)}"'


def every(terms: Iterable[Term]) -> str:
    """All of the terms, as full text is asked."""
    return " AND ".join(term.match for term in terms)


def some(terms: Sequence[Term]) -> str:
    """All that must be; of the rest any part, or without a must at least one."""
    must = every(term for term in terms if term.is_must)
    rest = dict.fromkeys(part for term in terms if not term.is_must for part in term.loose)
    parts = " OR ".join(list(rest)[: 2 * MOST_TERMS])
    return f"{must} AND (({must}) OR {parts})" if must and parts else must or parts

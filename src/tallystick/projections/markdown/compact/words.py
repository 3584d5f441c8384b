"""The telling words of a text, in their order and in every script: what a rewrite has to keep.

Punctuation, articles and fillers ("now", "just") say nothing, nor does the capital of a sentence's first word. A
number, a date or a time may be written otherwise. All else counts. Scripts that put no space between words are read
character by character, so that a missing character is noticed and an added space is not.

A full stop may become a comma but not move: "Bob called. Ana paid" is not "Bob called Ana. Paid". The words next to a
negation are read more strictly: "not just tea" is not "not tea", and "不，是他" is not "不是他".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import NamedTuple

from tallystick.projections.index.segmentation import LETTERS
from tallystick.text import grammar
from tallystick.text.words import ASKS, COLON, COMMA, DATE, END, NAME, OWNER, PLAIN, words_of


class ContentWord(NamedTuple):
    """One telling word."""

    word: str
    kind: str  # as in `text.words`
    starts: bool = False  # the first of its sentence, so that its capital says nothing
    pause: int = 1  # before it: 0 for none, 1 for a comma or what may be one, 2 for the end of a sentence

    @property
    def mark(self) -> str:
        """The word with all that must stay: whether it is a name, and whether a sentence ended before it."""
        is_name = self.kind == NAME and not self.starts
        return f"{'. ' if self.pause == 2 else ''}{'^' if is_name else ''}{self.word}"


def telling(text: str) -> tuple[ContentWord, ...]:
    """The words that say something. A text without any is one word."""
    found: list[ContentWord] = []
    starts, pause = True, 1
    for word, kind in words_of(_spelt_out(text)):
        if kind in _PAUSES:
            starts = starts or kind != COMMA
            is_short = kind != END or not found or found[-1].word in grammar.ABBREVIATIONS or len(found[-1].word) == 1
            pause = max(pause, 1 if is_short else 2)  # "Dr. Ana" and "J. Smith" are not two sentences
            continue
        denied = bool(found) and found[-1].word in NEGATIONS
        if word in _SILENT and (kind != NAME or starts) and (word in _BARE_ARTICLES or not denied):
            continue
        if found and pause and (denied or word in NEGATIONS):
            found.append(ContentWord(",", COMMA))
        found.append(ContentWord(word, kind, starts, pause))
        starts, pause = kind == ASKS, 0
    if not found and (whole := " ".join(text.split())):
        found.append(ContentWord(whole, PLAIN, True))
    return tuple(found)


def is_same(one: ContentWord, other: ContentWord) -> bool:
    """True if two words are the same. A name is not a plain word, unless its capital is that of a sentence."""
    if one.word != other.word or abs(one.pause - other.pause) == 2:
        return False
    if (one.kind == NAME) == (other.kind == NAME):
        return True
    return one.starts if one.kind == NAME else other.starts


def to_the_letter(text: str) -> tuple[str, ...]:
    """Parts that must be spelled as before: code, links, words with a capital inside, names like Gray and Grey."""
    found = [_trimmed(each) for each in _LITERAL.findall(text)]
    found += _SPELT_TWO_WAYS.findall(text)
    for chunk in text.split():
        if not (chunk.islower() or chunk.istitle()):
            words = _LETTERS_ONLY.findall(chunk)
            found += (each for each in words if each[1:] != each[1:].lower() and each.lower() not in _HALVES)
    return tuple(found)


def phrases(words: tuple[ContentWord, ...]) -> Iterator[str]:
    """The noun phrases: runs of words between verbs and words of grammar.

    Of a script without spaces, each character and each pair of neighbours.
    """
    run: list[str] = []
    for each in (*words, _LAST):
        word = each.word
        is_break = each.starts or each.kind in (COMMA, OWNER, END) or word in _NO_NOUN
        if run and (is_break or SPACELESS.match(run[-1]) or SPACELESS.match(word)):
            yield " ".join(run)
            if SPACELESS.match(run[-1]) and SPACELESS.match(word):
                yield run[-1] + word
            run = []
        if word not in _NO_NOUN and each.kind not in (COMMA, OWNER, END):
            run.append(word)


def _spelt_out(text: str) -> str:
    """The text with English digits and punctuation, and a space between the characters of Chinese and its like."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_SIGNS)
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
        text = SPACELESS.sub(r" \g<0> ", text)
    if "," in text:
        text = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)
        text = _DECIMAL_COMMA.sub("\u201a", text)
    text = _DASH.sub(" \u207b ", text)
    return _PLUS.sub("\u207a", text) if "+" in text else text


def _trimmed(literal: str) -> str:
    """A link without the punctuation of the sentence it ends."""
    if literal[0] == "`":
        return literal
    literal = literal.rstrip(".,;:!?'*")
    return literal if "(" in literal else literal.rstrip(").,;:!?'*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    "not no never none nobody nothing nowhere neither nor without nicht kein keine keinen keinem keiner keines nie"
    " niemals nichts ohne ne pas jamais rien sans non nunca nada sin não nem sem mai senza niet geen nooit zonder ikke"
    " ikkje inte ingen inget aldrig uten utan ei eivät bez değil yok не ни нет нет никогда без ні немає δεν μη όχι"
    " لا لم لن ليس ليست ليسوا لست ما غير بدون بلا לא אין בלי ללא नहीं न मत बिना না নেই 안 못 아니 không chưa tidak bukan"
    " jangan tanpa hindi hapana si 不 没 沒 無 无 未 非 别 別 勿 莫"
)
SPACELESS = re.compile(f"[{LETTERS}\u3005-\u3007\uff66-\uff9f]")  # with marks of iteration, and narrow letters

_PAUSES = frozenset((END, COMMA, COLON))
_BARE_ARTICLES = frozenset(("a", "an", "the"))
_SILENT = grammar.FILLERS | _BARE_ARTICLES
_HALVES = frozenset(("am", "pm"))
_NO_NOUN = (
    _SILENT | NEGATIONS | grammar.ARTICLES | grammar.AUXILIARY | grammar.OWNERS | grammar.PREPOSITIONS
    | grammar.RELATIVE | grammar.UNCLEAR | grammar.BE.keys() | grammar.FORMS.keys()
    | _words("i you we he she they and or but if then so than too me us him been being would could might may ?")
)  # fmt: skip
_LAST = ContentWord(".", END, True)

_SIGNS = {
    **{0xFF01 + at: chr(0x21 + at) for at in range(94)},
    **{ord(sign): ". " for sign in "。．｡।॥۔։።"},
    **{ord(sign): ", " for sign in "，、､،"},
    **{ord(sign): "; " for sign in "；؛"},
    **{ord(sign): ": " for sign in "："},
    **{ord(sign): "? " for sign in "？؟"},
    **{ord(sign): "! " for sign in "！"},
    **{ord(sign): " " for sign in "（）「」『』【】《》〈〉〔〕・\u3000"},
}
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_DASH = re.compile(r"(?<=\S)[ \t\u00a0]+[-–—−][ \t\u00a0]+(?=\d)")  # "10 – 20", "it is - 5"
_PLUS = re.compile(r"\+(?=\d)")
_LITERAL = re.compile(r"`[^`\n]+`|(?:https?|ftp|ssh|git|file)://[^\s<>\"`]+|www\.[^\s<>\"`]+")
_SPELT_TWO_WAYS = re.compile(
    r"\b(?:Gr[ae]y|Cent(?:er|re)|Colou?rs?|Favou?rites?|Licen[cs]e|Behaviou?r|Organi[sz]es?)\b"
)
_LETTERS_ONLY = re.compile(r"[^\W\d_]+")


# -- statements of a page, and the notes of what was current before them -----------------------------------------------
# A note is at the end of a statement and says until when something was current; several follow each other, the latest
# first. All the rest of a text is about the present:
#
#     User joined Acme Corp. (Until 2026-04-21: User works at Old Corp.)


@dataclass(frozen=True, slots=True)
class Statement:
    """One entry of a page, as plain values."""

    id: str
    at: str  # as the heading writes it: 2026-04-21T09:15:00
    text: str
    tags: tuple[str, ...] = ()
    superseded_by: str = ""  # the id of what replaced it
    retracted: bool = False
    supersedes: tuple[str, ...] = ()  # the ids that it replaces
    has_key: bool = False  # a caller gave it a key and may ask for it

    @property
    def is_current(self) -> bool:
        return not (self.superseded_by or self.retracted)

    @property
    def day(self) -> str:
        """The day of its heading as 2026-04-21, or empty where the heading has none."""
        return self.at[:10] if is_day(self.at[:10]) else ""


class Note(NamedTuple):
    until: str  # a day as 2026-04-21
    text: str

    def __str__(self) -> str:
        return f"(Until {self.until}: {self.text})"


def is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def parted(text: str) -> tuple[str, list[Note]]:
    """The text about the present, and the notes after it. A text that is all notes has none: it is taken as it is."""
    opens = list(_OPENS.finditer(text)) if "(Until " in text else []
    notes: list[Note] = []
    end = _before_spaces(text, len(text))
    for found in reversed(opens):
        read = words_of(found[1])  # "2026-04-21" and "21 April 2026" are days, "then" is none
        until, kind = read[0] if len(read) == 1 else ("", "")
        if kind != DATE or not is_day(until) or found.end() >= end or text[end - 1] != ")":
            break
        notes.append(Note(until, text[found.end() : end - 1].strip()))
        end = _before_spaces(text, found.start())
    if not end:
        return text, []
    return text[:end], notes[::-1]


def _before_spaces(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def joined(current: str, notes: Iterable[Note]) -> str:
    """A text that `parted` takes apart again."""
    return " ".join([current, *map(str, notes)])


def words_in(statements: Sequence[Statement]) -> int:
    """The number of words of a page of these, with headings and marks."""
    count = 0
    for each in statements:
        count += 4 + len(each.tags) + bool(each.superseded_by) + each.retracted + len(each.text.split())
        count += 3 + len(each.supersedes) if each.supersedes else 0
    return count


_OPENS = re.compile(r"(?<=\s)\(Until ([^:()\n]{4,40}): ")


# -- the texts of two pages, each read once ----------------------------------------------------------------------------

Key = tuple[str, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Part:
    """The present of a statement, or one of its notes."""

    text: str
    words: tuple[ContentWord, ...]
    letters: tuple[str, ...]  # what must be spelled exactly so
    day: str = ""  # of a note: until when it was current

    @cached_property
    def key(self) -> Key:
        """The key of all parts that say the same."""
        return self.day, tuple(each.mark for each in self.words), self.letters

    def until(self, day: str) -> Part:
        return replace(self, day=day)

    def is_within(self, other: Part) -> bool:
        """True if the other says all this and perhaps more."""
        mine, others = (f" {' '.join(each.word for each in part.words)} " for part in (self, other))
        return bool(self.words) and mine in others


def one_after_the_other(parts: Iterable[Part]) -> tuple[ContentWord, ...]:
    """The words of several parts in one text, each part a sentence of its own."""
    found: list[ContentWord] = []
    for first, *rest in (part.words for part in parts if part.words):
        if found and not NEGATIONS.isdisjoint((found[-1].word, first.word)):
            found.append(ContentWord(",", COMMA))
        found += (first._replace(pause=2) if found else first, *rest)
    return tuple(found)


class Texts:
    """Reads a text once, however often it is asked for."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Part]] = {}

    def parts(self, text: str) -> list[Part]:
        """First the present, then the notes."""
        found = self._parts.get(text)
        if found is None:
            current, notes = parted(text)
            found = [_part(current), *(_part(note.text, note.until) for note in notes)]
            self._parts[text] = found
        return found

    def say_the_same(self, one: Statement, other: Statement) -> bool:
        """True if both say the same of the present."""
        return self.parts(one.text)[0].key == self.parts(other.text)[0].key

    def phrases(self, page: Sequence[Statement]) -> dict[str, None]:
        """The noun phrases of a page, each once, in their order."""
        return {each: None for text in page for part in self.parts(text.text) for each in phrases(part.words)}


class Spare:
    """Notes that nobody asked for, each to be taken once."""

    def __init__(self, notes: Iterable[Part]) -> None:
        self._notes = {note.key: note for note in notes}
        self._by_day: dict[str, list[Key]] = {}
        self._by_words: dict[Key, list[Key]] = {}
        for key in reversed(self._notes):
            self._by_day.setdefault(key[0], []).append(key)
            self._by_words.setdefault(("", *key[1:]), []).append(key)

    def left(self) -> Iterable[Part]:
        return self._notes.values()

    def take(self, *, words: Key | None = None, day: str = "") -> Part | None:
        """Take a note with the words of that key, or else one of that day."""
        keys = self._by_words.get(("", *words[1:]), []) if words else self._by_day.get(day, [])
        while keys:
            if note := self._notes.pop(keys.pop(), None):
                return note
        return None


def _part(text: str, day: str = "") -> Part:
    return Part(text, telling(text), to_the_letter(text), day)


# -- two pages, entry by entry -----------------------------------------------------------------------------------------
# An entry of a rewritten page has as sources the one with its own id, and those it names in `supersedes` that are no
# longer there. Ids may repeat on a page that was edited by hand: the second of a kind belongs to the second.

_Name = tuple[str, int]  # an id, and how many of the same come before it


class Pairs:
    """Two pages side by side. Places are positions in `before` and in `after`."""

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self.before, self.after = before, after
        names, self._own = list(_named(before)), {name: at for at, name in enumerate(_named(after))}
        self.by_name = {name: at for at, (name, count) in enumerate(names) if count == 0}
        heirs: dict[str, int] = {}
        for place, statement in enumerate(after):
            for name in statement.supersedes:
                heirs.setdefault(name, place)
        self._heirs = heirs
        self._names: dict[int, frozenset[str]] = {}
        self.is_own = [name in self._own for name in names]
        self.holders = [
            self._own[name] if name in self._own else heirs.get(name[0]) if name[1] == 0 and name[0] else None
            for name in names
        ]
        self.sources: list[list[int]] = [[] for _ in after]
        for at, holder in enumerate(self.holders):
            if holder is not None:
                self.sources[holder].append(at)

    def is_there(self, name: str) -> bool:
        return (name, 0) in self._own

    def name_now(self, name: str) -> str:
        """The id of the entry that this one is in now."""
        place = self._heirs.get(name)
        return name if self.is_there(name) or place is None else self.after[place].id

    def is_named(self, name: str, place: int) -> bool:
        """True if an id is still there, or named by the entry at that place."""
        if self.is_there(name):
            return True
        if place not in self._names:
            self._names[place] = frozenset((self.after[place].id, *self.after[place].supersedes))
        return name in self._names[place]

    @cached_property
    def ends(self) -> list[int | None]:
        """For each entry before, the place of what is current in its stead; None where the chain leads nowhere."""
        return ends(self.before)


def ends(page: Sequence[Statement]) -> list[int | None]:
    """For each statement the place of the one that is current in its stead: its own where it was not superseded.

    None where the chain leaves the page, runs in a circle, or ends at what was retracted.
    """
    by_name: dict[str, int] = {}
    for place, statement in enumerate(page):
        by_name.setdefault(statement.id, place)
    found: dict[int, int | None] = {}
    for start in range(len(page)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and at not in found:
            found[at] = None  # for good, if the chain leads back here
            trail.append(at)
            if not page[at].superseded_by:
                found[at] = None if page[at].retracted else at
                break
            at = by_name.get(page[at].superseded_by)
        end = None if at is None else found[at]
        found.update(dict.fromkeys(trail, end))
    return [found[at] for at in range(len(page))]


def _named(page: Sequence[Statement]) -> Iterator[_Name]:
    seen: dict[str, int] = {}
    for statement in page:
        count = seen.get(statement.id, 0)
        seen[statement.id] = count + 1
        yield statement.id, count

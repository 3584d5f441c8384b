"""How one short sentence is read: of what it speaks, what it says of it, and whether it denies that.

Only a plain statement is read. A question, a condition, a guess, the words of another, a second sentence, a subject
nobody could tell apart ("it", "a room") or a second verb: nothing is found. To find nothing is always allowed.
"""

from __future__ import annotations

from typing import NamedTuple

from tallystick.text.grammar import (
    ABBREVIATIONS,
    ARTICLES,
    AUXILIARY,
    BARE,
    BE,
    DENIALS,
    FILLERS,
    FORMS,
    GOING,
    HEDGES,
    LASTING,
    LEADS,
    OPENERS,
    OWNERS,
    PAST,
    PHRASES,
    PREPOSITIONS,
    RELATIVE,
    STATES,
    THIRD,
    UNCLEAR,
    VAGUE,
    WHEN,
)
from tallystick.text.words import (
    ASKS,
    COLON,
    COMMA,
    DATE,
    END,
    EQUALS,
    EXACT,
    MONTH,
    NAME,
    NUMBER,
    OWNER,
    PLAIN,
    TIME,
    WEEKDAY,
    Word,
)

LONGEST = 60  # words

_MOMENTS = frozenset((DATE, TIME, WEEKDAY, MONTH))
_CLOCKED = frozenset("start begin end finish open close expire arrive depart leave launch ship".split())  # noqa: SIM905


class Reading(NamedTuple):
    subject: list[Word]
    predicate: str
    value: list[Word]
    is_denied: bool


def read(words: list[Word]) -> Reading | None:
    """What the words say, where they are one plain statement."""
    if len(words) > 2 * LONGEST:
        return None
    plain = _plain(words)
    if plain is None or not 1 < len(plain) <= LONGEST:
        return None
    at = _verb_at(plain)
    if at is None:
        return None
    subject, is_denied = _undenied(plain[:at])
    return None if subject is None else _said(subject, plain, at, is_denied)


def read_triple(subject: list[Word], predicate: list[Word], value: list[Word]) -> Reading | None:
    """The same for a triple. A predicate that is no verb is something the subject has: (Ana, phone, 123)."""
    while predicate and predicate[0][0] == "has" and len(predicate) > 1 and predicate[1][0] not in FORMS:
        predicate = predicate[1:]
    if not (subject and predicate and value):
        return None
    first = predicate[0][0]
    if first in _CARRIES or first in DENIALS or first in FORMS or first.endswith("ed"):
        return _said(subject, subject + predicate + value, len(subject), False)
    if first.endswith("s") and first[-2:-1] not in ("s", "u", "i"):
        return Reading(subject, " ".join(word for word, _ in predicate), value, False)
    whole = [*subject, ("'s", OWNER), *predicate]
    return _said(whole, [*whole, ("is", EQUALS), *value], len(whole), False)


def _plain(words: list[Word]) -> list[Word] | None:
    """The words without those that say nothing; None where they are no plain statement."""
    plain: list[Word] = []
    ended, skip = False, 0
    for at, word in enumerate(words):
        text, kind = word
        if skip:
            skip -= 1
        elif text not in _NOTABLE:
            if ended:
                return None
            plain.append(word)
        elif kind == END:
            ended = ended or not plain or not (plain[-1][0] in ABBREVIATIONS or len(plain[-1][0]) == 1)
        elif ended:
            return None
        elif text in PHRASES and (at + 1 == len(words) or (text, words[at + 1][0]) not in _PHRASE_STARTS):
            plain.append(word)
        elif text in HEDGES or kind == ASKS:
            return None
        elif text in FILLERS or text in LASTING or (text in OPENERS and not plain):
            continue
        else:
            length = _turn(words, at, plain)
            if length is None:
                return None
            skip = length
    return plain


_NOTABLE = HEDGES | FILLERS | LASTING | OPENERS | DENIALS | PHRASES.keys() | {"no", "that", ":", ",", "?", "."}
_PHRASE_STARTS = frozenset((first, rest[0]) for first, phrases in PHRASES.items() for rest in phrases)
_IN_PART = frozenset("always only all every everyone necessarily entirely fully exactly quite very really".split())  # noqa: SIM905


def _turn(words: list[Word], at: int, plain: list[Word]) -> int | None:
    """Take in a word that may begin a phrase or end a lead-in. How many more were taken; None: no plain statement."""
    text, kind = words[at]
    following = words[at + 1][0] if at + 1 < len(words) else ""
    if text in PHRASES and (length := _phrase(words, at)):
        return length
    if text == "no" and following == "longer":
        plain.append(("not", PLAIN))
        return 1
    if text in DENIALS and following in _IN_PART:
        return None
    if (kind == COLON or text == "that") and len(plain) == 1 and plain[0][0] in LEADS:
        plain.clear()
    elif kind == COMMA and (not plain or (len(plain) == 1 and plain[0][0] == "no")):
        plain.clear()  # "No, the port is 6543"
    else:
        plain.append(words[at])
    return 0


def _phrase(words: list[Word], at: int) -> int:
    """How many words after this one belong to a phrase that says nothing."""
    for phrase in PHRASES[words[at][0]]:
        if tuple(word for word, _ in words[at + 1 : at + 1 + len(phrase)]) == phrase:
            return len(phrase)
    return 0


def _verb_at(words: list[Word]) -> int | None:
    """Where the statement turns from its subject to what is said of it."""
    bare: int | None = None
    for at, (text, kind) in enumerate(words):
        if kind in (EQUALS, COLON) or text in _CARRIES:
            return at
        if text not in _TURNS:
            continue
        if text in RELATIVE:
            if at:
                return bare if bare is not None and _is_order(words, bare) else None
        elif not (at and words[at - 1][0] in _BEFORE_NOUNS):
            form = FORMS[text][1]
            if form == BARE:
                bare = at if bare is None else bare
            elif form != GOING and not _carries_on(words, at + 1) and (at or _is_note(words)):
                return at
    return _unknown_verb(words) if bare is None else bare


_CARRIES = BE.keys() | AUXILIARY
_TURNS = FORMS.keys() | RELATIVE
_BEFORE_NOUNS = ARTICLES | OWNERS | {"'s"}


def _is_note(words: list[Word]) -> bool:
    """Whether the subject was left out, as in "ships on 3 May" on the page of what ships."""
    return FORMS[words[0][0]][1] == THIRD and (words[1][0] in PREPOSITIONS or words[1][1] in EXACT)


def _carries_on(words: list[Word], start: int) -> bool:
    """Whether a stronger verb follows, so that what looks like one is a noun: "the test runs are slow"."""
    return any(text in _CARRIES for text, _ in words[start : start + 2])


def _is_order(words: list[Word], bare: int) -> bool:
    return bare == 0 or (bare == 1 and words[0][0] in DENIALS)


def _unknown_verb(words: list[Word]) -> int | None:
    """ "Ana juggles": a name, and a word that ends in s."""
    (_, first), (text, kind) = words[0], words[1]
    looks_so = kind == PLAIN and len(text) > 3 and text[-1] == "s" and text[-2] != "s"
    return 1 if first == NAME and looks_so else None


def _undenied(words: list[Word]) -> tuple[list[Word] | None, bool]:
    """The subject, and whether it was denied before the verb: "Ana never", "no test"."""
    is_denied = False
    if words and words[-1][0] in DENIALS:
        words, is_denied = words[:-1], True
    elif words and words[0][0] == "no":
        words, is_denied = words[1:], True
        if not words:
            return None, False
    if words and words[-1][0] == "always":
        words = words[:-1]
    texts = {text for text, _ in words}
    if words and _is_unclear(words):
        return None, False
    if "no" in texts or not texts.isdisjoint(DENIALS) or not texts.isdisjoint(_WHOSE):
        return None, False
    return words, is_denied


def _is_unclear(words: list[Word]) -> bool:
    """Whether nobody could tell of which one this speaks: "it", "a room", "2 rooms", "what"."""
    text, kind = words[0]
    if len(words) == 1:
        return text in UNCLEAR or text in RELATIVE
    return text in VAGUE or text in RELATIVE or kind == NUMBER


_WHOSE = frozenset(("his", "her", "its", "their", "those", "only"))


class _Tail:
    """The words after the verb, taken from the front."""

    __slots__ = ("at", "is_denied", "words")

    def __init__(self, words: list[Word], at: int, is_denied: bool) -> None:
        self.words, self.at, self.is_denied = words, at, is_denied
        self.pass_denials()

    def pass_denials(self) -> None:
        while self.at < len(self.words) and (self.words[self.at][0] in DENIALS or self.words[self.at][0] == "always"):
            self.is_denied ^= self.words[self.at][0] != "always"
            self.at += 1

    def peek(self, ahead: int = 0) -> Word:
        at = self.at + ahead
        return self.words[at] if at < len(self.words) else ("", "")

    def take(self) -> str:
        text = self.peek()[0]
        self.at += 1
        self.pass_denials()
        return text


def _said(subject: list[Word], words: list[Word], at: int, is_denied: bool) -> Reading | None:
    text, kind = words[at]
    tail = _Tail(words, at + 1, is_denied)
    if kind in (EQUALS, COLON):
        predicate = "is" if subject else ""
    elif not subject and not (text in FORMS or (text == "do" and tail.is_denied)):
        return None  # "is the port 5432"
    else:
        predicate = _predicate(text, tail)
    if not predicate:
        return None
    predicate = _with_preposition(predicate, tail)
    value = _value(tail)
    if value is None or (not value and predicate.startswith(("is", "was", "have"))):
        return None
    if predicate.startswith("will ") and value and value[0][1] in _MOMENTS:
        predicate = "is" if predicate == "will be" else predicate[5:]  # what will be on Monday is on Monday
    if not subject:
        subject = [("it" if text in FORMS and FORMS[text][1] == THIRD else "you", PLAIN)]
    return Reading(subject, predicate, value, tail.is_denied)


def _predicate(text: str, tail: _Tail) -> str:
    """The verb in its bare form, with "did" for what is past and "will" for what is to come; "is", "was", "will be"."""
    if text in BE:
        return _being(BE[text], tail)
    if text in ("have", "has", "had"):
        following = tail.peek()[0]
        if following == "been":
            tail.take()
            return _being("was" if text == "had" else "is", tail)
        if following in FORMS and FORMS[following][1] == PAST:
            return "did " + FORMS[tail.take()][0]
        return "did have" if text == "had" else "have"
    if text in AUXILIARY:
        verb = tail.take()
        if not verb or tail.words[tail.at - 1][1] in EXACT:
            return ""
        bare = "be" if verb == "be" else FORMS[verb][0] if verb in FORMS else verb
        return _AUXILIARY.get(text, text + " ") + bare
    bare, form = FORMS[text] if text in FORMS else (text.removesuffix("s"), "")
    if bare == "use" and form == PAST and tail.peek()[0] == "to":
        tail.take()
        verb = tail.take()
        return "was" if verb == "be" else "did " + verb
    return "did " + bare if form == PAST else bare


_AUXILIARY = {"do": "", "does": "", "did": "did ", "shall": "will "}


def _being(tense: str, tail: _Tail) -> str:
    """ "is", "is called", or the verb of "is living"."""
    following = tail.peek()[0]
    if following in ("been", "being"):
        tail.take()
        following = tail.peek()[0]
    if following in STATES and tail.peek(1)[0]:
        return f"{tense} {tail.take()}"
    if following in FORMS and FORMS[following][1] == GOING and tail.peek(1)[0]:
        bare = FORMS[tail.take()][0]
        return bare if tense == "is" else "did " + bare
    return tense


def _with_preposition(predicate: str, tail: _Tail) -> str:
    text = tail.peek()[0]
    ahead = 2 if tail.peek(1)[0] in ARTICLES else 1
    following, kind = tail.peek(ahead)
    if text not in PREPOSITIONS or not following:
        return predicate
    if text in WHEN and (kind in _MOMENTS or (kind == NUMBER and text != "in" and predicate in _CLOCKED)):
        tail.at += 1
        return predicate
    if following in PREPOSITIONS or (text in ("on", "over") and kind == COMMA):
        return predicate  # "is on at night"
    tail.at += 1
    return f"{predicate} {text}"


def _value(tail: _Tail) -> list[Word] | None:
    """What is said, up to a reason or a date since when it holds; None where a second statement follows."""
    words = tail.words
    value: list[Word] = []
    if tail.peek()[0] == "no":
        tail.at += 1
        tail.is_denied = not tail.is_denied
    for at in range(tail.at, len(words)):
        text, kind = words[at]
        if text not in _STOPS:
            if kind != OWNER or value:
                value.append(words[at])
            continue
        following = words[at + 1][1] if at + 1 < len(words) else ""
        if text == "because" or (value and text in ("instead", "rather")):
            break
        if value and text in ("since", "as") and _since(words, at):
            break
        if value and text in DENIALS and following == value[0][1] in EXACT:
            break  # "6543, not 5432"
        if text in _SECOND:
            return None
        if kind == COMMA and value and value[-1][1] in EXACT and following == value[-1][1]:
            value.append(("and", PLAIN))
        elif text in ("since", "as", "instead", "rather"):
            value.append(words[at])
    return value


_SECOND = DENIALS | _CARRIES | {"no", "that", "which", "who", "whom", "where", "why"}
_STOPS = _SECOND | ARTICLES | {"because", "since", "as", "instead", "rather", ",", ":"}


def _since(words: list[Word], at: int) -> bool:
    """Whether "since Monday" or "as of 3 May" ends the statement here."""
    rest = words[at + 1 :]
    if words[at][0] == "as":
        if not rest or rest[0][0] != "of":
            return False
        rest = rest[1:]
    return len(rest) == 1 and (rest[0][1] in _MOMENTS or rest[0][1] == NUMBER)

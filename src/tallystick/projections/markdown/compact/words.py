"""The telling words of a text, in their order and in every script: what a rewrite has to keep.

Signs, articles and fillers ("now", "just") tell nothing, nor does the capital of a sentence's first word. A number, a
date or a time may be written otherwise. All else tells something. Scripts that put no space between words are read
letter by letter, so that a letter taken out is missed and a space put in is not.

A full stop may become a comma but not wander: "Bob called. Ana paid" is not "Bob called Ana. Paid". What stands beside
a negation is read more strictly: "not just tea" is not "not tea", and "不，是他" is not "不是他".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from tallystick.text.grammar import (
    ABBREVIATIONS,
    ARTICLES,
    AUXILIARY,
    BE,
    FILLERS,
    FORMS,
    OWNERS,
    PREPOSITIONS,
    RELATIVE,
    UNCLEAR,
)
from tallystick.text.words import ASKS, COLON, COMMA, END, NAME, OWNER, PLAIN, words_of


class ContentWord(NamedTuple):
    """One telling word."""

    word: str
    kind: str  # as in records.wording
    starts: bool = False  # whether it is the first of its sentence, so that its capital tells nothing
    pause: int = 1  # before it: 0 for none, 1 for a comma or what may be one, 2 for the end of a sentence

    @property
    def mark(self) -> str:
        """The word with all that must stay: whether it is a name, and whether a sentence ended before it."""
        is_name = self.kind == NAME and not self.starts
        return f"{'. ' if self.pause == 2 else ''}{'^' if is_name else ''}{self.word}"


def telling(text: str) -> tuple[ContentWord, ...]:
    """The words that tell something. A text without any is one word as it stands."""
    found: list[ContentWord] = []
    starts, pause = True, 1
    for word, kind in words_of(_spelt_out(text)):
        if kind in _PAUSES:
            starts = starts or kind != COMMA
            pause = max(pause, _length_of(kind, found))
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


def _length_of(kind: str, found: list[ContentWord]) -> int:
    """How long a pause is. "Dr. Ana" and "J. Smith" are no two sentences, and a text begins with none."""
    if kind != END or not found:
        return 1
    return 1 if found[-1].word in ABBREVIATIONS or len(found[-1].word) == 1 else 2


def is_same(one: ContentWord, other: ContentWord) -> bool:
    """Whether two words are one. A name is no plain word, unless its capital is that of a sentence."""
    if one.word != other.word or abs(one.pause - other.pause) == 2:
        return False
    if (one.kind == NAME) == (other.kind == NAME):
        return True
    return one.starts if one.kind == NAME else other.starts


def to_the_letter(text: str) -> tuple[str, ...]:
    """What must stand exactly as it did: code, links, words with a capital inside, and names like Gray and Grey."""
    found = [_trimmed(each) for each in _LITERAL.findall(text)]
    found += _SPELT_TWO_WAYS.findall(text)
    for chunk in text.split():
        if not (chunk.islower() or chunk.istitle()):
            found += (word for word in _LETTERS_ONLY.findall(chunk) if _has_inner_capital(word))
    return tuple(found)


def phrases(words: tuple[ContentWord, ...]) -> Iterator[str]:
    """The noun phrases: runs of words between verbs and words of grammar.

    Of a script without spaces, each letter and each pair of neighbours.
    """
    run: list[str] = []
    for told in (*words, _LAST):
        word = told.word
        is_break = told.starts or told.kind in (COMMA, OWNER, END) or word in _NO_NOUN
        if run and (is_break or SPACELESS.match(run[-1]) or SPACELESS.match(word)):
            yield " ".join(run)
            if SPACELESS.match(run[-1]) and SPACELESS.match(word):
                yield run[-1] + word
            run = []
        if word not in _NO_NOUN and told.kind not in (COMMA, OWNER, END):
            run.append(word)


def _spelt_out(text: str) -> str:
    """The text with its digits and signs as English writes them, and a space between the letters of Chinese and co."""
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
    """A link without the signs of the sentence it ends."""
    if literal[0] == "`":
        return literal
    literal = literal.rstrip(".,;:!?'*")
    return literal if "(" in literal else literal.rstrip(").,;:!?'*")


def _has_inner_capital(word: str) -> bool:
    rest = word[1:]
    return rest != rest.lower() and word.lower() not in _HALVES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    "not no never none nobody nothing nowhere neither nor without nicht kein keine keinen keinem keiner keines nie"
    " niemals nichts ohne ne pas jamais rien sans non nunca nada sin não nem sem mai senza niet geen nooit zonder ikke"
    " ikkje inte ingen inget aldrig uten utan ei eivät bez değil yok не ни нет нет никогда без ні немає δεν μη όχι"
    " لا لم لن ليس ليست ليسوا لست ما غير بدون بلا לא אין בלי ללא नहीं न मत बिना না নেই 안 못 아니 không chưa tidak bukan"
    " jangan tanpa hindi hapana si 不 没 沒 無 无 未 非 别 別 勿 莫"
)
SPACELESS = re.compile(
    "[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"  # Chinese
)

_PAUSES = frozenset((END, COMMA, COLON))
_BARE_ARTICLES = frozenset(("a", "an", "the"))
_SILENT = FILLERS | _BARE_ARTICLES
_HALVES = frozenset(("am", "pm"))
_NO_NOUN = (
    _SILENT | ARTICLES | AUXILIARY | OWNERS | PREPOSITIONS | RELATIVE | UNCLEAR | NEGATIONS | BE.keys() | FORMS.keys()
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

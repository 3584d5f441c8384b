"""Words for recall: split, reduced to a light stem, without stop words.

The result depends on the text alone, so it can be cached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

CHUNK_WORDS = 80  # about this many words make a part of a long text
MOST_PARTS = 64  # of a very long text; what comes after them is found by its words
SHORT_WORDS = 100  # texts up to this length lend their words to the turns next to them, and borrow theirs

STOP = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't d did didn't do does doesn't doing don't down during each few
    for from further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him
    himself his how how's i i'd i'll i'm i've if in into is isn't it it's its itself just let's ll m many may me might
    more most much my myself no nor not of off on once only or other our ours ourselves out over own re s same shall she
    she'd she'll she's should shouldn't so some such t than that that's the their theirs them themselves then there
    there's these they they'd they'll they're they've this those through to too under until up us ve very was wasn't we
    we'd we'll we're we've were weren't what what's when when's where where's which while who who's whom whose why why's
    will with won't would wouldn't you you'd you'll you're you've your yours yourself yourselves
    """.split()  # noqa: SIM905
)

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SIGNS = {ord(each): " " for each in map(chr, range(128)) if not each.isalnum() and each != "'"}
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_NO_ENDING = frozenset({"news", "series", "species", "thing", "bring", "during", "morning", "evening"})
_LONGEST = 40  # characters of a word that has endings
_ENDINGS = ("ingly", "edly", "ing", "ies", "ied", "ed", "es", "ly", "s")


def words(text: str) -> list[str]:
    """The words in lowercase, without a possessive ending."""
    found = spelled(text)
    return [without_possessive(word) for word in found] if "'" in text or "’" in text else found


def spelled(text: str) -> list[str]:
    """The words in lowercase, as they are."""
    low = text.lower().replace("’", "'")
    if not low.isascii():
        return WORD.findall(low)
    found = low.translate(_SIGNS).split()  # several times as fast
    if "'" not in low:
        return found
    return [part for word in found for part in ((word,) if "'" not in word else WORD.findall(word))]


def without_possessive(word: str) -> str:
    return word[:-2] if word.endswith("'s") else word


def telling(text: str) -> list[str]:
    return [word for word in words(text) if word not in STOP]


def stem(word: str) -> str:
    """A light English stem: enough to make "paints", "painted" and "painting" one word."""
    return word if len(word) > _LONGEST else _stem(word)


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    if word in _NO_ENDING:
        return word
    for end in _ENDINGS:
        if word.endswith(end) and len(word) - len(end) >= 3 and not word.endswith("ss"):
            word = word[: -len(end)] + ("y" if end in ("ies", "ied") else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def parts_of(text: str) -> list[str]:
    """The text itself if it is short; else parts of about `CHUNK_WORDS` words that end where sentences do."""
    if _has_at_most(CHUNK_WORDS * 3 // 2, text):
        return [text]
    parts: list[str] = []
    part: list[str] = []
    sentences = (sentence[0].split() for sentence in _SENTENCE.finditer(text))
    for piece in (
        words[start : start + CHUNK_WORDS] for words in sentences for start in range(0, len(words), CHUNK_WORDS)
    ):
        if part and len(part) + len(piece) > CHUNK_WORDS * 1.25:
            parts.append(" ".join(part))
            part = []
            if len(parts) == MOST_PARTS:
                break
        part = part + piece
    return [*parts, " ".join(part)] if part else parts or [text]


def is_short(text: str) -> bool:
    """Whether a text has at most `SHORT_WORDS` words."""
    return _has_at_most(SHORT_WORDS, text)


def _has_at_most(count: int, text: str) -> bool:
    """Whether a text has at most so many words. More of them would take two characters each, but for the last."""
    return len(text) <= 2 * count or len(text.split(None, count)) <= count


def without_names(text: str, names: Iterable[str]) -> str:
    """The text without these names and their possessives."""
    known = sorted(filter(None, names), key=len, reverse=True)
    if known:
        pattern = r"\b(?:" + "|".join(map(re.escape, known)) + r")(?:['’]s)?\b"
        text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def share_asked(text: str) -> float:
    """The share of a text that is questions."""
    if "?" not in text:
        return 0.0
    sentences = _SENTENCE.findall(text)
    return sum(len(each) for each in sentences if each.rstrip().endswith("?")) / max(1, sum(map(len, sentences)))

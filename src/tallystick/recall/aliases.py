"""A question in other words: under every name that its people and things go by.

"How much can Kong take?" is also asked as "how much can the spiral mixer take?", if somebody said that this is Kong. So
is only a name that is used less than the other: whoever asks for Ana by her first name is understood anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tallystick.records.entity import name_key
from tallystick.text.aliases import MINE
from tallystick.text.recall_words import telling

_MOST = 3  # other questions
_LONGEST = 4  # words of a name
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ASKS_FOR_A_NAME = re.compile(r"\b(?:called|named?|names|nickname|surname|call|stands? for|short for)\b", re.IGNORECASE)
_FEW = 4  # words that a statement has beside the names: it says nothing else

Names = Callable[[str], Mapping[str, Sequence[str]]]  # the other names of one, each with the statements that say so


class Reworded(NamedTuple):
    """The question under another name."""

    asked: str
    name: str
    other: str
    taught: tuple[str, ...]  # the statements that say that these are one


def reworded(asked: str, names: Names, rarity: Callable[[Sequence[str]], Sequence[float]]) -> list[Reworded]:
    """The questions that mean the same; `rarity` tells how rare words are in the memory."""
    found = list[Reworded]()
    said = list(_WORD.finditer(asked))
    for start in range(len(said)):
        for end in range(min(start + _LONGEST, len(said)), start, -1):
            first, last = said[start].start(), said[end - 1].end()
            phrase = re.sub(r"['’]s?$", "", asked[first:last])
            name = re.sub("^our ", MINE, name_key(phrase))
            others = {other: taught for other, taught in names(name).items() if _is_better(name, other, asked, rarity)}
            for other, taught in others.items():
                before, after = re.sub("[Tt]he $", "", asked[:first]), asked[first + len(phrase) :]
                found.append(Reworded(f"{before}{other.title()}{after}", name, other, tuple(taught)))
            if others:
                break
    return found[:_MOST]


def _is_better(name: str, other: str, asked: str, rarity: Callable[[Sequence[str]], Sequence[float]]) -> bool:
    """True if something is called by the other name more often, and the question does not have it already."""
    words, others = telling(name.removeprefix(MINE)), telling(other)
    if other.startswith(MINE) or not others or set(others) <= set(telling(asked)):
        return False
    return name.startswith(MINE) or max(rarity(others)) <= max(rarity(words), default=0.0)


def asks_for_a_name(asked: str) -> bool:
    """True if a question asks what something is called: then the statement that says so is the answer."""
    return _ASKS_FOR_A_NAME.search(asked) is not None


def only_names(text: str, each: Reworded) -> bool:
    """True if a statement says little more than that two names are one."""
    return len(set(telling(text)) - set(telling(f"{each.name} {each.other}"))) <= _FEW

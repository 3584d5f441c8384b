"""What benches are fed with: the same texts on every machine and in every run.

A text is a dozen words out of five thousand, the early ones commoner than the late ones, so that some words stand in
one text of six and most in one of a hundred or more.
"""

from __future__ import annotations

import random

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def _word(number: int) -> str:
    first, second = _SYLLABLES[number % 70], _SYLLABLES[number // 70 % 70]
    return first + second + _SYLLABLES[number * 13 % 70] + "n"  # an ending that stemming leaves alone


WORDS = [_word(number) for number in range(4900)]


def text(number: int) -> str:
    """The text of one belief: 9 to 15 words."""
    draw = random.Random(number)
    words = [WORDS[int(len(WORDS) * draw.random() ** 2)] for _ in range(draw.randint(9, 15))]
    return " ".join(words).capitalize() + "."


def tag(number: int) -> str:
    return f"topic-{number % 97}"


def question(number: int) -> str:
    """Three words of the text of one belief."""
    words = text(number).rstrip(".").split()
    return " ".join(words[place] for place in (1, 4, 7))

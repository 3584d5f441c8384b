"""What somebody says of themself, and how they want things done.

"What am I allergic to?" is answered by their own words before anybody else's "I"; "how should a letter end?", by an
instruction or a preference before what merely happened.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import SourceRow

_OWN, _OF_NOBODY, _OTHERS = 0.25, 0.1, -0.2  # their "I", what they say of nobody in particular, and another's "I"
_STANDING = 0.4  # an instruction or a preference, where wishes are asked for
_MYSELF = r"\b(?:i|i'm|im|i've|i'd|i'll|my|me|mine|myself{})\b"
_SAYS_I = re.compile(_MYSELF.format("|user"), re.IGNORECASE)  # programs say "the user" of the person they talk with
_ASKS = re.compile(_MYSELF.format(""), re.IGNORECASE)
_TELL_ME = re.compile(
    r"\b(?:(?:tell|give|remind|brief|fill|catch) me|(?:do|did|have|should) (?:i|we|you) (?:know|have|note)|told)\b",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"\b(?:how (?:do|should|shall|would) (?:i|you|we|my)|should (?:you|i|we)|i (?:want|like|prefer|refuse|hate)"
    r"|(?:want|like) my|for me|prefer|may (?:i|you)|can you|(?:am i|is it) ok|ok to|allowed to"
    r"|(?:what|which) (?:format|style|structure))\b",
    re.IGNORECASE,
)
_ABOUT_ME = ("me", "user", "user-profile", "user-preferences")


def asks_of_oneself(asked: str) -> bool:
    """True if a question is about whoever asks it."""
    text = asked.replace("’", "'")
    return _ASKS.search(text) is not None and _TELL_ME.search(text) is None


def of_wishes(asked: str, sources: Sequence[Sequence[SourceRow]]) -> NDArray[np.float64]:
    """How far each candidate says how things are to be done, if that is asked."""
    if not _WISHES.search(asked.replace("’", "'")):
        return np.zeros(len(sources))
    return np.array([_STANDING * bool(said[0].standing) for said in sources])


def of_oneself(
    sources: Sequence[Sequence[SourceRow]], texts: Sequence[str], speakers: Collection[str]
) -> NDArray[np.float64]:  # fmt: skip
    """How far each candidate is what the one who asks, by the names of `speakers`, says of themself."""
    return np.array([_worth(said[0], text, speakers) for said, text in zip(sources, texts, strict=True)])


def _worth(first: SourceRow, text: str, speakers: Collection[str]) -> float:
    says_i = _SAYS_I.search(text.replace("’", "'")) is not None
    if first.what == "episode" and first.agent and first.agent not in speakers:
        return _OTHERS if says_i else 0.0
    if says_i or first.about in _ABOUT_ME:
        return _OWN
    return 0.0 if first.about else _OF_NOBODY

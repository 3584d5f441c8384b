"""Hits held against one another while one frame is filled: which say the same, and which cannot both be true.

A frame may guarantee hundreds of memories, and each is held against every other. So each is read once.
"""

from __future__ import annotations

from keepsake.records.claim import Claim, claim_of, conflict, gist
from keepsake.records.hit import Hit

_Said = tuple[str, tuple[str, ...]]  # a text, and its triple


class Compared:
    """What was read of the hits of one frame."""

    def __init__(self) -> None:
        self._gists: dict[str, str] = {}
        self._claims: dict[_Said, Claim | None] = {}

    def is_repeat(self, one: str, other: str) -> bool:
        """Whether two texts say the same in nearly the same words."""
        return one == other or self._gist(one) == self._gist(other)

    def conflict(self, one: Hit, other: Hit) -> str:
        """How two hits contradict each other, in a few words; nothing if they do not. What happened claims nothing."""
        mine, theirs = self._claim(one), self._claim(other)
        if mine is None or theirs is None or mine.subject != theirs.subject:
            return ""
        found = conflict(mine, theirs)
        return found.why if found else ""

    def _gist(self, text: str) -> str:
        if text not in self._gists:
            self._gists[text] = gist(text)
        return self._gists[text]

    def _claim(self, hit: Hit) -> Claim | None:
        if hit.what != "belief":
            return None
        said = hit.text, hit.triple
        if said not in self._claims:
            self._claims[said] = claim_of(*said)
        return self._claims[said]

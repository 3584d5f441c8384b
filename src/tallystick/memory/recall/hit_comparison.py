"""Hits held against one another while frames are filled: which say the same, and which cannot both be true.

A frame may guarantee thousands of memories. Each is read once, and held only against those that it can repeat or
contradict.
"""

from __future__ import annotations

from tallystick.records.hit import Hit
from tallystick.text.claims import Claim, claim_of, conflict, gist

_MOST = 4_000_000  # letters of texts, each of which counts for a few more
_LEAST = 200

_Said = tuple[str, tuple[str, ...]]  # a text, and its triple


class Compared:
    """What was read of hits; it depends on their texts alone."""

    def __init__(self) -> None:
        self._gists: dict[str, str] = {}
        self._claims: dict[_Said, Claim | None] = {}
        self._letters = 0

    def is_large(self) -> bool:
        """Whether it holds so much that it is better thrown away."""
        return self._letters > _MOST

    def is_repeat(self, one: str, other: str) -> bool:
        """Whether two texts say the same in nearly the same words."""
        return one == other or self.gist(one) == self.gist(other)

    def conflict(self, one: Hit, other: Hit) -> str:
        """How two hits contradict each other, in a few words; nothing if they do not. What happened claims nothing."""
        mine, theirs = self._claim(one), self._claim(other)
        if mine is None or theirs is None or mine.subject != theirs.subject:
            return ""
        found = conflict(mine, theirs)
        return found.why if found else ""

    def topic(self, hit: Hit) -> str | None:
        """What two hits must share to contradict each other."""
        claim = self._claim(hit)
        return claim.key if claim else None

    def gist(self, text: str) -> str:
        """What two texts must share to say the same."""
        if text not in self._gists:
            self._gists[text] = gist(text)
            self._letters += _LEAST + len(text)
        return self._gists[text]

    def _claim(self, hit: Hit) -> Claim | None:
        if hit.what != "belief":
            return None
        said = hit.text, hit.triple
        if said not in self._claims:
            self._claims[said] = claim_of(*said)
            self._letters += _LEAST + len(hit.text)
        return self._claims[said]

"""Salience: whether an episode is worth promoting. Recency × use × rule matches, a number from 0 to 1.

With f = `floor`, what each of the three counts for at its least, so that none alone decides:

    recency  f + (1 - f) × 0.5 ^ (hours_ago / half_life)
    use      (f + (1 - f) × uses / (uses + 3)) × (1 + good) / (1 + good + bad)
    matches  f, if no rule selects it; else f + (1 - f) × (1 + matches / rules) / 2
    score    recency × use × matches

                                                   score   worth it (0.05)
    fresh, never used, one rule of one selects it  0.3     yes
    fresh, never used, one rule of many            0.195   yes
    fresh, never used, none                        0.09    yes
    old, never used, one rule of many              0.059   yes
    old, used ten times, none                      0.075   yes
    old, never used, none                          0.027   no
    a month old, used three times, all three bad,
    one rule of many                               0.035   no

So one good reason is enough, and three weak ones are not; only what served badly can lose the vote of a rule. There is
no clock in here: the caller gives the age, in hours of the calendar or in hours worked. Another scorer may weigh it all
differently, as long as its scores are from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tallystick.records.episode import Episode
from tallystick.records.errors import Refused

WORTH = 0.05  # from this score on, an episode is promoted

_HALF_USED = 3  # so many uses count half of what any number can
_AGES = 1e12  # hours; older is as old


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An episode that may be promoted, and its use so far. Hours ahead of the clock count as none."""

    episode: Episode
    hours_ago: float
    uses: int = 0  # how often recall served it
    good: int = 0  # how often that helped
    bad: int = 0  # how often it misled
    matches: int = 0  # how many rules select it,
    rules: int = 0  # of how many there are

    def __post_init__(self) -> None:
        hours: object = self.hours_ago
        if isinstance(hours, bool) or not isinstance(hours, int | float) or hours != hours:
            raise Refused(f"hours_ago must be a number of hours, not {type(hours).__name__}")
        for name in ("uses", "good", "bad", "matches", "rules"):
            count = getattr(self, name)
            if type(count) is not int or count < 0:
                raise Refused(f"{name} must be a whole number from 0 on")


@runtime_checkable
class SalienceScorer(Protocol):
    """Says how much an episode is worth keeping as a fact: from 0, not at all, to 1."""

    def score(self, candidate: Candidate) -> float: ...


@dataclass(frozen=True, slots=True)
class UsualSalience:
    """The formula above. `half_life` is in the same hours as a candidate's `hours_ago`."""

    floor: float = 0.3
    half_life: float = 168.0  # a week

    def __post_init__(self) -> None:
        if not 0 <= self.floor <= 1:
            raise Refused(f"floor must be a number from 0 to 1, not {self.floor!r}")
        if not self.half_life > 0:
            raise Refused(f"half_life must be a number of hours above 0, not {self.half_life!r}")

    def score(self, candidate: Candidate) -> float:
        hours = min(max(candidate.hours_ago, 0), _AGES)
        recency = self._above_floor(0.5 ** (hours / self.half_life))
        judged = (1 + candidate.good) / (1 + candidate.good + candidate.bad)
        use = self._above_floor(candidate.uses / (candidate.uses + _HALF_USED)) * judged
        matches = self.floor
        if candidate.matches:
            matches = self._above_floor((1 + candidate.matches / max(candidate.matches, candidate.rules)) / 2)
        return recency * use * matches

    def _above_floor(self, part: float) -> float:
        return self.floor + (1 - self.floor) * part


def is_worth(score: float, *, threshold: float = WORTH) -> bool:
    """Whether an episode with this score is promoted. Refused, if the scorer gives no number from 0 to 1."""
    if not 0 <= score <= 1:
        raise Refused(f"a salience score must be a number from 0 to 1, not {score!r}")
    return score >= threshold

"""What an extractor reads out of an episode: a claim, how sure it is, and the words that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tallystick.records.episode import Episode
from tallystick.records.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One claim. `start` and `end` are where in the episode's content its evidence stands."""

    subject: str
    predicate: str
    object: str
    confidence: float
    start: int
    end: int
    is_denied: bool = False  # it is said not to hold, or to hold no longer
    instead_of: str = ""  # the object that it is said to hold in place of: "not A but B"
    is_hedged: bool = False  # "I think", "maybe": said, but not firmly
    valid_from: str = ""  # since when, as far as the words tell: a date, or a time in UTC
    valid_to: str = ""

    def __post_init__(self) -> None:
        if not (self.subject and self.predicate and self.object):
            raise Refused("a claim is of three: subject, predicate and object")
        if isinstance(self.confidence, bool) or not 0 <= self.confidence <= 1:
            raise Refused(f"confidence is a number from 0 to 1, not {self.confidence!r}")
        if not 0 <= self.start < self.end:
            raise Refused("a claim quotes the words that say it: they stand somewhere", "required")


@runtime_checkable
class Extractor(Protocol):
    """Reads claims from episodes. It proposes; what comes of it, the gate decides."""

    @property
    def name(self) -> str: ...

    def extract(self, episode: Episode) -> list[Extracted]: ...


@dataclass(frozen=True, slots=True)
class Malformed:
    """An episode that no delta could be made of, and why. The others are not held up by it."""

    episode_id: str
    reason: str

"""Claims that an extractor reads from an episode: how sure they are, and the words that state them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One claim. `start` and `end` are the place of its evidence in the episode's content."""

    subject: str
    predicate: str
    object: str
    confidence: float
    start: int
    end: int
    is_denied: bool = False  # it is said not to be true, or to be true no longer
    instead_of: str = ""  # the object that it replaces: "not A but B"
    is_hedged: bool = False  # "I think", "maybe"
    valid_from: str = ""  # a date, or a time in UTC, where the words say so
    valid_to: str = ""

    def __post_init__(self) -> None:
        if not (self.subject and self.predicate and self.object):
            raise Refused("a claim needs subject, predicate and object")
        must_be_share("confidence", self.confidence)
        if not 0 <= self.start < self.end:
            raise Refused("a claim needs the place of its words: 0 <= start < end", "required")


@runtime_checkable
class Extractor(Protocol):
    """Reads claims from episodes. It only proposes: the gate decides."""

    @property
    def name(self) -> str: ...

    def extract(self, episode: Episode) -> list[Extracted]: ...


@dataclass(frozen=True, slots=True)
class Malformed:
    """An episode that no delta could be made of, and why. The others go on."""

    episode_id: str
    reason: str

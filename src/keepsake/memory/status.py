"""What a memory tells of itself: how it stands, and what an erasure destroys."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from keepsake.records.belief import Belief


@dataclass(frozen=True, slots=True)
class Status:
    """A memory at a glance."""

    folder: str
    beliefs: int
    forgotten: int
    events: int
    ledger: str
    last: str  # time of the last event
    writable: bool
    trouble: str
    warning: str
    checkpoint: int | None  # events covered by the newest checkpoint kept outside the folder

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure destroys: the beliefs, how many events lose their words, and the copies it cannot reach."""

    beliefs: tuple[Belief, ...]
    events: int
    backups: tuple[str, ...]  # copies in the folder, which it reaches
    elsewhere: tuple[str, ...]  # copies that were made elsewhere, which it does not

    def to_dict(self) -> dict[str, Any]:
        found = [belief.to_dict() for belief in self.beliefs]
        return {
            "beliefs": found, "events": self.events, "backups": list(self.backups), "elsewhere": list(self.elsewhere),
        }  # fmt: skip

"""How a memory stands, and what an erasure would reach."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.belief import Belief
from tallystick.records.display import Displayable
from tallystick.records.episode import Episode


@dataclass(frozen=True, slots=True)
class PendingReview:
    """A question that waits for a person's yes, in short."""

    id: str
    asks: str
    trust: str  # of whoever asks


@dataclass(frozen=True, slots=True)
class Status(Displayable):
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
    checkpoint_at: str = ""  # when it was taken
    by: str = ""  # whose door the user's last write came through; empty if it was long ago
    learned: int = 0  # beliefs that were first stated in the last seven days
    episodes: int = 0
    pages: int = 0
    entities: int | None = None  # who or what was ever spoken about; None while there is no index
    paths: int = 0
    vectors: int = 0
    waiting: int = 0  # for a person's yes
    reviews: tuple[PendingReview, ...] = ()  # the first few of these
    size: int = 0  # bytes of the folder, backups and all
    times: str = ""  # what is wrong with the times of events, in a line; empty if nothing is


@dataclass(frozen=True, slots=True)
class Erasure(Displayable):
    """What an erasure destroys: the beliefs, how many events lose their words, and the copies it cannot reach."""

    beliefs: tuple[Belief, ...]
    events: int
    backups: tuple[str, ...]  # copies in the folder, which it reaches
    elsewhere: tuple[str, ...]  # copies that were made elsewhere, which it does not
    episodes: tuple[Episode, ...] = ()
    things: tuple[str, ...] = ()  # what else loses its words, such as page:person-bob

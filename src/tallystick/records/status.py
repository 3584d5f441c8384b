"""The status of a memory, the reach of an erasure, the log, the files of the ledger and its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallystick.records.belief import Belief
from tallystick.records.display import Displayable
from tallystick.records.episode import Episode
from tallystick.records.event import Event

# What a sweep of a database does not reach: archived WAL, base backups, dumps, the server's logs, orphans (files of no
# table, which a crash of the server has left), and the files of standbys until they have followed.
UNREACHED = ("archive", "backups", "dumps", "logs", "orphans", "standbys")


@dataclass(frozen=True, slots=True)
class PendingReview:
    id: str
    asks: str
    trust: str  # of the requester


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
    by: str = ""  # the client of the user's last write; empty if it was long ago
    learned: int = 0  # beliefs first stated in the last seven days
    episodes: int = 0
    pages: int = 0
    entities: int | None = None  # None while there is no index
    paths: int = 0
    vectors: int = 0
    waiting: int = 0  # pending reviews
    reviews: tuple[PendingReview, ...] = ()  # the first few
    size: int = 0  # bytes of the folder, including backups
    times: str = ""  # a warning about the times of events; empty if there is none


@dataclass(frozen=True, slots=True)
class Erasure(Displayable):
    """The reach of an erasure: beliefs, the number of events that are emptied, and the copies it cannot reach."""

    beliefs: tuple[Belief, ...]
    events: int
    backups: tuple[str, ...]  # in the folder, which it reaches
    elsewhere: tuple[str, ...]  # copies elsewhere, which it does not reach
    episodes: tuple[Episode, ...] = ()
    things: tuple[str, ...] = ()  # what else is erased, such as page:person-bob
    needs_sweep: bool = False  # of a database: the words are hidden at once, and in its files until a sweep


@dataclass(frozen=True, slots=True)
class Destruction(Displayable):
    """The end of an erasure in a database: its words were hidden at once, and destroyed in the files by a sweep."""

    place: str  # the ledger's
    event: int  # the erasure
    hidden: str
    destroyed: str
    unreached: tuple[str, ...] = UNREACHED

    def body(self) -> dict[str, Any]:
        """What the ledger says of it."""
        times = {"hidden": self.hidden, "destroyed": self.destroyed}
        return {"of": self.event, **times, "unreached": list(self.unreached)}


@dataclass(frozen=True, slots=True)
class Sweep(Displayable):
    """What a sweep of a database has done."""

    destroyed: tuple[Destruction, ...]  # and recorded
    pending: int  # erasures that are not destroyed yet, or not recorded
    trouble: str = ""  # why they are not


@dataclass(frozen=True, slots=True)
class LogPage(Displayable):
    """Events, newest first. To go on, pass `older` as `before`, and `newer` as `after`."""

    events: tuple[Event, ...]
    older: int | None  # None, if nothing is older
    newer: int | None  # None, if nothing was newer
    is_cut: bool = False  # True: the search stopped before the page was full


@dataclass(frozen=True, slots=True)
class ChainFile(Displayable):
    """A file of the chain: events `first` to `last`, or to the newest where it still grows (None)."""

    name: str  # within the memory's folder
    first: int
    last: int | None
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Kept(Displayable):
    """A checkpoint and its place. One that cannot be trusted says why in `trouble`, and has no size."""

    place: str  # the file
    name: str  # the witness
    outside: bool  # True: outside the memory's folder
    at: str  # when it was written there
    note: str = ""
    size: int = 0  # events that it covers
    ledger: str = ""  # the ledger's id
    head: str = ""
    root: str = ""
    trouble: str = ""

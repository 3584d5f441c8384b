"""What a memory tells of itself: how it stands, and what an erasure destroys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from keepsake.decide.belief import erase, what_goes
from keepsake.ledger.checkpoint import Keyring
from keepsake.memory import settings
from keepsake.memory.episodes import EpisodesOf
from keepsake.records.belief import Belief
from keepsake.records.episode import Episode
from keepsake.records.notebook import Shown
from keepsake.stores.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Status(Shown):
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
class Erasure(Shown):
    """What an erasure destroys: the beliefs, how many events lose their words, and the copies it cannot reach."""

    beliefs: tuple[Belief, ...]
    events: int
    backups: tuple[str, ...]  # copies in the folder, which it reaches
    elsewhere: tuple[str, ...]  # copies that were made elsewhere, which it does not
    episodes: tuple[Episode, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        found = [belief.to_dict() for belief in self.beliefs]
        return {
            "beliefs": found, "episodes": [each.to_dict() for each in self.episodes], "events": self.events,
            "backups": list(self.backups), "elsewhere": list(self.elsewhere),
        }  # fmt: skip


def status_of(shelf: Shelf, ring: Keyring, user: str) -> Status:
    """How the memory of one user stands."""
    with shelf.known() as known:
        ledger = shelf.ledger
        pin = ring.pin(ledger.standing.ledger)
        held, gone = (known.query(user=user, status=status) for status in ("active", "tombstone"))
        folder = ledger.folder
        return Status(
            str(folder.root), len(held), len(gone), ledger.end.seq + 1, ledger.standing.ledger, ledger.end.ts,
            os.access(folder.wal, os.W_OK), str(ledger.trouble or ""), settings.unsafe_place(folder.root),
            pin.size if pin else None,
        )  # fmt: skip


def what_would_go(shelf: Shelf, episodes: EpisodesOf, names: Sequence[str], user: str, path: str) -> Erasure:
    """What an erasure of these names would destroy."""
    with shelf.ledger.reading():
        book = shelf.book
        _, speaks = erase(book, names, user=user, path=path)
        held, of_episodes = what_goes(book, names, user=user, path=path)
        found = tuple(each.belief() for each in held)
    told = [episodes.get(name, user=user) for name in of_episodes]
    events, ledger = sum(speaks(event) for event in shelf.events()), shelf.ledger
    copies = tuple(copied.root.name for copied in ledger.folder.copies())
    return Erasure(found, events, copies, tuple(ledger.standing.copies), tuple(told))

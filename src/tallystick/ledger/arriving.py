"""`Arriving`: the place to which a ledger is being moved, until it is opened there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from tallystick.ledger.format import Line
from tallystick.ledger.protocol import Head


class Arriving(Protocol):
    """Lines are added to it in order, and nobody else can write to it, or read it, before it is opened.

    Every call may be the last one before a crash: the next process goes on after the head that it finds.
    """

    place: str
    has_rows: bool  # whether it is given the rows of the state

    @property
    def state(self) -> str:
        """'new', if nothing is there; 'arriving', if it was begun; 'open' or 'moved', if a ledger is there."""

    @property
    def ledger(self) -> str:
        """The id of the ledger that is there; empty, if there is none."""

    @property
    def head(self) -> Head:
        """The last event that is there."""

    def begin(self, origin: str) -> None:
        """Begin, or go on, with lines that come from a place; the head is known then. Refused, if others are there.

        Whoever began before cannot go on any more, or is not disturbed: then it is Busy.
        """

    def add(self, lines: Sequence[Line]) -> None:
        """Add the lines that follow the head: they are on disk when this returns. Busy, if somebody else does."""

    def lines(self) -> Iterator[Line]:
        """All lines that are there."""

    def add_rows(self, rows: Iterable[tuple[object, ...]]) -> None:
        """Add all rows of the state: table, key, value, events, since, until. What was added before is removed."""

    def open(self, erased: Sequence[Line], saved: bytes, shape: int, settings: str, notes: Sequence[str]) -> None:
        """Open it for everybody. The data of `erased` lines goes first.

        `saved` is what the ledger keeps with a position, and `shape` that of the rows. `settings` are a text, and
        `notes` checkpoints, the one that saw most first.
        """

    def close(self) -> None: ...

"""`Ledger`: the chain of one memory and the state that follows from it, wherever its lines are kept.

Whoever decides, serves or maintains goes through this alone. What is about files is in `folder/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tallystick.ledger.fold import LedgerMetadata
from tallystick.ledger.format import Line
from tallystick.ledger.merkle import Range
from tallystick.records.errors import Missing, TallystickError
from tallystick.records.event import Draft, Event

if TYPE_CHECKING:  # much to load, and seldom needed
    from tallystick.records.status import ChainFile

Decide = Callable[[], Sequence[Draft]]


class Head(Protocol):
    """The last event of a ledger."""

    @property
    def seq(self) -> int: ...
    @property
    def hash(self) -> str: ...
    @property
    def ts(self) -> str: ...


class Ledger(Protocol):
    """The one long-lived handle through which a process reads and writes a ledger."""

    by: str
    durability: str
    writable: bool
    trouble: TallystickError | None  # what is wrong, if anything: what is good is served, and nothing is written
    standing: LedgerMetadata
    began: int  # the event that the state's rows began with: they do not say what was before; -1: all was after it

    @property
    def head(self) -> Head:
        """The last event known here."""

    @property
    def first(self) -> int:
        """The first event that is still here."""

    def must_be_whole(self) -> None:
        """Raise what is wrong, if anything."""

    def must_be_here(self) -> None:
        """Raise RolledBack if it was removed since it was opened, or another one was put in its place."""

    def close(self) -> None: ...

    # -- reading -----------------------------------------------------------------------------------------------------

    def reading(self) -> AbstractContextManager[None]:
        """Everything that was written is known in the block, and nothing changes meanwhile in this process."""

    def turn(self) -> AbstractContextManager[None]:
        """One thread at a time, in the process that opened the ledger."""

    def hold(self) -> AbstractContextManager[None]:
        """Keep writers out for a moment, with everything they wrote known here."""

    def refresh(self) -> None:
        """Read what others wrote."""

    def lines(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[Line]:  # fmt: skip
        """The lines of events `start` … `stop - 1`, each checked. Missing if they are not all here, Damaged if one is
        bad. With `having`, only lines with all of these bytes; with `naming`, only lines with one of these."""

    def line(self, seq: int) -> Line:
        """The line of one event. NotFound, if there is none."""

    def slices(self, start: int, stop: int) -> Iterator[bytes]:
        """The hashed slice of each of these events. Nothing is checked."""

    def events(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[Event]:  # fmt: skip
        """The same as events, those that others wrote among them; erased ones have no body."""

    def recorded(self, seqs: Iterable[int]) -> dict[int, Event | None]:
        """The events of these numbers, in today's shape; one that the next line does not follow is left out.

        None: its line was moved away; -1 has this value where any was. Damaged, if a line is not as it was written.
        """

    def hash_at(self, seq: int) -> str | None:
        """The hash of event `seq`; None if it is not in the chain, or was moved away."""

    def dates(self) -> Callable[[int], str]:
        """The times of events by seq; each is looked up once."""

    def missing(self, start: int) -> Missing:
        """The error for events that were moved away, from `start` on."""

    def tree(self) -> Range:
        """The Merkle tree of all events known here."""

    def segments(self) -> list[ChainFile]:
        """The files of the chain that are here, in order."""

    # -- writing -----------------------------------------------------------------------------------------------------

    def now(self) -> str:
        """The time of the next event: one moment for the whole of a write."""

    def write(self, decide: Decide, *, by: str | None = None) -> list[Event]:
        """Record what `decide` returns, as one atomic group, and return it once it is on disk.

        `decide` is called under the lock, on current state; what it raises is passed on and nothing is written.
        """

    def append(self, drafts: Sequence[Draft], *, by: str | None = None) -> list[Event]:
        """Record `drafts` as they are."""

    def batch(self) -> AbstractContextManager[None]:
        """All writes of the block become one atomic group: on disk when the block ends, or not at all.

        The folder is locked meanwhile, so keep the block short. An exception in it undoes everything.
        """

    def in_batch(self) -> bool:
        """True if this thread has a batch open. Other threads wait."""

    # -- maintenance -------------------------------------------------------------------------------------------------

    def erase(self, choose: Callable[[], tuple[Iterable[str], Callable[[Event], bool]]]) -> int:
        """Erase the data of events; return how many there were.

        `choose` is called under the lock and returns the ids to erase, and a test of which events are about them.
        """

    def compact(self) -> int:
        """Close the live segment, which is kept whole in `sealed/`; return how many events of callers it holds."""

    def prune(self, to: Path) -> list[Path]:
        """Move the closed segments to the folder `to`, and return their new paths. A state file stands for them."""

    def back_up(self, to: Path | None = None) -> Path:
        """Make a consistent copy under `backup/`, or under `to`, and return its place."""

    def keep_checkpoint(self, note: str) -> None:
        """Keep a signed note beside the ledger, if it may be written."""

    def moved_to(self) -> str:
        """The place to which the lines have moved, if they have: this one is only read. Empty, if they have not."""

    def move_away(self, to: str) -> None:
        """Close it for writing, in every process and for good: from now on its lines are at the place `to`.

        The last of them names this place, where a copy stays. Doing it twice is the same as doing it once.
        """

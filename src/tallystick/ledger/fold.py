"""What follows from the lines of a ledger, wherever they are kept: the state, and the ledger's own metadata.

The ledger applies each event to a state that it never looks inside. Its metadata (its id, erasures, the places of
copies, which times are in doubt) is folded from its own events.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import Any, Protocol

from tallystick.ledger import format as fmt
from tallystick.records.errors import Busy, Damaged, NotWritable, TallystickError
from tallystick.records.event import Event, Position
from tallystick.records.times import Times


class StateStore(Protocol):
    """Where a state is stored between openings: rows in a file, and their position. The ledger says when."""

    @property
    def is_bad(self) -> bool:
        """True if the file could not be read, or is not in its place any more."""

    @property
    def head(self) -> str:
        """The hash of the last event that the rows on disk have followed."""

    def look(self, *, writable: bool) -> Position | None:
        """The position of the rows on disk; None if there are none that can be used. What is not saved is discarded."""

    def compare_with(
        self, recorded: Callable[[Iterable[int]], dict[int, Event | None]],
        sealed: Callable[[], tuple[int, mmap] | None],
    ) -> None:  # fmt: skip
        """Compare rows with these events whenever they are read; those of events that were moved away, with the state
        file in their place: its last event, and its bytes."""

    def has_moved(self) -> bool:
        """True if others wrote rows since the last look, or the file cannot be used any more."""

    def restart(self, *, alone: bool, had_events: bool = False, refused: bool = False) -> None:
        """Begin with empty tables: on disk, if nobody else uses the folder and nothing is in its place yet.

        A file that cannot be used is replaced by the next `save`, when it is known that the ledger is in order. If a
        ledger `had_events` and the file is missing, or its rows are `refused`, the tables that follow it are lost.
        """

    def replace_with(self, path: Path) -> None:
        """Put the rows at `path`, which somebody made, in the place of these, if there are any."""

    def everything(self) -> Iterable[tuple[object, ...]]:
        """Every row, now and past: table, key, value, events, since, until."""

    def spill(self) -> None:
        """Write what is many, without a position: if this process dies now, all is folded again."""

    def save(self, position: Position | None, events: Sequence[Event] = (), after: str = "") -> None:
        """Write all that is not written, with the position; what cannot be written stays in memory.

        In the same transaction the tables that follow the ledger take events, if they are where those begin: at the
        event with the hash `after`. Without a position, nothing else is done.
        """

    def pin(self, seq: int) -> bool:
        """Until `unpin`, read the rows as they are now. False, if others wrote some of later events than this."""

    def unpin(self) -> None: ...
    @property
    def is_pinned(self) -> bool: ...
    def rewrite(self, names: Collection[str], seq: int, ops: Collection[str], *, is_whole: bool) -> None:
        """Replace the file by one in which nothing is left of removed rows, nor of the ids that event `seq` erases.

        `ops` are of the events that it empties; none, if that is not known. `is_whole`: all events are here.
        """

    def close(self) -> None: ...


class Folded(Protocol):
    """The state that events are applied to. The ledger feeds it and never looks inside.

    Between `begin` and `commit` it can `rollback` to where it was.
    """

    def apply(self, event: Event) -> None: ...
    def knows(self, op: str) -> bool: ...
    def dump(self) -> Iterable[bytes]:
        """Every row as a line without its newline."""

    def load(self, rows: Iterable[bytes]) -> None:
        """Replace all with rows that `dump` gave. ValueError, if a row is not of this state."""

    def clear(self) -> None: ...
    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


# an empty state, for one use; in rows at a path, if one is given
Scratch = Callable[[Path | None], AbstractContextManager[tuple[Folded, StateStore | None]]]


@dataclass(slots=True)
class LedgerMetadata:
    """Metadata of a ledger. Applying the same events in the same order always gives the same metadata."""

    ledger: str = ""
    version: int = fmt.FORMAT
    begun: str = ""
    erasing: dict[int, list[str]] = field(default_factory=dict)  # seq of the erase event → line hashes
    erasures: int = 0
    copies: list[str] = field(default_factory=list)  # places outside the folder that hold copies
    abandoned: list[tuple[int, str]] = field(default_factory=list)  # heads that a restore or a repair left behind
    sealed_state: tuple[int, str] = (-1, "")  # the event up to which the newest one goes, and its digest
    epoch: int = 0  # how often the ledger was compacted
    callers: int = 0  # events that callers wrote, in the live segment
    strange: str = ""  # an unknown kind of event: the ledger is read-only for this program
    times: Times = field(default_factory=Times)

    def must_be_known(self, place: str) -> None:
        """Raise NotWritable if a newer program wrote the ledger at `place`: this one may read it."""
        if self.version > fmt.FORMAT or self.strange:
            newer = f"format {self.version}" if self.version > fmt.FORMAT else self.strange
            raise NotWritable(
                f"{place} was written by a newer tallystick ({newer}) and is read-only; upgrade tallystick"
            )

    def apply(self, event: Event, ts: str) -> None:
        """Apply an event. `ts` is the time of its line, also if it was first recorded elsewhere."""
        self.times.take(event.seq, ts)
        if event.op not in fmt.HOUSEKEEPING:
            self.callers += 1
        elif event.body is not None:
            self._apply_own(event, event.body)

    def _apply_own(self, event: Event, body: dict[str, Any]) -> None:
        """Apply an event that the ledger wrote about itself."""
        match event.op:
            case fmt.BEGIN:
                self.ledger, self.version, self.begun = body["ledger"], body["format"], event.ts
                if self.version > fmt.FORMAT:
                    self.strange = f"ledger format {self.version}"
            case fmt.SEAL:
                self.callers, self.epoch = 0, self.epoch + 1
            case fmt.STATE:
                self.sealed_state = (int(body["seq"]), str(body["digest"]))
            case fmt.ERASE:
                self.erasing[event.seq] = list(body["lines"])
                self.erasures += 1
            case fmt.ERASED:
                self.erasing.pop(body["of"], None)
            case fmt.COPY | fmt.PRUNE:
                if body["place"] not in self.copies:
                    self.copies.append(body["place"])
            case fmt.RESTORE:
                self._leave_behind(body)
            case fmt.REPAIR:
                self.ledger = self.ledger or str(body.get("ledger", ""))
                if "abandoned" in body:
                    self._leave_behind(body)
            case fmt.TIME:
                self.times.note(event.seq, event.ts, body)

    def _leave_behind(self, body: dict[str, Any]) -> None:
        self.abandoned += [(head["seq"], head["hash"]) for head in (body["abandoned"], *body.get("earlier", ()))]

    def dump(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger, "version": self.version, "begun": self.begun,
            "erasing": {str(seq): lines for seq, lines in self.erasing.items()}, "erasures": self.erasures,
            "copies": self.copies, "abandoned": self.abandoned, "epoch": self.epoch,
            "callers": self.callers, "strange": self.strange, "times": self.times.dump(), "state": self.sealed_state,
        }  # fmt: skip

    @classmethod
    def load(cls, raw: dict[str, Any]) -> LedgerMetadata:
        """Load what `dump` wrote."""
        return cls(
            ledger=raw["ledger"], version=raw["version"], begun=raw["begun"],
            erasing={int(seq): list(lines) for seq, lines in raw["erasing"].items()}, erasures=raw["erasures"],
            copies=list(raw["copies"]), abandoned=[(seq, hashed) for seq, hashed in raw["abandoned"]],
            epoch=raw["epoch"], callers=raw["callers"], strange=raw["strange"],
            times=Times.load(raw["times"]), sealed_state=(int(raw["state"][0]), str(raw["state"][1])),
        )  # fmt: skip


def moved_away(place: str, to: str) -> str:
    """The error of a write to a ledger that was moved away."""
    return f"{place} was moved to {to}: name that one instead; what is here can only be read"


def fold_line(line: fmt.Line, state: Folded, standing: LedgerMetadata) -> Event:
    """Apply the event of one line, in today's shape, and return it. An unknown kind makes the ledger read-only.

    Raises Damaged if the line is whole, but tallystick cannot have recorded that event.
    """
    try:
        event = line.event()
    except fmt.BadLine:
        raise _not_valid(line.seq, line.op) from None
    return fold_event(event, line.ts, state, standing)


def fold_event(event: Event, ts: str, state: Folded, standing: LedgerMetadata) -> Event:
    """The same of an event that was read already, and the time of its line."""
    try:
        event = lift(event)
        standing.apply(event, ts)
        if event.op in fmt.HOUSEKEEPING or state.knows(event.op):
            state.apply(event)
        else:
            standing.strange = event.op
    except (Busy, Damaged):
        raise
    except (LookupError, TypeError, ValueError, AttributeError, TallystickError):
        raise _not_valid(event.seq, event.op) from None
    return event


def _not_valid(seq: int, op: str) -> Damaged:
    return Damaged(f"event {seq} is whole, but not a valid {op}; run `tallystick check`")


# By op: a function that converts a body to the next version, like belief.put/1 to ("belief.put/2", body). The old event
# stays in the file forever; a ledger is never rewritten for a new shape.
LIFTS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {}


def lift(event: Event) -> Event:
    """Convert `event` to today's shape."""
    op, body = event.op, event.body
    while body is not None and op in LIFTS:
        op, body = LIFTS[op](body)
    return event if op is event.op else event._replace(op=op, body=body)

"""A memory folder, open: its ledger, what is held, and what was held at any moment before.

`Memory` and `ChronoStore` are two ways of speaking to the same folder. Every read first takes in what other processes
wrote; what is handed out is a copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from tallystick.ledger.chain import Chain
from tallystick.ledger.disk import Disk
from tallystick.ledger.layout import Folder
from tallystick.ledger.ledger import Ledger
from tallystick.records import ids
from tallystick.records.belief import OWNER
from tallystick.records.errors import NotWritten, Unfinished
from tallystick.records.event import Event
from tallystick.records.history import Change, Moment, Version, Why
from tallystick.records.operations import IMPORT_DONE
from tallystick.records.times import Times
from tallystick.state import history as timeline
from tallystick.state.beliefs import Beliefs
from tallystick.state.history import dependents, why
from tallystick.state.imports import Taken
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion

# Events that belong to a user.
_SOMEONES = (
    "belief.", "review.", "episode.", "receipt.", "outcome.", "rule.", "delta.", "page.", "path.", "trust.", "graph.",
    "import.", "relation.",
)  # fmt: skip
_SAYS_WHOSE = ("rule.", "delta.", "page.", "path.", "trust.", "graph.", "import.")


class OpenFolder:
    """One open folder. Options are those of the ledger."""

    def __init__(self, folder: Path, *, zone: Callable[[], tzinfo] | None = None, **options: Any) -> None:
        self.state, self._zone = State(), zone
        self.outlet: Any = None  # through which a program gets what it may read; none: a person's gets everything
        self.ledger = Ledger(folder, self.state, reach=_reach, **options)

    def close(self) -> None:
        self.ledger.close()

    def draw(self) -> Callable[[], str]:
        """A source of fresh belief ids for one decision, none of which is taken."""
        minute, drawn = self._on_the_clock(self.ledger.now()), set[str]()

        def fresh() -> str:
            name = ids.belief_id(minute, lambda name: name in drawn or self.state.taken(name))
            drawn.add(name)
            return name

        return fresh

    def _on_the_clock(self, ts: str) -> str:
        """A time of the ledger as this user's clock shows it: an id has the minute that stands on its page."""
        zone = self._zone() if self._zone else UTC
        return ts if zone is UTC else datetime.fromisoformat(ts).astimezone(zone).isoformat()

    @contextmanager
    def known(self, believed_at: Moment | None = None) -> Iterator[Beliefs]:
        """What is held, or was at that moment."""
        with self.ledger.reading():
            if believed_at is None:
                yield self.state
                return
            place = self.seq_at(believed_at)
        yield timeline.beliefs_at(self.ledger.events(), place)

    def seq_at(self, moment: Moment) -> int:
        """The last event that had been recorded by then; -1 if there was none. A time is looked up by halving.

        Doubted times name no place. What was recorded in the memory that this one goes on from has the times it had
        there; what was taken in beside others, the time of that.
        """
        then, chain, zone = timeline.as_written(moment), self.ledger.chain(), self.state.taken_in.zone
        if isinstance(then, int):
            return then
        first, times = max(chain.first, zone.began + 1), self.ledger.standing.times
        place = times.seq_at(then, max(first, zone.ended + 1), self.ledger.end.seq, chain.dates())
        if place > zone.ended:
            return place
        there = Times(steps=list(self.state.taken_in.steps))
        return there.seq_at(then, first, zone.ended, lambda seq: _recorded(chain, seq, self.state.taken_in))

    @contextmanager
    def in_steps(self) -> Iterator[None]:
        """What is recorded in several writes. If the disk refuses one of them, Unfinished: those before it stand."""
        began = self.ledger.end.seq
        try:
            yield
        except NotWritten as error:
            if self.ledger.end.seq == began:
                raise
            why = error.__cause__.strerror if isinstance(error.__cause__, OSError) else error
            raise Unfinished(
                f"not finished: a part is recorded and stays, and the disk refused the rest ({why});"
                " make room, then do it again: what is recorded is passed over"
            ) from error

    def events(self, start: int = 0) -> Iterator[Event]:
        """The events that are still here, from `start` on."""
        return self.ledger.events(max(start, self.ledger.chain().first))

    def events_of(self, user: str, start: int = 0) -> Iterator[Event]:
        """The same, without what was said by or about another user: no read crosses that wall.

        What the ledger records about itself names nobody, and is for everyone.
        """
        for event in self.events(start):
            owner = self.owner(event)
            if owner in (None, user):
                yield event

    def owner(self, event: Event) -> str | None:
        """Whose event it is; None if it is the ledger's own, or its words are gone."""
        if event.body is None or not event.op.startswith(_SOMEONES):
            return None
        if "receipts" in event.body:
            return str(event.body["receipts"][0].get("user", OWNER)) if event.body["receipts"] else None
        if "ids" in event.body or event.op.startswith(_SAYS_WHOSE):
            return str(event.body.get("user", OWNER))
        if "episode" in event.body:
            return str(event.body["episode"].get("user", OWNER))
        if "review" in event.body:
            return str(event.body.get("user", OWNER))
        if "belief" in event.body:
            return str(event.body["belief"].get("user", OWNER))
        with self.known() as known:
            return known.owner(str(event.body.get("id", "")))

    def history(self, name: str, *, user: str = OWNER, path: str = "") -> list[Version]:
        """Every version of a belief, oldest first. A branch's own begins with those it was made from."""
        with self.known() as known:
            held = known.get(name, user=user, path=path)
            first, before = timeline.begun(known, held)
            names = [*before, *known.ids_of(held)]
        found = timeline.history(self.ledger.events(first, naming=timeline.naming(names)), names)
        return [each for each in found if each.seq < held.first or each.belief.path == held.path]

    def diff(self, before: Moment, after: Moment | None = None, *, user: str = OWNER, path: str = "") -> list[Change]:
        """What came, went or changed between two moments, as a path sees it."""
        with self.known(before) as old, self.known(after) as new:
            return timeline.diff(old, new, user=user, path=path)

    def why(self, name: str, *, user: str = OWNER, path: str = "") -> Why:
        with self.known() as known:
            return why(known, known.get(name, user=user, path=path), path=path)

    def dependents(self, name: str, *, user: str = OWNER, path: str = "") -> list[CurrentVersion]:
        with self.known() as known:
            return dependents(known, known.get(name, user=user, path=path), path=path)


def _reach(disk: Disk, folder: Folder, ids: Collection[str]) -> None:
    """What is erased is cut out of the pages too."""
    from tallystick.stores.page_erasure import cut_out  # only where something is erased

    cut_out(disk, folder, ids)


def _recorded(chain: Chain, seq: int, taken_in: Taken) -> str:
    """When an event of another memory was recorded there. One whose words are gone goes by the one before it."""
    while taken_in.zone.began < seq:
        if joined := taken_in.joined_at(seq):
            return joined
        told = chain.line(seq).event()
        if told.body is not None and told.op != IMPORT_DONE:  # that was written here, with them
            return told.ts
        seq -= 1
    return ""


def is_memory(folder: Path) -> bool:
    """Whether a ledger lives at `folder`."""
    return os.path.exists(folder / "events.wal")

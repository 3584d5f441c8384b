"""An open ledger, wherever it is kept: the current beliefs, those of any moment before, and what was recorded.

`OpenFolder` and `OpenDatabase` open one. Every read first reads what other processes wrote; results are copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tallystick.decide.entities import entities_called
from tallystick.decide.trust import withheld
from tallystick.ledger.disk import Disk
from tallystick.ledger.protocol import Ledger
from tallystick.ledger.settings_file import SettingsText
from tallystick.projections.recorded import LedgerView
from tallystick.projections.tables.file import StateFile
from tallystick.projections.tables.past import TablesAt
from tallystick.projections.tables.rows import RowTables
from tallystick.records import ids
from tallystick.records.belief import OWNER, Change, Mark, Moment, Version, Why
from tallystick.records.errors import NotWritten, Unfinished
from tallystick.records.event import Event, origin_of
from tallystick.records.operations import IMPORT_DONE
from tallystick.records.times import Times
from tallystick.state import history as timeline
from tallystick.state.aliases import Aliases
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.history import dependents, why
from tallystick.state.imports import Taken
from tallystick.state.state import PastState, State

if TYPE_CHECKING:
    from tallystick.ledger.checkpoint import Claim, Keyring
    from tallystick.records.progress import Progress
    from tallystick.records.report import Report

# Events that belong to a user.
_SOMEONES = (
    "belief.", "review.", "episode.", "receipt.", "outcome.", "rule.", "delta.", "page.", "path.", "trust.", "graph.",
    "import.", "relation.",
)  # fmt: skip
_MANY = 5_000  # events, after which the rows of a fold are written if they are many
_SAYS_WHOSE = ("rule.", "delta.", "page.", "path.", "trust.", "graph.", "import.")


class OpenLedger:
    """One open ledger and the state that follows from it."""

    root: Path | None = None  # the folder that it is in; None: it is in a database
    place: str  # for messages, without a password
    settings: SettingsText
    disk = Disk()  # for files that leave the memory
    rows_path: Path | str = ""  # of the tables that follow from the ledger; empty: a temporary database of this process
    followed: Mapping[str, int] = MappingProxyType({})  # the last event that each of them took in with its write

    def __init__(
        self, ledger: Ledger, state: State, tables: RowTables, zone: Callable[[], tzinfo] | None = None
    ) -> None:  # fmt: skip
        """`zone` is that of the user's clock, for ids."""
        self.ledger, self.state, self._tables, self._zone = ledger, state, tables, zone
        self.outlet: Any = None  # filters what a program may read; None: a person, who may read everything

    def close(self) -> None:
        self.ledger.close()

    def again(self) -> OpenLedger:
        """The same ledger, opened once more, whatever pins say about it."""
        raise NotImplementedError

    def verify(
        self, keyring: Keyring | None, brought: tuple[str, str], *, processes: int, on_progress: Progress | None
    ) -> Report:
        """Check every line, from the first that is here to the last; against what was signed, if there is a keyring,
        and a checkpoint that was `brought` with its key, if these are not empty."""
        raise NotImplementedError

    def claims(self, keyring: Keyring) -> list[Claim]:
        """The checkpoints, each with its signature checked: those that are pinned, and the one beside the ledger."""
        raise NotImplementedError

    def outcome(self, request: str) -> list[Event] | None:  # noqa: ARG002
        """What a request has recorded whose outcome was unknown; None if nothing. A folder has no such requests."""
        return None

    def may_be_written(self) -> bool:
        """True if this user may write there, however it was opened."""
        return self.ledger.writable

    def is_held(self) -> bool:
        """True if somebody is writing at this moment, as far as that can be known."""
        return False

    def copies(self) -> tuple[str, ...]:
        """The names of the backups inside the folder."""
        return ()

    def must_reach(self) -> None:
        """Raise NotWritten if a page or copy cannot be read: an erasure would leave its words."""

    def remove_page_from_copies(self, path: str) -> None:
        """Remove a page from the backups inside the folder: its words are erased."""

    def lost_rows(self) -> bool:
        """Whether the file of all tables could not be read since this was last asked."""
        return False

    def discard_rows(self) -> None:
        """Make the file of all tables again: it is damaged."""

    def view(self) -> LedgerView:
        """What the ledger says, for those who serve rows. The caller has the ledger's turn."""
        state, times = self.state, self.ledger.standing.times

        def is_clear(name: str) -> bool:
            return state.reviews.is_approved(name) or state.distrusts.is_borne_out(name)

        def is_distrusted(event: Event, said: Mapping[str, Any]) -> bool:
            told = {"agent": said.get("agent", ""), "session": said.get("session", "")}
            trust, user = said.get("trust", "human"), said.get("user", OWNER)
            by = origin_of(event).by
            return state.distrusts.against(user, by=by, seq=event.seq, trust=trust, **told) is not None

        def names(user: str, about: str) -> set[str]:
            return {name for name, _, _ in state.pages.names(user, about)}

        def aliases(user: str, name: str, paths: Sequence[str], at: int) -> Mapping[str, Sequence[str]]:
            is_now = at >= self.ledger.head.seq
            known = state.aliases if is_now else Aliases(TablesAt(self._tables, at))
            return known.of(user, name, paths)

        return LedgerView(
            self.ledger.head.seq, bool(times.doubted), self.ledger.recorded,
            lambda name: state.version(name) or state.episodes.of(name), is_clear, is_distrusted, state.pages.front,
            names, aliases, self.marks_of,
        )  # fmt: skip

    def draw(self) -> Callable[[], str]:
        """A source of new belief ids for one decision. An id has the minute of the user's clock, as on a page."""
        now, zone = self.ledger.now(), self._zone() if self._zone else UTC
        drawn: set[str] = set()
        minute = now if zone is UTC else datetime.fromisoformat(now).astimezone(zone).isoformat()

        def fresh() -> str:
            name = ids.belief_id(minute, lambda name: name in drawn or self.state.taken(name))
            drawn.add(name)
            return name

        return fresh

    def marks_of(self, name: str, path: str = "", at: float = inf) -> list[Mark]:
        """What other beliefs that are seen from a path say otherwise than a version, after that event."""
        with self.ledger.reading():
            if not self.state.comparisons.has_any():
                return []
            is_now, seq = at >= self.ledger.head.seq, int(min(at, self.ledger.head.seq))
            known = self.state if is_now else PastState(TablesAt(self._tables, seq), self.state.paths, seq)
            held = known.version(name)
            found = known.comparisons.of(known, held) if held else ()
            return [mark for other, mark in found if known.sees(other, path) and not withheld(self.state, other)]

    def entities_called(self, name: str, user: str, path: str = "") -> list[str]:
        """The entities that a name may mean; the name itself, if it is nobody's."""
        with self.ledger.reading():
            return entities_called(self.state, name, user, path) or [name]

    @contextmanager
    def known(self, believed_at: Moment | None = None) -> Iterator[State | PastState]:
        """The current beliefs, or those of that moment."""
        with self.ledger.reading():
            if believed_at is None:
                yield self.state
                return
            seq = min(self.seq_at(believed_at), self.ledger.head.seq)
            if seq >= self._past_from:
                yield self.at(seq)
                return
        with scratch() as (state, store):  # the rows begin later; Missing, if the lines were moved away
            for event in self.ledger.events():
                if event.seq > seq:
                    break
                state.apply(event)
                if event.seq % _MANY == 0:
                    store.spill()
            yield state

    @property
    def _past_from(self) -> int:
        """The first event after which the rows say what was known."""
        return max(self.ledger.began, self.ledger.first - 1)

    def at(self, seq: int) -> PastState:
        """The beliefs right after an event. Missing, if the rows do not say. The caller has the ledger's turn."""
        if seq < self._past_from:
            raise self.ledger.missing(seq)
        return PastState(TablesAt(self._tables, seq), self.state.paths, seq)

    def seq_at(self, moment: Moment) -> int:
        """The last event that had been recorded by then; -1 if there was none. A time is looked up by bisection.

        A doubtful time refers to no place. Events of the memory that this one continues have the times they had there;
        events that were imported into an existing memory, the time of the import.
        """
        then = timeline.as_written(moment)
        if isinstance(then, int):
            return then
        ledger, zone = self.ledger, self.state.taken_in.zone
        first, times = max(ledger.first, zone.began + 1), ledger.standing.times
        place = times.seq_at(then, max(first, zone.ended + 1), ledger.head.seq, ledger.dates())
        if place > zone.ended:
            return place
        there = Times(steps=list(self.state.taken_in.steps))
        return there.seq_at(then, first, zone.ended, lambda seq: _recorded(ledger, seq, self.state.taken_in))

    @contextmanager
    def in_steps(self) -> Iterator[None]:
        """Several writes. If the disk refuses one of them, Unfinished: those before it stay."""
        began = self.ledger.head.seq
        try:
            yield
        except NotWritten as error:
            if self.ledger.head.seq == began:
                raise
            why = error.__cause__.strerror if isinstance(error.__cause__, OSError) else error
            raise Unfinished(
                f"not finished: a part is recorded and stays; the disk refused the rest ({why});"
                " free some space, then do it again: what is recorded is skipped"
            ) from error

    def events(self, start: int = 0) -> Iterator[Event]:
        """The events that are here, from `start` on."""
        return self.ledger.events(max(start, self.ledger.first))

    def events_of(self, user: str, start: int = 0) -> Iterator[Event]:
        """The events of one user, and the ledger's own, which belong to nobody: no read crosses users."""
        return (event for event in self.events(start) if self.owner(event) in (None, user))

    def owner(self, event: Event) -> str | None:
        """The user of an event; None if it is the ledger's own, or was erased."""
        if event.body is None or not event.op.startswith(_SOMEONES):
            return None
        if stated := event.body.get("episode") or event.body.get("belief"):
            return str(stated.get("user", OWNER))
        if "receipts" in event.body:
            return str(event.body["receipts"][0].get("user", OWNER)) if event.body["receipts"] else None
        if "ids" in event.body or "review" in event.body or event.op.startswith(_SAYS_WHOSE):
            return str(event.body.get("user", OWNER))
        with self.known() as known:
            return known.owner(str(event.body.get("id", "")))

    def history(self, name: str, *, user: str = OWNER, path: str = "") -> list[Version]:
        """Every version of a belief, oldest first; on a branch, beginning with those it branched from."""
        with self.known() as known:
            current = known.get(name, user=user, path=path)
            first, before = timeline.begun(known, current)
            names = [*before, *known.ids_of(current)]
        found = timeline.history(self.ledger.events(first, naming=timeline.naming(names)), names)
        return [each for each in found if each.seq < current.first or each.belief.path == current.path]

    def diff(self, since: Moment, until: Moment | None = None, *, user: str = OWNER, path: str = "") -> list[Change]:
        """The changes between two moments, as a path sees them, in the order of the last change of each belief."""
        with self.known(since) as old, self.known(until) as new:
            found = timeline.diff(old, new, user=user, path=path)
            events = self.ledger.recorded(each.seq for each in found)
        made = ((each, events.get(each.seq)) for each in sorted(found, key=lambda each: each.seq))
        return [replace(each, at=event.ts, by=event.by) if event else each for each, event in made]

    def why(self, name: str, *, user: str = OWNER, path: str = "") -> Why:
        with self.known() as known:
            return why(known, known.get(name, user=user, path=path), path=path)

    def dependents(self, name: str, *, user: str = OWNER, path: str = "") -> list[CurrentVersion]:
        with self.known() as known:
            return dependents(known, known.get(name, user=user, path=path), path=path)


@contextmanager
def scratch(path: Path | None = None) -> Iterator[tuple[State, StateFile]]:
    """An empty state in a database of its own; in a temporary one, if it has no path."""
    store = StateFile(path or Path())
    state = State(store.tables)
    store.restart(alone=path is not None)
    try:
        yield state, store
    finally:
        store.close()


def _recorded(ledger: Ledger, seq: int, taken_in: Taken) -> str:
    """The time at which an imported event was recorded; of an erased one, that of the event before it."""
    while taken_in.zone.began < seq:
        if joined := taken_in.joined_at(seq):
            return joined
        event = ledger.line(seq).event()
        if event.body is not None and event.op != IMPORT_DONE:  # that one was written here
            return event.ts
        seq -= 1
    return ""

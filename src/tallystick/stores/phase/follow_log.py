"""A graph that follows its log: what is recorded is carried out, what is brought over is recorded first.

The log is the truth; profiles, nodes, edges and paths follow from it and can be written again. Log first, graph after.
Before the first line is written its event is noted (see `recovery`), so what a crash leaves in between is carried out
by whoever comes next. Doing it twice is the same as doing it once. A file of records that cannot be read is kept aside
and written again before anything else is, and the audit says so.

What is recorded is recorded: if the graph cannot follow at once, that is `Unfinished`, and nothing is to be said twice.
What a newer program wrote is not written to.

`import_envelope` brings an envelope over as a whole. Its events go into the log as they are; a record that the log,
with these, does not explain becomes an event of its own. So a replay of the log gives the graph. What no event can say
(metadata, a path without its events) is saved beside it. What a store was told directly, past the log, stays there
untold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

import orjson

from tallystick.records.clock import Clock, stamp
from tallystick.records.errors import (
    Damaged,
    NeedsApproval,
    NotFound,
    NotWritten,
    Refused,
    TallystickError,
    Unfinished,
)
from tallystick.records.fields import moment
from tallystick.records.graph.envelope import GraphEnvelope, Records
from tallystick.records.graph.events import ABANDON, MERGE, MemoryEvent, shown
from tallystick.records.graph.fields import RecordFields, line_of
from tallystick.records.graph.lifecycle import PhasePolicy
from tallystick.records.path import CLOSED, OPEN, MemoryPath
from tallystick.stores.phase.actions import concerned
from tallystick.stores.phase.audit import AuditSink, JsonlAuditSink
from tallystick.stores.phase.audit_check import lines_of, unaudited
from tallystick.stores.phase.diagnostics import (
    RECORDS,
    Comparison,
    compared,
    following,
    held_in,
    imported,
    is_on_a_branch,
    is_own,
    must_make_sense,
    paths_after,
    stored,
)
from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
from tallystick.stores.phase.event_log.line import must_be_free, must_fit
from tallystick.stores.phase.event_log.path_states import PathBook
from tallystick.stores.phase.event_log.protocol import MemoryEventLog
from tallystick.stores.phase.event_log.replay import Fold, GraphSnapshot, puts_of
from tallystick.stores.phase.gate import Gate
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import KeptGraph
from tallystick.stores.phase.graph.contents import Lines
from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
from tallystick.stores.phase.graph.in_memory import InMemoryMemoryGraphStore
from tallystick.stores.phase.graph.protocol import MemoryGraphStore
from tallystick.stores.phase.recovery import Turn

_IMPORTED = "import it with the events that carry the approval, or without that change; nothing was imported"


@dataclass(frozen=True, slots=True)
class Taken:
    """What an envelope brings: events that are new here, records that become events, paths that no event tells of."""

    events: int
    records: dict[str, int]  # by part
    paths: tuple[MemoryPath, ...]
    known: int  # events that were here already
    replaced: int  # records that were here and were other


@dataclass(frozen=True, slots=True)
class Brought:
    """An envelope that was judged: its events, the records that become events, and what the log comes to with both."""

    taken: Taken
    lines: dict[str, bytes]
    records: Lines
    when: str
    fold: Fold  # without the records

    def events(self) -> Iterator[tuple[str, bytes]]:
        """What is to be appended to the log, made as it is asked for: ids and lines."""
        yield from ((name, line + b"\n") for name, line in self.lines.items())
        yield from _imported(self.records, self.when)


class Follows:
    """A graph store and the log that it follows."""

    store: MemoryGraphStore
    log: MemoryEventLog
    audit: AuditSink
    policy: PhasePolicy
    rebuilt: list[str]  # files that could not be read and were written again, and why
    _clock: Clock
    _turn: Turn

    # -- before anything is written ------------------------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Iterator[MemoryEvent | None]:
        """The turn, with all done that a crash or a damaged file left undone; the event that was under way, if any."""
        self._must_be_known()
        with self._turn.held():
            self._must_be_known()
            yield self._caught_up()

    def _must_be_known(self) -> None:
        """NotWritable, if a newer program wrote any of it; Damaged, if the log is gone."""
        for place in (self.store, self.log, self.audit):
            if isinstance(place, FileBackedMemoryGraphStore | JsonlMemoryEventLog | JsonlAuditSink):
                place.must_be_known()
        self._turn.under_way()
        if is_own(self.store, self.log) and layout.lacks_log(self.log.path.parent):  # type: ignore[attr-defined]
            way = "restore it from a copy; if there is none, `tallystick store export` and import that elsewhere"
            raise Damaged(f"{layout.EVENTS} is missing: {way}; nothing was written")

    def _caught_up(self) -> MemoryEvent | None:
        name, broken = self._turn.under_way(), self._broken()
        event = self.log.get(name) if name and name in self.log else None
        if broken or event is not None or name is None:
            self._put_back(self._folded().fold, rewrite=True)
            self._note_rebuilt(broken)
        if name != "":
            self._turn.note("")
        return event

    def _broken(self) -> dict[str, str]:
        """The files of records that cannot be read, and why."""
        store = self.store
        if not isinstance(store, FileBackedMemoryGraphStore):
            return {}
        store.refresh()
        broken = store.broken()
        return {each.file: f"{each.place}: {each.reason}" for each in store.problems() if each.file in broken}

    def _note_rebuilt(self, broken: dict[str, str]) -> None:
        for place, why in broken.items():
            self.audit.record(f"rebuild {place}", "tallystick", stamp(self._clock()), "rebuilt", reason=why[:500])
            source = "what could be read" if place.startswith("activation_plans/") else "the log"
            self.rebuilt.append(f"{place} was written again from {source}, and is kept in {layout.DAMAGED}/: {why}")

    # -- recording -----------------------------------------------------------------------------------------------------

    def record(self, events: Iterable[MemoryEvent]) -> None:
        """Append events and let the graph follow: all of them or, if one is refused, none.

        Refused, if an id is taken, a path is not open, or a put carries no record. NeedsApproval, if it would do what
        stands behind the gate: that is done by `apply`. Unfinished, if they are recorded and the graph cannot follow.
        """
        fresh = list(events)
        with self._held():
            judge = self._judge(fresh)
            must_make_sense(judge, fresh)
            self._record_all(fresh, judge)

    def _judge(self, events: Iterable[MemoryEvent]) -> Gate:
        """The gate before the graph as it is. Where a branch is concerned, it knows all that the log says."""
        paths = self.store.list_paths()
        if not is_on_a_branch(PathBook(paths), events):
            return Gate(self.policy, held_in(self.store), paths)
        judge = self._folded()
        judge.held = held_in(self.store)
        return judge

    def _folded(self) -> Gate:
        """All that the log says, by the gate."""
        judge = Gate(self.policy)
        for event in self.log:
            judge.why_not(event)
        judge.fold.lend(self.store.list_paths())
        return judge

    def _record_all(self, fresh: list[MemoryEvent], judge: Gate) -> None:
        """Note it, record it, carry it out, clear the note."""
        if not fresh:
            return
        must_be_free((fresh[0].id,), self.log)  # what is noted is what is new
        with self._recording(fresh[0].id):
            self.log.extend(fresh)
        with self._carrying_out():
            if any(event.kind in (MERGE, ABANDON) for event in fresh):
                self._put_back(self._folded().fold)
            else:
                self._put(judge.fold, fresh)
        self._clear()

    @contextmanager
    def _recording(self, name: str) -> Iterator[None]:
        if isinstance(self.log, JsonlMemoryEventLog):
            self.log.create()  # so that one which is missing later was lost
        self._turn.note(name)
        try:
            yield
        except TallystickError:
            self._clear()
            raise

    @contextmanager
    def _carrying_out(self) -> Iterator[None]:
        try:
            yield
        except TallystickError as error:
            why = str(error).removesuffix(" and try again")
            said = "it is recorded, not to be repeated, and the graph follows with the next call"
            raise Unfinished(f"{said}: {why}") from error

    def _clear(self) -> None:
        """Nothing is under way any more. A disk that refuses to note that is no reason to fail: it is done."""
        with suppress(NotWritten):
            self._turn.note("")

    def _put(self, fold: Fold, events: list[MemoryEvent]) -> None:
        """Put what is current of the records that events put, and the paths that they change."""
        lines: Lines = {}
        for event in events:
            for what, name, _ in puts_of(event):
                line = fold.seen(what, name)
                if line is not None:
                    lines.setdefault(f"{what}s", {})[name] = line
        lines["paths"] = {path.path_id: line_of(path.to_dict()) for path in paths_after(self.store, events)}
        _put_into(self.store, lines, {})

    def _put_back(self, fold: Fold, *, rewrite: bool = False) -> None:
        """Put every record that the log tells of as the log says, and drop what is of a branch alone."""
        _put_into(self.store, *following(self.store, fold), rewrite=rewrite)

    def finish(self) -> MemoryEvent | None:
        """Carry out what a crash left on record and not done; which event it begins with. None, if there is nothing."""
        with self._held() as event:
            return event

    def seen_from(self, path: str) -> MemoryGraphStore:
        """The graph as it is seen from a path: the store itself, if all begins there, else a copy in memory."""
        paths = {each.path_id: each for each in self.store.list_paths()}
        begin = [name for name, each in paths.items() if not each.parent_id and each.state in (OPEN, CLOSED)]
        if not path or begin == [path]:
            return self.store
        if path not in paths:
            raise NotFound(f"there is no path {path!r}; branch it first")
        copy = InMemoryMemoryGraphStore()
        copy.import_envelope(replace(self.store.export_envelope(), events=()))
        copy.put_back(*following(copy, self._folded().fold, path))
        return copy

    # -- bringing over -------------------------------------------------------------------------------------------------

    def import_envelope(
        self, envelope: GraphEnvelope, *, at: datetime | str | None = None, dry_run: bool = False
    ) -> Taken:  # fmt: skip
        """Bring over all of an envelope, or nothing; `at` is when that is said to happen, now if left out.

        What is here under the same id is replaced, and the log says so; an event never is. NeedsApproval, if anything
        would be done by it that needs an approval, and it brings none that counts. Those that it brings are audited.
        """
        when = moment(self._clock() if at is None else at)
        if dry_run:
            return self._judged_envelope(envelope, when).taken
        with self._held():
            brought = self._judged_envelope(envelope, when)
            self._audit_imported(envelope.events)
            first = next(brought.events(), None)
            if first is not None:
                with self._recording(first[0]):
                    _extend(self.log, brought.events())
                with self._carrying_out():
                    lines, gone = following(self.store, brought.fold)
                    for part, some in brought.records.items():
                        lines[part] = lines[part] | some if lines[part] else some
                    _put_into(self.store, lines, gone)
                self._clear()
            self._save_beside(envelope, brought.taken.paths)
        return brought.taken

    def _judged_envelope(self, envelope: GraphEnvelope, when: str) -> Brought:
        """What an envelope brings, judged: by what the log says, and for what no event tells of by what is here."""
        envelope.check()
        lines = {name: line for name, line, _ in envelope.settled("events")}
        given, here = len(lines), {what: stored(self.store, f"{what}s") for what in RECORDS}
        judge = self._judged_events(lines, here)
        records, first = ({f"{what}s": dict[str, bytes]() for what in RECORDS} for _ in range(2))
        count, replaced = len(lines), 0
        for what, name, line, record in _untold(envelope, judge.fold):
            why = judge.why_not_put(what, name, record)
            if why:
                raise NeedsApproval(f"{why}; {_IMPORTED}", why=why.why)
            is_of_branch = judge.fold.told(what, name) and judge.fold.seen(what, name) is None
            (first if is_of_branch else records)[f"{what}s"][name] = line  # what branched off it comes after it
            replaced += here[what].get(name, line) != line
        counts = {part: len(records[part]) + len(first[part]) for part in records}
        if any(first.values()):
            lines = {name: line[:-1] for name, line in _imported(first, when)} | lines
            judge = self._judged_events(lines, here)
        paths = tuple(path for path in envelope.paths if path.path_id not in judge.fold.state)
        _must_leave_open(self.store.list_paths(), paths)
        judge.fold.lend((*self.store.list_paths(), *paths))
        taken = Taken(count, counts, paths, given - count, replaced)
        return Brought(taken, lines, records, when, judge.fold)

    def _judged_events(self, lines: dict[str, bytes], here: Lines) -> Gate:
        """The gate after the log and those of `lines` that are not in it; the others are taken out of `lines`."""
        judge = Gate(self.policy)
        for event in self.log:
            judge.why_not(event)
            if event.id in lines and lines.pop(event.id) != event.to_line()[:-1]:
                raise Refused(
                    f"event {shown(event.id)} is here already and says otherwise; an event is never changed", "exists"
                )
        judge.held = lambda what, name: _loaded(here[what].get(name))
        for name, line in lines.items():
            must_fit(name, line)
            why = judge.why_not(MemoryEvent.judged(orjson.loads(line)))
            if why:
                raise NeedsApproval(f"event {shown(name)}: {why}; {_IMPORTED}", why=why.why)
        return judge

    def _audit_imported(self, events: Iterable[MemoryEvent]) -> None:
        """Note the approvals that an envelope brings, also of events that are here already: each once."""
        for event, action in unaudited(events, lines_of(self.audit), self.policy):
            approval = event.payload["approval"]
            self.audit.record(
                action.label, action.by, event.at, "granted", approval, concerned(action), reason="imported"
            )

    def _save_beside(self, envelope: GraphEnvelope, paths: tuple[MemoryPath, ...]) -> None:
        """What no event says: which profile is the first, paths without events, metadata."""
        rest = replace(envelope, nodes=(), edges=(), events=(), paths=paths)
        if paths or rest.metadata or rest.extra or rest.profiles:
            self.store.import_envelope(rest)

    # -- replaying -----------------------------------------------------------------------------------------------------

    def compare(self) -> Comparison:
        """The stored graph beside the one that the log makes. Nothing is changed."""
        return compared(self.store, self._folded().fold)

    def replay(self, path: str | None = None) -> GraphSnapshot:
        """The graph that the log makes, without what the gate does not let pass; with a path, as seen from there."""
        return self._folded().fold.snapshot(path)

    def rebuild(self) -> Comparison:
        """Put every record that the log tells of as the log says. What no event tells of stays as it is.

        What was found before is returned. An event that needs an approval and has none is not carried out:
        `snapshot.refused` of what is returned names it.
        """
        found = self.compare()
        with self._held():
            if not found.is_same:
                self._put_back(self._folded().fold)
            return found


def _put_into(store: MemoryGraphStore, lines: Lines, gone: dict[str, set[str]], *, rewrite: bool = False) -> None:
    """Let a store follow. One of another make cannot drop anything: there, what is gone stays."""
    if isinstance(store, KeptGraph):
        store.put_back(lines, gone, rewrite=rewrite)
        return
    for line in lines.pop("profiles", {}).values():
        store.import_envelope(GraphEnvelope(profile=orjson.loads(line)))
    parts = {part: Records[Any](part, some.values(), is_judged=True) for part, some in lines.items()}
    store.import_envelope(GraphEnvelope(**parts))  # type: ignore[arg-type]


def _extend(log: MemoryEventLog, lines: Iterable[tuple[str, bytes]]) -> None:
    """Append events that were judged, all or none; as they are, if the log can take lines."""
    extend = getattr(log, "extend_lines", None)
    if extend is not None:
        extend(lines)
    else:
        log.extend(MemoryEvent.judged(orjson.loads(line)) for _, line in lines)


def _loaded(line: bytes | None) -> RecordFields | None:
    return None if line is None else orjson.loads(line)


def _must_leave_open(here: Iterable[MemoryPath], given: Iterable[MemoryPath]) -> None:
    """NeedsApproval, if a record that no event explains would end a path that is here, or open it again."""
    states = {path.path_id: path.state for path in here}
    for path in given:
        if states.get(path.path_id, path.state) != path.state:
            ends = f"path {shown(path.path_id)} is {states[path.path_id]} here; only an event or an action changes that"
            raise NeedsApproval(f"{ends}; {_IMPORTED}")


def _untold(envelope: GraphEnvelope, fold: Fold) -> Iterator[tuple[str, str, bytes, RecordFields]]:
    """The records that the log does not explain: what each is, its id, its line, what it says.

    Earlier programs exported what was on a branch as if it were current; the envelope's own events tell it apart.
    """
    branches = {
        (what, name, line_of(record)) for _, _, told in envelope.settled("events")
        if told["path_id"] and not fold.is_current(told["path_id"])
        for what, name, record in puts_of(MemoryEvent.judged(told))
    }  # fmt: skip
    for what in RECORDS:
        first = envelope.profile if what == "profile" else None
        head = [] if first is None else [(first.id, first.to_line(), first.to_dict())]
        for name, line, record in chain(head, envelope.settled(f"{what}s")):
            if fold.seen(what, name) != line and (what, name, line) not in branches:
                yield what, name, line, record


def _imported(records: Lines, when: str) -> Iterator[tuple[str, bytes]]:
    """The events that records become: their ids and lines."""
    for what in RECORDS:
        for name, line in records[f"{what}s"].items():
            yield imported(what, name, line, when)

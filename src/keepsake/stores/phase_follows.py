"""A graph that follows its log: what is recorded is carried out, what is brought over is recorded first.

Log first, graph after. Before the first line is written its event is noted (see `phase_turn`), so what a crash leaves
in between is carried out by whoever comes next. Doing it twice is the same as doing it once.

`take_in` brings an envelope over as a whole. Its events go into the log as they are; a record that the log, with these,
does not explain becomes an event of its own. So a replay of the log gives the graph. What no event can say (metadata, a
path without its events) is saved beside it. What a store was told directly, past the log, stays there untold.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from keepsake.records.clock import Clock
from keepsake.records.envelope import GraphEnvelope
from keepsake.records.errors import KeepsakeError, NeedsApproval, NotWritten, Refused
from keepsake.records.graph_fields import Told
from keepsake.records.lifecycle import PhasePolicy
from keepsake.records.memory_event import APPLIED, EDGE_PUT, NODE_PUT, PROFILE_PUT, MemoryEvent, moment, shown
from keepsake.records.memory_path import MemoryPath
from keepsake.stores.audit_sink import AuditSink
from keepsake.stores.event_log.line import must_be_free
from keepsake.stores.event_log.protocols import MemoryEventLog
from keepsake.stores.event_log.replay import GraphSnapshot, replay
from keepsake.stores.graph.protocols import MemoryGraphStore
from keepsake.stores.phase_actions import concerned
from keepsake.stores.phase_audit import lines_of, unaudited
from keepsake.stores.phase_gate import Gate, carried_out
from keepsake.stores.phase_history import (
    Comparison,
    after,
    compared,
    must_make_sense,
    must_pass,
)
from keepsake.stores.phase_turn import Turn

_IMPORTED = "import it with the events that carry the approval, or without that change; nothing was imported"
_PUTS = {"profiles": PROFILE_PUT, "nodes": NODE_PUT, "edges": EDGE_PUT}


@dataclass(frozen=True, slots=True)
class Taken:
    """What an envelope brings: events that are new here, records that become events, paths that no event tells of."""

    events: tuple[MemoryEvent, ...]
    records: tuple[MemoryEvent, ...]
    paths: tuple[MemoryPath, ...]
    known: int  # events that were here already
    replaced: int  # records that were here and were other


class Follows:
    """A graph store and the log that it follows."""

    store: MemoryGraphStore
    log: MemoryEventLog
    audit: AuditSink
    policy: PhasePolicy
    _clock: Clock
    _turn: Turn

    # -- recording -----------------------------------------------------------------------------------------------------

    def record(self, events: Iterable[MemoryEvent]) -> None:
        """Append events and let the graph follow: all of them or, if one is refused, none.

        Refused, if an id is taken, a path is not open, or a put carries no record. NeedsApproval, if it would do what
        stands behind the gate: that is done by `apply`.
        """
        fresh = list(events)
        with self._turn.held():
            self._finish()
            must_make_sense(self.store, fresh, self.policy)
            self._record_all(fresh)

    def _record_all(self, fresh: list[MemoryEvent]) -> None:
        """Note it, record it, carry it out, clear the note."""
        if not fresh:
            return
        must_be_free(fresh[:1], self.log)  # what is noted is what is new
        self._turn.note(fresh[0].id)
        try:
            self.log.extend(fresh)
        except KeepsakeError:
            self._clear()
            raise
        self._carry_out(fresh)
        self._clear()

    def _clear(self) -> None:
        """Nothing is under way any more. A disk that refuses to note that is no reason to fail: it is done."""
        with suppress(NotWritten):
            self._turn.note("")

    def _carry_out(self, events: Iterable[MemoryEvent]) -> None:
        """Change the store as events say, all of it or nothing. Doing it twice is the same as doing it once."""
        found = after(self.store, events)
        for told in found.profiles:
            self.store.import_envelope(GraphEnvelope(profile=told))  # type: ignore[arg-type]
        self.store.import_envelope(GraphEnvelope(nodes=found.nodes, edges=found.edges, paths=found.paths))  # type: ignore[arg-type]

    def finish(self) -> MemoryEvent | None:
        """Carry out what a crash left on record and not done; which event it begins with. None, if there is nothing."""
        with self._turn.held():
            return self._finish()

    def _finish(self) -> MemoryEvent | None:
        name = self._turn.under_way()
        if not name:
            return None
        event = self.log.get(name) if name in self.log else None
        if event is not None:
            self._carry_out(self._left_from(event))
        self._turn.note("")
        return event

    def _left_from(self, first: MemoryEvent) -> list[MemoryEvent]:
        """What is to be carried out from an event on: an action alone, else all that the gate lets pass."""
        events = self.log.list()
        passed = {event.id for event in carried_out(events, self.policy)}
        rest = [first] if first.kind == APPLIED else events[events.index(first) :]
        return [event for event in rest if event.id in passed]

    # -- bringing over -------------------------------------------------------------------------------------------------

    def take_in(self, envelope: GraphEnvelope, *, at: datetime | str | None = None, dry_run: bool = False) -> Taken:
        """Bring over all of an envelope, or nothing; `at` is when that is said to happen, now if left out.

        What is here under the same id is replaced, and the log says so; an event never is. NeedsApproval, if anything
        would be done by it that needs an approval, and it brings none that counts. Those that it brings are audited.
        """
        when = moment(self._clock() if at is None else at)
        with self._turn.held():
            self._finish()
            taken = self._judged_envelope(envelope, when)
            if not dry_run:
                self._audit_imported(envelope.events)
                self._record_all([*taken.events, *taken.records])
                self._save_beside(envelope, taken.paths)
        return taken

    def _judged_envelope(self, envelope: GraphEnvelope, when: str) -> Taken:
        envelope.check()
        here = self.log.list()
        fresh = _new_ones(here, envelope.events)
        stored = _by_name(self.store.export_envelope())
        by_log, by_store = Gate(self.policy), Gate(self.policy, lambda what, name: stored.get((what, name)))
        passed = [event for event in here if not by_log.why_not(event)]
        _must_pass(fresh, by_log, by_store)
        told = replay([*passed, *fresh])
        paths = tuple(path for path in envelope.paths if path.path_id not in told.paths)
        _must_leave_open(self.store.list_paths(), paths)
        records, replaced = _puts(envelope, stored, told, when)
        _must_pass(records, by_log, by_store)
        return Taken(tuple(fresh), tuple(records), paths, len(envelope.events) - len(fresh), replaced)

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
        return compared(self.store, self.replay())

    def replay(self, path: str | None = None) -> GraphSnapshot:
        """The graph that the log makes, without what the gate does not let pass; with a path, as seen from there."""
        return replay(self.log.list(), path, Gate(self.policy).why_not)

    def rebuild(self) -> Comparison:
        """Put every record that the log tells of as the log says. What no event tells of stays as it is.

        What was found before is returned. An event that needs an approval and has none is not carried out:
        `snapshot.refused` of what is returned names it.
        """
        with self._turn.held():
            self._finish()
            found = self.compare()
            if not found.is_same:
                self._put_back(found)
            return found

    def _put_back(self, found: Comparison) -> None:
        told = found.snapshot
        profiles = {each.id for each in found.wrong if each.part == "profiles"}
        for name in sorted(profiles):
            self.store.import_envelope(GraphEnvelope(profile=told.profiles[name]))  # type: ignore[arg-type]
        self.store.import_envelope(
            GraphEnvelope(
                nodes=list(told.nodes.values()), edges=list(told.edges.values()), paths=list(told.paths.values())  # type: ignore[arg-type]
            )
        )


def _new_ones(here: Iterable[MemoryEvent], given: Iterable[MemoryEvent]) -> list[MemoryEvent]:
    """Those of `given` that are not here. Refused, if one of a known id says something else."""
    known = {event.id: event for event in here}
    events = list(given)
    for event in events:
        if known.get(event.id, event) != event:
            raise Refused(f"event {shown(event.id)} is here already and says otherwise; an event is never changed")
    return [event for event in events if event.id not in known]


def _must_pass(events: Iterable[MemoryEvent], *gates: Gate) -> None:
    """NeedsApproval, if one of the gates does not let one of the events pass."""
    for event in events:
        for judge in gates:
            try:
                must_pass(judge, event)
            except NeedsApproval as error:
                raise NeedsApproval(f"event {shown(event.id)}: {error}; {_IMPORTED}") from None


def _must_leave_open(here: Iterable[MemoryPath], given: Iterable[MemoryPath]) -> None:
    """NeedsApproval, if a record that no event explains would end a path that is here, or open it again."""
    states = {path.path_id: path.state for path in here}
    for path in given:
        if states.get(path.path_id, path.state) != path.state:
            ends = f"path {shown(path.path_id)} is {states[path.path_id]} here; only an event or an action changes that"
            raise NeedsApproval(f"{ends}; {_IMPORTED}")


def _records(envelope: GraphEnvelope, part: str) -> list[Any]:
    """The records of a part, as they write themselves."""
    found = [orjson.loads(line) for _, line, _ in envelope.settled(part)]
    if part == "profiles" and envelope.profile is not None:
        found.insert(0, envelope.profile.to_dict())
    return found


def _by_name(envelope: GraphEnvelope) -> dict[tuple[str, str], Told]:
    """Every profile, node and edge, by what it is and its id."""
    return {(part[:-1], record["id"]): record for part in _PUTS for record in _records(envelope, part)}


def _puts(
    envelope: GraphEnvelope, stored: dict[tuple[str, str], Told], told: GraphSnapshot, when: str
) -> tuple[list[MemoryEvent], int]:  # fmt: skip
    """An event for each record that the log does not explain, and how many of them are stored and are other."""
    found, replaced = list[MemoryEvent](), 0
    for part, kind in _PUTS.items():
        what, explained = part[:-1], getattr(told, part)
        for record in _records(envelope, part):
            name = record["id"]
            if explained.get(name) == record:
                continue
            replaced += stored.get((what, name), record) != record
            found.append(MemoryEvent.new(kind, when, subject_ids=[name], payload={what: record}))
    return found, replaced

"""A graph store, its event log, its audit, and the gate in front of them.

The log is the truth; profiles, nodes, edges and paths follow from it and can be rewritten from it. Every attempt is in
the audit before anything happens, granted or denied; if the audit cannot be written, nothing is done. A granted action
is then one event in the log, which carries the records as they are after it; then the store is changed. Before an event
is recorded its id is noted, so that the next call completes what a crash left undone. Doing it twice is the same as
doing it once. What is recorded has happened: if the graph cannot follow at once, that is `Unfinished`, and the audit
never calls it failed. A file of records that cannot be read is set aside and rewritten first, and the audit says so.

An approval counts once: the event of an action is named after its approval, and the log refuses a name twice, whichever
process tries. Over a store in memory log and audit are in memory, and then "once" means as long as the runtime lives.

An imported record that the log, with the imported events, does not explain becomes an event of its own, so a replay of
the log gives the graph. What no event can express (metadata, a path without its events) is saved directly. Records
saved directly to a store stay there, outside the log.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from tallystick.ledger import disk as disks
from tallystick.ledger.disk import Disk, ensure_folder
from tallystick.records.clock import Clock, stamp, system_clock
from tallystick.records.errors import (
    Damaged,
    Moved,
    NeedsApproval,
    NotFound,
    NotWritable,
    NotWritten,
    Refused,
    TallystickError,
    Unfinished,
)
from tallystick.records.fields import moment, names
from tallystick.records.graph.envelope import GraphEnvelope, Records
from tallystick.records.graph.events import ABANDON, APPLIED, DENIED, MERGE, MemoryEvent, shown
from tallystick.records.graph.lifecycle import A_DAY, LifecycleAction, LifecycleApproval, PhasePolicy
from tallystick.records.graph.nodes import RecordFields, line_of
from tallystick.records.path import CLOSED, OPEN, MemoryPath
from tallystick.stores.phase.actions import Effects, concerned, digest_now, effects_of
from tallystick.stores.phase.activation import LIMIT, ActivationPlan, plan_activation
from tallystick.stores.phase.audit import AuditSink, InMemoryAuditSink, JsonlAuditSink, records_of
from tallystick.stores.phase.comparison import (
    RECORDS,
    Comparison,
    compared,
    following,
    imported,
    is_own,
    stored,
    without_imported,
)
from tallystick.stores.phase.event_log.line_file import locked, not_written
from tallystick.stores.phase.event_log.protocol import (
    InMemoryMemoryEventLog,
    JsonlMemoryEventLog,
    MemoryEventLog,
    must_be_free,
    must_fit,
    unknown_version,
)
from tallystick.stores.phase.event_log.replay import Fold, GraphSnapshot, path_event_in, puts_of
from tallystick.stores.phase.findings import Diagnostic, findings_in, in_the_way, unaudited, with_events
from tallystick.stores.phase.gate import Gate, must_make_sense, must_pass, records_in
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import InMemoryMemoryGraphStore, KeptGraph, Lines, MemoryGraphStore
from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
from tallystick.stores.phase.paths import PathBook

SCHEMA_VERSION = 1  # of the note
_TIMEOUT = 30.0
_REASON = 500  # characters of a reason
_SUBJECTS = 100  # ids of a denied action
_IMPORTED = "import it with the events that carry the approval, or without that change; nothing was imported"


@dataclass(frozen=True, slots=True)
class Applied:
    """An action that was applied, and its event, with every record that it changed."""

    action: LifecycleAction
    event: MemoryEvent


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of an import: new events, records that become events, paths that no event explains."""

    events: int
    records: dict[str, int]  # by part
    paths: tuple[MemoryPath, ...]
    known: int  # events that were here already
    replaced: int  # records that were here and were different


@dataclass(frozen=True, slots=True)
class _Import:
    """An envelope that was judged: its events, the records that become events, and the graph with both."""

    taken: Taken
    lines: dict[str, bytes]
    records: Lines
    when: str
    fold: Fold  # without the records

    def events(self) -> Iterator[tuple[str, bytes]]:
        """The events to append to the log, made one at a time: ids and lines."""
        yield from ((name, line + b"\n") for name, line in self.lines.items())
        yield from imported(self.records, self.when)


class Turn:
    """One action at a time in all processes that share a log, and a note of the action in progress.

    Without a lock file it is a matter of threads, without a note file one of memory. While there is a note, or one
    that cannot be read, all is done that the log says.
    """

    def __init__(self, lock: Path | None, note: Path | None, disk: Disk | None = None) -> None:
        self._path, self._note, self._disk = lock, note, disk or Disk()
        self._threads = threading.RLock()
        self._under_way = ""

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep everybody else waiting."""
        with self._threads, locked(self._path, self._disk, _TIMEOUT) if self._path else nullcontext():
            yield

    def under_way(self) -> str | None:
        """The id of the noted event; empty, if it was finished; None, if the note cannot be read.

        NotWritable, if a newer program wrote the note, Damaged, if it is not a regular file.
        """
        if self._note is None:
            return self._under_way
        if not os.path.lexists(self._note):
            return ""
        if self._note.is_symlink() or not self._note.is_file():
            raise Damaged(f"{self._note}: not a regular file; move it elsewhere")
        try:
            note, version = layout.read_note(self._note.read_bytes())
        except FileNotFoundError:
            return ""
        if type(version) is int and version > SCHEMA_VERSION:
            raise NotWritable(f"{self._note}: {unknown_version(version)}; upgrade tallystick: nothing was written")
        return note

    def note(self, name: str) -> None:
        """Note the event in progress; empty, when it is finished. NotWritten, if the disk refuses."""
        if self._note is None:
            self._under_way = name
            return
        note = {"applying": name, "schema_version": SCHEMA_VERSION}
        data = orjson.dumps(note, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        try:
            ensure_folder(self._disk, self._note.parent)
            disks.replace(self._disk, self._note, data)
        except OSError as error:
            raise not_written(self._note, error) from error


class PhaseMemoryRuntime:
    """Lifecycle actions on a graph store, under a policy."""

    def __init__(
        self,
        store: MemoryGraphStore,
        event_log: MemoryEventLog | None = None,
        audit: AuditSink | None = None,
        *,
        clock: Clock = system_clock,
        policy: PhasePolicy | None = None,
    ) -> None:
        root = getattr(store, "root", None)
        folder = Path(root) if isinstance(root, str | Path) else None
        self.store, self.policy, self._clock = store, policy or PhasePolicy(), clock
        self.rebuilt: list[str] = []  # files that could not be read and were rewritten, and why
        if event_log is None:
            event_log = InMemoryMemoryEventLog() if folder is None else JsonlMemoryEventLog(folder / layout.EVENTS)
        if audit is None:
            audit = InMemoryAuditSink() if folder is None else JsonlAuditSink(folder / layout.AUDIT)
        self.log, self.audit = event_log, audit
        path = getattr(self.log, "path", None)
        lock = path.with_name(path.name + ".turn") if isinstance(path, Path) else None
        self._turn = Turn(lock, folder / layout.RUNTIME if folder else None)

    def export(self) -> GraphEnvelope:
        """All that the store has, and every event of it or the log except those that repeat an imported record.

        So an envelope that is imported into an empty workspace comes out as it was.
        """
        envelope = self.store.export_envelope()
        if not is_own(self.store, self.log):
            envelope = with_events(envelope, self.log)
        events = without_imported(envelope.records("events").lines, self.store)
        return replace(envelope, events=Records[MemoryEvent]("events", events))

    def diagnostics(self) -> list[Diagnostic]:
        """Everything that is wrong with the graph and its log: where, how bad, and the way out. Changes nothing."""
        blocked = in_the_way(self.store)
        if blocked:
            return blocked
        try:
            under_way = self._turn.under_way() or ""
        except (Damaged, NotWritable):
            under_way = ""  # the findings about files include the note
        return findings_in(self.store, self.log, self.audit, under_way, self.policy, self._folded().fold)

    def plan_activation(self, purpose: str, seeds: Iterable[str] = (), limit: int = LIMIT) -> ActivationPlan:
        """The nodes that would be activated for a purpose, and why. The plan is saved where the store keeps plans."""
        plan = plan_activation(self.store, purpose, seeds, limit, now=stamp(self._clock()))
        save = getattr(self.store, "save_activation_plan", None)
        if save is not None:
            save(plan.to_dict())
        return plan

    def compare(self) -> Comparison:
        """The stored graph compared with the one that the log makes. Changes nothing."""
        return compared(self.store, self._folded().fold)

    def replay(self, path: str | None = None) -> GraphSnapshot:
        """The graph that the log makes, without what the gate does not allow; with a path, as seen from there."""
        return self._folded().fold.snapshot(path)

    def seen_from(self, path: str) -> MemoryGraphStore:
        """The graph as it is seen from a path: the store itself, if all begins there, else a copy in memory."""
        paths = {each.path_id: each for each in self.store.list_paths()}
        begin = [name for name, each in paths.items() if not each.parent_id and each.state in (OPEN, CLOSED)]
        if not path or begin == [path]:
            return self.store
        if path not in paths:
            raise NotFound(f"no path named {path!r}; branch it first")
        copy = InMemoryMemoryGraphStore()
        copy.import_envelope(replace(self.store.export_envelope(), events=()))
        copy.put_back(*following(copy, self._folded().fold, path))
        return copy

    def propose(
        self,
        kind: str,
        subject_ids: Iterable[str],
        *,
        by: str,
        changes: Mapping[str, Any] | None = None,
        reason: str = "",
        path_id: str = "",
    ) -> LifecycleAction:
        """An action as a person would see it, with the digests of the records as they are now. Changes nothing.

        With a `path_id`, it is about the records as they are seen from there, and is done there. Refused, if it could
        not be applied anyway: nobody is asked about that.
        """
        about, changed = names(subject_ids, "subject_ids"), dict(changes or {})
        action = LifecycleAction(kind=kind, subject_ids=about, by=by, changes=changed, reason=reason, path_id=path_id)
        store, is_path = self.seen_from(path_id), kind == "compact"
        effects_of(store, action, stamp(self._clock()))
        return replace(action, seen={name: digest_now(store, name, is_path=is_path) for name in concerned(action)})

    def approve(self, action: LifecycleAction, *, by: str, lasts: timedelta = A_DAY) -> LifecycleApproval:
        """The approval of an action by `by`, from now on for a while. It is a marker; `apply` decides if it counts."""
        return LifecycleApproval.of(action, by, self._clock(), lasts=lasts)

    def apply(self, action: LifecycleAction, approval: LifecycleApproval | None = None) -> Applied:
        """Apply an action, if the policy allows it.

        NeedsApproval, if it lacks an approval or the approval does not count; Refused or Moved, if it cannot be done.
        Either way nothing was changed, except that the audit and the log record it. NotWritten, if a disk refuses;
        Unfinished, if it does so when the action is recorded.
        """
        if type(action) is not LifecycleAction:
            raise Refused(f"an action must be a LifecycleAction, not {type(action).__name__}")
        if approval is not None and type(approval) is not LifecycleApproval:
            raise Refused(f"an approval must be a LifecycleApproval, not {type(approval).__name__}")
        with self._exclusive():
            now = stamp(self._clock())
            approval = approval if self.policy.needs_review(action) else None
            event, judge = self._judged(action, approval, now)
            self._audit(action, approval, now, "granted")
            try:
                self._record_all([event], judge)
            except Unfinished:
                raise
            except TallystickError as error:
                self._audit(action, approval, now, "failed", str(error))
                raise
            return Applied(action, event)

    def _judged(
        self, action: LifecycleAction, approval: LifecycleApproval | None, now: str
    ) -> tuple[MemoryEvent, Gate]:  # fmt: skip
        """The event to record. A denied attempt is in the audit and in the log."""
        try:
            why = self.policy.why_not(action, approval, now)
            if not why and approval is not None and approval.event_id in self.log:
                why = NeedsApproval("the approval was used already; an approval counts once", why="used")
            if why:
                raise NeedsApproval(f"{action.label}: {why}; nothing was changed", action.digest, why.why)
            if action.path_id:
                PathBook(self.store.list_paths()).must_be_open(action.path_id)
            event = _applied(action, approval, effects_of(self.seen_from(action.path_id), action, now), now)
            judge = self._judge([event])
            must_pass(judge, event)
            return event, judge
        except (Refused, Moved) as error:
            self._audit(action, approval, now, "denied", str(error))
            payload = {
                "kind": action.kind, "by": action.by, "digest": action.digest, "why": str(error)[:_REASON],
                "attempt": len(self.log),  # so that each attempt is an event of its own
            }  # fmt: skip
            self.log.append(MemoryEvent.new(DENIED, now, subject_ids=action.subject_ids[:_SUBJECTS], payload=payload))
            raise
        except TallystickError as error:
            self._audit(action, approval, now, "failed", str(error))
            raise

    def _audit(
        self, action: LifecycleAction, approval: LifecycleApproval | None, now: str, outcome: str, reason: str = ""
    ) -> None:
        given = None if approval is None else approval.to_dict()
        self.audit.record(action.label, action.by, now, outcome, given, concerned(action), reason=reason[:_REASON])

    @contextmanager
    def _exclusive(self) -> Iterator[MemoryEvent | None]:
        """The turn, with all done that a crash or a damaged file left undone; the event that was in progress."""
        self._check_versions()
        with self._turn.exclusive():
            self._check_versions()
            yield self._catch_up()

    def _check_versions(self) -> None:
        """NotWritable, if a newer program wrote any of it; Damaged, if the log is missing."""
        for place in (self.store, self.log, self.audit):
            if isinstance(place, FileBackedMemoryGraphStore | JsonlMemoryEventLog | JsonlAuditSink):
                place.must_be_known()
        self._turn.under_way()
        if is_own(self.store, self.log) and layout.lacks_log(self.log.path.parent):  # type: ignore[attr-defined]
            way = "restore it from a copy; if there is none, `tallystick store export` and import that elsewhere"
            raise Damaged(f"{layout.EVENTS} is missing: {way}; nothing was written")

    def _catch_up(self) -> MemoryEvent | None:
        name, broken = self._turn.under_way(), dict[str, str]()  # the files of records that cannot be read, and why
        if isinstance(self.store, FileBackedMemoryGraphStore):
            self.store.refresh()
            found = (each for each in self.store.problems() if each.file != layout.WORKSPACE)
            broken = {each.file: f"{each.place}: {each.reason}" for each in found}
        event = self.log.get(name) if name and name in self.log else None
        if broken or name != "":  # also if its own event was not written: others of its group may be in the log
            self._put_back(rewrite=True)
            now = stamp(self._clock())
            for place, why in broken.items():
                self.audit.record(f"rebuild {place}", "tallystick", now, "rebuilt", reason=why[:_REASON])
                source = "the readable records" if place.startswith("activation_plans/") else "the log"
                self.rebuilt.append(f"{place} was rewritten from {source}; the old file is in {layout.DAMAGED}/: {why}")
        if name != "":
            self._turn.note("")
        return event

    def finish(self) -> MemoryEvent | None:
        """Complete what a crash left recorded and not done; the event it begins with. None, if there is nothing."""
        with self._exclusive() as event:
            return event

    def record(self, events: Iterable[MemoryEvent]) -> None:
        """Append events and let the graph follow: all of them or, if one is refused, none.

        Refused, if an id is taken, a path is not open, or a put carries no record. NeedsApproval, if it would do what
        only `apply` may do. Unfinished, if they are recorded and the graph cannot follow.
        """
        fresh = list(events)
        with self._exclusive():
            judge = self._judge(fresh)
            must_make_sense(judge, fresh)
            self._record_all(fresh, judge)

    def _judge(self, events: list[MemoryEvent]) -> Gate:
        """The gate for the graph as it is. Where a branch is concerned, with all that the log says."""
        paths = self.store.list_paths()
        state = PathBook(paths)
        current = state.current()
        about = {
            name for event in events
            for name in (event.path_id, event.payload.get("parent_id"), event.payload.get("into"))
            if isinstance(name, str)
        }  # fmt: skip
        if not any(name in state and name not in current for name in about):
            return Gate(self.policy, records_in(self.store), paths)
        judge = self._folded()
        judge.stored = records_in(self.store)
        return judge

    def _folded(self) -> Gate:
        """The gate after all events of the log."""
        judge = Gate(self.policy)
        for event in self.log:
            judge.why_not(event)
        judge.fold.lend(self.store.list_paths())
        return judge

    def _record_all(self, fresh: list[MemoryEvent], judge: Gate) -> None:
        """Note it, record it, change the store, clear the note."""
        if not fresh:
            return
        must_be_free(fresh[0].id, self.log)  # what is noted is what is new
        with self._recording(fresh[0].id):
            self.log.extend(fresh)
        with self._following():
            if any(event.kind in (MERGE, ABANDON) for event in fresh):
                self._put_back()
                return
            fold, lines = judge.fold, Lines(paths={})  # the current version of what the events put, and their paths
            for event in fresh:
                seen = ((what, name, fold.visible(what, name)) for what, name, _ in puts_of(event))
                for what, name, line in seen:
                    if line is not None:
                        lines.setdefault(f"{what}s", {})[name] = line
                for name in {event.path_id, (path_event_in(event) or event).path_id}:
                    if name in fold.state:
                        lines["paths"][name] = line_of(fold.state.get(name).to_dict())
            _put_into(self.store, lines, {})

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
    def _following(self) -> Iterator[None]:
        try:
            yield
        except TallystickError as error:
            why = str(error).removesuffix(" and try again")
            raise Unfinished(f"recorded; do not repeat it, the next call updates the graph: {why}") from error
        self._clear()

    def _clear(self) -> None:
        """Nothing is in progress any more. A disk that refuses to note that is no reason to fail: it is done."""
        with suppress(NotWritten):
            self._turn.note("")

    def _put_back(self, *, rewrite: bool = False) -> None:
        """Put every record as the log says, and drop what belongs to a branch alone."""
        _put_into(self.store, *following(self.store, self._folded().fold), rewrite=rewrite)

    def rebuild(self) -> Comparison:
        """Put every record as the log says; returns the comparison from before. What no event explains stays."""
        found = self.compare()
        with self._exclusive():
            if not found.is_same:
                self._put_back()
            return found

    def import_envelope(
        self, envelope: GraphEnvelope, *, at: datetime | str | None = None, dry_run: bool = False
    ) -> Taken:  # fmt: skip
        """Import all of an envelope, or nothing; `at` is the time of the import, now if left out.

        A record with the same id is replaced, and the log says so; an event never is. NeedsApproval, if anything in it
        needs an approval, and it has none that counts. The approvals that it has are audited.
        """
        when = moment(self._clock() if at is None else at)
        if dry_run:
            return self._judged_envelope(envelope, when).taken
        with self._exclusive():
            found = self._judged_envelope(envelope, when)
            for event, action in unaudited(envelope.events, records_of(self.audit), self.policy):
                approval, about = event.payload["approval"], concerned(action)  # each once, also of known events
                self.audit.record(action.label, action.by, event.at, "granted", approval, about, reason="imported")
            first = next(found.events(), None)
            if first is not None:
                extend = getattr(self.log, "extend_lines", None)  # they stay unchanged, if the log accepts lines
                with self._recording(first[0]):
                    if extend is not None:
                        extend(found.events())
                    else:
                        self.log.extend(MemoryEvent.judged(orjson.loads(line)) for _, line in found.events())
                with self._following():
                    lines, gone = following(self.store, found.fold)
                    for part, some in found.records.items():
                        lines[part] = lines[part] | some if lines[part] else some
                    _put_into(self.store, lines, gone)
            paths = found.taken.paths
            rest = replace(envelope, nodes=(), edges=(), events=(), paths=paths)  # what no event can express
            if paths or rest.metadata or rest.extra or rest.profiles:
                self.store.import_envelope(rest)
        return found.taken

    def _judged_envelope(self, envelope: GraphEnvelope, when: str) -> _Import:
        """An envelope, judged: by what the log says, and for what no event explains by what is stored."""
        envelope.check()
        lines = {name: line for name, line, _ in envelope.settled("events")}
        given, here = len(lines), {what: stored(self.store, f"{what}s") for what in RECORDS}
        judge = self._judged_events(lines, here)
        records, first = ({f"{what}s": dict[str, bytes]() for what in RECORDS} for _ in range(2))
        count, replaced = len(lines), 0
        for what, name, line, record in _unexplained(envelope, judge.fold):
            why = judge.why_not_put(what, name, record)
            if why:
                raise why.reworded(f"{why}; {_IMPORTED}")
            is_of_branch = judge.fold.versions(what, name) and judge.fold.visible(what, name) is None
            (first if is_of_branch else records)[f"{what}s"][name] = line  # what branched off it comes after it
            replaced += here[what].get(name, line) != line
        counts = {part: len(records[part]) + len(first[part]) for part in records}
        if any(first.values()):
            lines = {name: line[:-1] for name, line in imported(first, when)} | lines
            judge = self._judged_events(lines, here)
        paths = tuple(path for path in envelope.paths if path.path_id not in judge.fold.state)
        own = self.store.list_paths()
        states = {path.path_id: path.state for path in own}
        for path in paths:
            state = states.get(path.path_id, path.state)
            if state != path.state:
                place = f"path {shown(path.path_id)}"
                raise NeedsApproval(f"{place} is {state} here; only an event or an action changes that; {_IMPORTED}")
        judge.fold.lend((*own, *paths))
        taken = Taken(count, counts, paths, given - count, replaced)
        return _Import(taken, lines, records, when, judge.fold)

    def _judged_events(self, lines: dict[str, bytes], here: Lines) -> Gate:
        """The gate after the log and the new events in `lines`; known events are removed from `lines`."""
        judge = Gate(self.policy)
        for event in self.log:
            judge.why_not(event)
            if event.id in lines and lines.pop(event.id) != event.to_line()[:-1]:
                raise Refused(f"event {shown(event.id)} exists with other content; events never change", "exists")

        def loaded(what: str, name: str) -> RecordFields | None:
            line = here[what].get(name)
            return None if line is None else orjson.loads(line)

        judge.stored = loaded
        for name, line in lines.items():
            must_fit(name, line)
            why = judge.why_not(MemoryEvent.judged(orjson.loads(line)))
            if why:
                raise why.reworded(f"event {shown(name)}: {why}; {_IMPORTED}")
        return judge


def _applied(action: LifecycleAction, approval: LifecycleApproval | None, effects: Effects, now: str) -> MemoryEvent:
    payload = {
        "action": action.to_dict(),
        "approval": None if approval is None else approval.to_dict(),
        "nodes": {node.id: node.to_dict() for node in effects.nodes},
        "edges": {edge.id: edge.to_dict() for edge in effects.edges},
    }
    if effects.path_event is not None:
        moved = effects.path_event.to_dict()
        payload["path_event"] = {name: moved[name] for name in ("kind", "path_id", "payload")}
    fields: dict[str, Any] = {"path_id": action.path_id, "subject_ids": action.subject_ids, "payload": payload}
    if approval is None:
        return MemoryEvent.new(APPLIED, now, **fields)
    return MemoryEvent(id=approval.event_id, kind=APPLIED, at=now, **fields)


def _put_into(store: MemoryGraphStore, lines: Lines, gone: dict[str, set[str]], *, rewrite: bool = False) -> None:
    """Put records into a store. A store of another make cannot drop anything: there, what is gone stays."""
    if isinstance(store, KeptGraph):
        store.put_back(lines, gone, rewrite=rewrite)
        return
    for line in lines.pop("profiles", {}).values():
        store.import_envelope(GraphEnvelope(profile=orjson.loads(line)))
    parts = {part: Records[Any](part, some.values(), is_judged=True) for part, some in lines.items()}
    store.import_envelope(GraphEnvelope(**parts))  # type: ignore[arg-type]


def _unexplained(envelope: GraphEnvelope, fold: Fold) -> Iterator[tuple[str, str, bytes, RecordFields]]:
    """The records that the log does not explain: the kind of each, its id, its line, its fields.

    A store that was changed past its log may export what is on a branch as current; its own events tell it apart.
    """
    branches = {
        (what, name, line_of(record)) for _, _, event in envelope.settled("events")
        if event["path_id"] and not fold.is_current(event["path_id"])
        for what, name, record in puts_of(MemoryEvent.judged(event))
    }  # fmt: skip
    for what in RECORDS:
        first = envelope.profile if what == "profile" else None
        head = [] if first is None else [(first.id, first.to_line(), first.to_dict())]
        for name, line, record in chain(head, envelope.settled(f"{what}s")):
            if fold.visible(what, name) != line and (what, name, line) not in branches:
                yield what, name, line, record

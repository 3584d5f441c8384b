"""What is left of a chronomemory store that is not whole: every line whose own hash holds, as versions of beliefs.

A whole one is opened, and migrated (`stores.esdb.migrate`). Here nothing is expected: lines are imported one by one,
the snapshot replaces those that are lost, and whatever is not imported is reported with its line. Each version keeps
its time, status and confidence; a deletion stays one, even of a record whose words are lost.

All of it is one group of events, or nothing. Importing the same again adds what is new; what was changed here since, or
bears a name that means something else here, stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tallystick.decide.beliefs import carried
from tallystick.exchange import chronomemory
from tallystick.exchange.chronomemory import Snapshot, Step, fitted
from tallystick.exchange.conversation import DOCUMENT
from tallystick.memory.exchange.importer import ImportRun, imported_with
from tallystick.memory.exchange.sources import Source
from tallystick.records import ids
from tallystick.records.event import Draft
from tallystick.records.operations import IMPORT_DONE, IMPORT_TAKE
from tallystick.records.transfer import IMPORT
from tallystick.state.beliefs import CurrentVersion

NAME = "chronomemory"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so is a log or a snapshot of chronomemory."""
    return chronomemory.looks_like(head.partition(b"\n")[0]) or chronomemory.is_snapshot(head)


def bring(import_run: ImportRun, source: Source) -> None:
    """Import one file: a log, or a snapshot."""
    data = source.whole()
    is_snapshot = chronomemory.is_snapshot(data[: 1 << 16])
    _bring(import_run, source.name, b"" if is_snapshot else data, data if is_snapshot else None)


def import_folder(import_run: ImportRun, folder: Path) -> None:
    """Import a log and its snapshot together."""
    import_run.begin(NAME, "", folder.name)
    found: list[bytes | None] = []
    for name in (chronomemory.WAL, chronomemory.SNAPSHOT):
        try:
            found.append((folder / name).read_bytes())
        except OSError as error:
            found.append(None)
            if not isinstance(error, FileNotFoundError):
                import_run.skip(f"{folder.name}, {name}", f"it could not be read ({error.strerror})")
    _bring(import_run, folder.name, found[0] or b"", found[1])
    import_run.on_progress(sum(len(each or b"") for each in found))


def _bring(import_run: ImportRun, name: str, log: bytes, beside: bytes | None) -> None:
    events, rest = chronomemory.rescue(log)
    snapshot: Snapshot | None = None
    if beside is not None:
        try:
            snapshot = chronomemory.read_snapshot(beside)
        except ValueError as error:
            rest.append((chronomemory.SNAPSHOT, str(error)))
    for place, why in rest:
        import_run.skip(f"{name}, {place}", why)
    if lost := chronomemory.missing(events, snapshot):
        kept = "; what the snapshot says of their records is taken" if snapshot else ""
        import_run.skip(name, f"missing or damaged: {'events' if ' ' in lost else 'event'} {lost}{kept}")
    if not (events or snapshot or rest):
        import_run.skip(name, "empty")
    steps, differ = chronomemory.steps(events, snapshot)
    for note in differ:
        import_run.skip(name, note)
    with import_run.written():
        _Records(import_run, name, sha256(log + (beside or b"")).hexdigest()).take(steps)


class _Records:
    """The records of one store, each under its own name here if that is free."""

    def __init__(self, import_run: ImportRun, file: str, digest: str) -> None:
        self._bringing, self._file, self._digest = import_run, file, digest
        self._state, self._folder, self._user = import_run.folder.state, import_run.folder, import_run.user
        self._gate = import_run.gate.as_source(import_run.other, import_run.trust(DOCUMENT))
        self._keys: dict[str, str] = {}  # by the record's id there
        self._changed, self._events, self._is_begun = dict[str, None](), 0, False

    def take(self, steps: Sequence[Step]) -> None:
        marks: dict[str, list[str]] = {}
        times, remarks = chronomemory.times(steps, self._folder.ledger.now())
        records = [fitted(step.record, f"no-id-{self._digest[:12]}") for step in steps]
        for step, (record, _) in zip(steps, records, strict=True):
            marks.setdefault(record.id, []).append(step.mark)
        for step, ts, remark, (record, notes) in zip(steps, times, remarks, records, strict=True):
            place = f"{self._file}, {step.place}"
            with self._bringing.skip_if_refused(place):
                if self._said(step.mark) or not self._may_change(record.id, marks[record.id], place):
                    continue
                fields = record.to_fields()
                if step.op != "upsert":  # as it is, but deleted; of one whose words are lost, that alone
                    held = self._held(record.id)
                    fields = {**(carried(held.belief()) if held else fields), "status": "tombstone"}
                if self._put(record.id, fields, step.mark, ts) and step.op == "upsert":
                    for note in filter(None, [*notes, remark]):
                        self._bringing.skip(place, f"imported, but {note}")
        if self._is_begun:
            self._folder.ledger.write(lambda: [Draft(IMPORT_DONE, {"user": self._user, "events": self._events})])
        trust = self._gate.trust
        self._bringing.count("beliefs", trust, len(self._changed))
        self._bringing.count("known", trust, len(marks) - len(self._changed))

    def _put(self, id: str, fields: dict[str, Any], mark: str, ts: str) -> bool:
        version = ids.belief_id(ts, self._state.taken)
        key = self._keys.setdefault(id, version)
        if not self._is_begun:
            body = {"user": self._user, "ledger": self._digest, "begun": ts, "made": ts, "whole": False}
            self._folder.ledger.write(lambda: [Draft(IMPORT_TAKE, body)])
            self._is_begun = True
        origin = {"id": ids.event_id(ts), "ts": ts, "by": self._gate.by, "source": self._gate.by}
        stated = {**fields, "id": version, "key": key, "user": self._user, "path": "", "trust": None}
        with self._gate.masks.counted() as masked:
            events = self._gate.put(stated, f"{NAME}:{mark}", source=imported_with(self._gate.trust), elsewhere=origin)
        self._bringing.count("beliefs", self._gate.trust, 0, masked)
        self._events += len(events)
        if events:
            self._changed[id] = None
        return bool(events)

    def _may_change(self, id: str, marks: Sequence[str], place: str) -> bool:
        """Whether a record's next version may be stated: under its name here, unless that is another's."""
        if id not in self._keys:
            known = next((held for mark in marks if (held := self._said(mark))), None)
            other = self._state.find(id, user=self._user, short=False)
            if known is not None:
                self._keys[id] = known.key
            elif other is None:
                self._keys[id] = id
            else:
                self._bringing.skip(place, f"imported under a new name: {id!r:.60} names another belief here")
                return True  # the name of its first version
        held = self._held(id)
        if held is not None and not held.by.startswith(IMPORT):
            self._bringing.skip(place, f"{id!r:.60} was changed here since and is kept")
            return False
        return True

    def _held(self, id: str) -> CurrentVersion | None:
        key = self._keys.get(id)
        return self._state.find(key, user=self._user, short=False) if key else None

    def _said(self, mark: str) -> CurrentVersion | None:
        said = self._state.said(self._user, imported_with(self._gate.trust), f"{NAME}:{mark}")
        return said[0] if said else None

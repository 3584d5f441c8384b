"""ESDB's store, with its own names, over a ledger that cannot lose or silently change a record.

`ChronoStore(project)` keeps its folder at `<project>/.chronomemory`, which is an ordinary memory folder: `Memory` and
the command line read and write the same beliefs. Records are copies: changing one changes nothing until `upsert`.
A store opens when it is first used, and again after `close`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tallystick.decide import beliefs as decide
from tallystick.exchange import specsmith
from tallystick.ledger.disk import replace
from tallystick.ledger.folder.verify import verify
from tallystick.ledger.format import SEAL
from tallystick.records.belief import OWNER, Change, Moment, Version, Why
from tallystick.records.errors import Damaged, Missing, NotFound, Refused
from tallystick.records.esdb_record import RAG_CONFIDENCE, UNKNOWN, ChronoRecord, WalEvent, belief_status
from tallystick.records.event import Draft, Event
from tallystick.records.operations import BELIEF_INVALIDATE, BELIEF_PUT, BELIEF_SUPERSEDE, BELIEF_TOMBSTONE
from tallystick.state.beliefs import Beliefs, CurrentVersion
from tallystick.stores.esdb.migrate import is_old, take_over
from tallystick.stores.open_folder import OpenFolder

FOLDER = ".chronomemory"

_OPS = {
    BELIEF_PUT: "upsert", BELIEF_SUPERSEDE: "upsert", BELIEF_INVALIDATE: "upsert", BELIEF_TOMBSTONE: "delete",
    SEAL: "compact",
}  # fmt: skip


class SkippedRecord(UserWarning):
    """An item was not migrated, and why."""


class ChronoStore:
    """Beliefs with evidence and confidence, in an append-only, hash-chained log."""

    def __init__(self, project_root: str | Path, *, recursion_depth: int = 0, **options: Any) -> None:
        """`recursion_depth` (H16), if not 0, is set on every record that is put here."""
        self.project_dir = Path(project_root)
        self.root = self.project_dir / FOLDER
        self.recursion_depth = recursion_depth
        self._options = {"by": "chrono:local", **options}
        self._folder: OpenFolder | None = None

    def open(self) -> ChronoStore:
        """Open the store, created on first use. A folder written by chronomemory v0.1 is converted."""
        if self._folder is None:
            if is_old(self.root):
                take_over(self.root, **self._options)
            self._folder = OpenFolder(self.root, **self._options)
        return self

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()
        self._folder = None

    def __enter__(self) -> ChronoStore:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def folder(self) -> OpenFolder:
        """The folder, opened if need be."""
        self.open()
        assert self._folder is not None
        return self._folder

    def upsert(self, record: ChronoRecord) -> WalEvent:
        """Put a record, in place of the one with its id; return its event. The same record again writes nothing."""
        if not isinstance(record, ChronoRecord):
            raise Refused(f"upsert takes a ChronoRecord, not {type(record).__name__}")
        if self.recursion_depth:
            record.recursion_depth = self.recursion_depth
        folder, fields = self.folder, record.to_fields()
        return self._written(folder, record.id, lambda: decide.put(folder.state, fields, folder.draw()))

    def delete(self, record_id: str) -> WalEvent | None:
        """Tombstone a record, and return the event; None if there never was one. The log keeps it, `query` does not."""
        folder = self.folder
        try:
            return self._written(folder, record_id, lambda: decide.tombstone(folder.state, record_id))
        except NotFound:
            return None

    def _written(self, folder: OpenFolder, record_id: str, drafts: Callable[[], list[Draft]]) -> WalEvent:
        """Write the drafts, and return the event of the record."""
        before = folder.ledger.head

        def decided() -> list[Draft]:
            nonlocal before
            before = folder.ledger.head
            return drafts()

        events = folder.ledger.write(decided)
        known = folder.state
        if events:
            prev = before.hash if events[0].seq == before.seq + 1 else ""
            if not prev and events[0].hash:  # others wrote in the same group
                prev = folder.ledger.hash_at(events[0].seq - 1) or ""
            return _wal_event(known, events[0], prev)
        current = known.get(record_id)
        try:
            if current.seq <= folder.ledger.head.seq:
                line = folder.ledger.line(current.seq)
                return _wal_event(known, line.event(), line.prev)
        except (Missing, NotFound):
            pass  # its segment was moved away
        op = BELIEF_TOMBSTONE if current.status == "tombstone" else BELIEF_PUT  # or it is in the open batch
        return _wal_event(known, Event(current.seq, current.at, op, "", "", "", {"id": current.body()["id"]}), "")

    def invalidate(self, record_id: str, reason: str) -> list[ChronoRecord]:
        """Invalidate a record; what depends on it becomes a hypothesis with half the confidence, and is returned."""
        folder = self.folder
        events = folder.ledger.write(lambda: decide.invalidate(folder.state, record_id, folder.draw(), reason=reason))
        weakened = [event.body["belief"]["key"] for event in events[1:] if event.body]
        return [record for key in weakened if (record := self.get(key))]

    def erase(self, record_id: str) -> int:
        """Erase the words of every version of a record; return the number of erased events. The chain stays valid."""
        folder = self.folder
        return folder.ledger.erase(lambda: decide.erase(folder.state, [record_id]))

    def get(self, record_id: str, *, believed_at: Moment | None = None) -> ChronoRecord | None:
        """A copy of the record, tombstone or not; None if there never was one."""
        with self.folder.known(believed_at) as known:
            found = known.find(record_id)
            return _record(known, found) if found else None

    def query(
        self,
        kind: str | None = None,
        status: str = "active",
        rag_filter: bool = False,
        min_confidence: float | None = None,
        *,
        believed_at: Moment | None = None,
    ) -> list[ChronoRecord]:
        """Copies of the records that fit, oldest first. `status=""` is any; `rag_filter` is confidence ≥ 0.6 (H18)."""
        if rag_filter:
            min_confidence = max(RAG_CONFIDENCE, min_confidence or 0.0)
        wanted = belief_status(status) if status else ""
        with self.folder.known(believed_at) as known:
            versions = known.query(kind=kind, status=wanted, min_confidence=min_confidence)
            found = [_record(known, version) for version in versions]
        return found if wanted != UNKNOWN else [record for record in found if record.status == status]

    def history(self, record_id: str) -> list[Version]:
        """Every version of a record, oldest first."""
        return self.folder.history(record_id)

    def diff(self, before: Moment, after: Moment | None = None) -> list[Change]:
        """The changes between two moments (seqs or times)."""
        return self.folder.diff(before, after)

    def why(self, record_id: str) -> Why:
        """The chain of reasons for a record's status."""
        return self.folder.why(record_id)

    def dependents(self, record_id: str) -> list[ChronoRecord]:
        """Everything that depends on a record, directly or through others."""
        with self.folder.known() as known:
            return [_record(known, each) for each in self.folder.dependents(record_id)]

    def record_count(self) -> int:
        """The number of records, without tombstones."""
        with self.folder.known() as known:
            return len(known.query(status="")) - len(known.query(status="tombstone"))

    def wal_seq(self) -> int:
        """The seq of the last event."""
        self.folder.ledger.refresh()
        return self.folder.ledger.head.seq

    def epoch(self) -> int:
        """The number of compactions of the log."""
        self.folder.ledger.refresh()
        return self.folder.ledger.standing.epoch

    def replay(self, from_seq: int = 0) -> list[WalEvent]:
        """The events from `from_seq` on, in order; those erased or of other users come without their record."""
        self.folder.ledger.refresh()
        ledger, known, found = self.folder.ledger, Beliefs(), list[WalEvent]()
        for line in ledger.lines(ledger.first):
            event = line.event()
            known.apply(event)
            if line.seq >= from_seq:
                found.append(_wal_event(known, event, line.prev))
        return found

    def export_records(self) -> list[dict[str, Any]]:
        """Every record as a dictionary, without tombstones."""
        with self.folder.known() as known:
            found = known.query(status="")
            return [_record(known, each).to_dict() for each in found if each.status != "tombstone"]

    def chain_valid(self) -> bool:
        """True if every line of the log is as it was written, from the first to the last."""
        try:
            self.folder.ledger.refresh()
        except Damaged:  # another log is in its place
            return False
        return self.folder.ledger.trouble is None and verify(self.root).ok

    def compact(self) -> int:
        """Compact the log into a snapshot and a log of one line; return the number of events. History stays.

        The snapshot is for whoever reads `snapshot.json`. It is never read here, and an erasure removes it.
        """
        ledger = self.folder.ledger
        count = ledger.compact()
        with suppress(OSError), ledger.hold():
            end = ledger.head
            content = {"seq": end.seq, "last_hash": end.hash, "ts": end.ts, "records": self.export_records()}
            replace(self.folder.disk, self.folder.files.snapshot, orjson.dumps({"format": "tallystick", **content}))
        return count

    def backup(self) -> Path:
        """Make a verified copy under `backup/<time>` and return its path."""
        return self.folder.ledger.back_up()

    def migrate_from_json(self, source: Path) -> dict[str, int]:
        """Import `requirements.json` and `testcases.json` of a folder; return the number of each, and of skipped items.

        An unchanged item is skipped, a changed one updated. An invalid one is skipped with a warning.
        """
        if not Path(source).is_dir():
            raise NotFound(f"{source} is not a folder; name the one that holds requirements.json and testcases.json")
        counts = {"requirements": 0, "testcases": 0, "skipped": 0}
        for name, kind in (("requirements", "requirement"), ("testcases", "testcase")):
            taken, skipped = self._migrate_file(Path(source) / f"{name}.json", kind)
            counts[name] += taken
            counts["skipped"] += skipped
        return counts

    def _migrate_file(self, path: Path, kind: str) -> tuple[int, int]:
        try:
            items, faults = specsmith.read(path.read_bytes(), kind)
        except FileNotFoundError:
            return 0, 0
        except ValueError as error:
            raise Refused(f"{path}: {error}", "file") from None
        for fault in faults:
            warnings.warn(f"{path.name}, {fault}", SkippedRecord, stacklevel=4)
        with self.folder.ledger.batch():
            taken = sum(self._migrate_item(item, f"migrated from {path.name}") for item in items)
        return taken, len(items) - taken + len(faults)

    def _migrate_item(self, item: specsmith.Item, evidence: str) -> bool:
        """True if it was new or changed. One that was deleted here stays deleted."""
        found = self.folder.state.find(item.id)
        if found and found.status == "tombstone":
            warnings.warn(f"{item.id!r} was deleted here and stays deleted", SkippedRecord, stacklevel=5)
            return False
        record = _record(self.folder.state, found) if found else ChronoRecord(item.id)
        if found and (record.kind, record.data) == (item.kind, item.data):
            return False  # changes made here since stay
        record.kind, record.label, record.data = item.kind, item.label, item.data
        if record.status in ("active", "deprecated"):  # JSON has no others, and revives nothing
            record.status = item.status
        record.evidence += [evidence] * (evidence not in record.evidence)
        if item.confidence is not None:
            record.confidence = item.confidence
        self.upsert(record)
        now = self.folder.state.find(item.id)
        return now is not None and (found is None or now.seq > found.seq)


def open_store(project_root: str | Path, *, recursion_depth: int = 0, **options: Any) -> ChronoStore:
    """The store of a project, open. Close it when done, or use it as a context."""
    return ChronoStore(project_root, recursion_depth=recursion_depth, **options).open()


def _record(known: Beliefs, version: CurrentVersion) -> ChronoRecord:
    """A copy of a record, with the keys of what it depends on."""
    body = version.body()
    below = [known.find(ref, user=version.user) for ref in body["rests_on"]] if "rests_on" in body else []
    return ChronoRecord.of(body, [found.key for found in below if found] if below else [])


def _wal_event(known: Beliefs, event: Event, prev_hash: str) -> WalEvent:
    """An event as ESDB shows it; with the record as it is in `known`, which has just applied the event."""
    op, body = _OPS.get(event.op, event.op), event.body or {}
    name = body.get("belief", {}).get("id") or body.get("id", "")
    version = known.version(name) if event.op in _OPS and isinstance(name, str) else None
    if version is None or version.user != OWNER or version.path or version.seq != event.seq:
        return WalEvent(event.seq, event.ts, op, prev_hash=prev_hash, hash=event.hash)
    record = _record(known, version)
    return WalEvent(event.seq, event.ts, op, record.id, record.to_dict(), prev_hash, event.hash, record.recursion_depth)

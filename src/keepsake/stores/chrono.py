"""ESDB's store, word for word, over a ledger that cannot lose or quietly change what it was told.

`ChronoStore(project)` keeps its folder at `<project>/.chronomemory`, which is an ordinary memory folder: `Memory` and
the command line read and write the same beliefs. Records are copies: changing one changes nothing until `upsert`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from keepsake.decide import belief as decide
from keepsake.exchange import specsmith
from keepsake.ledger.backup import back_up
from keepsake.ledger.verify import verify
from keepsake.records.beliefs import Beliefs, Held
from keepsake.records.chrono import ChronoRecord
from keepsake.records.errors import Closed, NotFound, Refused
from keepsake.records.event import Event
from keepsake.records.timeline import Change, Moment, Version
from keepsake.records.why import Why
from keepsake.stores.shelf import Shelf
from keepsake.stores.takeover import SkippedRecord, is_old, take_over

FOLDER = ".chronomemory"
RAG_CONFIDENCE = 0.6  # H18: what may be injected into a prompt


class ChronoStore:
    """Beliefs with evidence and confidence, in an append-only, hash-chained log."""

    def __init__(self, project_dir: str | Path, **options: Any) -> None:
        self.project_dir = Path(project_dir)
        self.root = self.project_dir / FOLDER
        self._options = {"by": "chrono:local", **options}
        self._shelf: Shelf | None = None

    def open(self) -> ChronoStore:
        """Open the store, made on first use. A folder written by chronomemory v0.1 is taken over."""
        if self._shelf is None:
            if is_old(self.root):
                take_over(self.root, **self._options)
            self._shelf = Shelf(self.root, **self._options)
        return self

    def close(self) -> None:
        if self._shelf is not None:
            self._shelf.close()
        self._shelf = None

    def __enter__(self) -> ChronoStore:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def shelf(self) -> Shelf:
        if self._shelf is None:
            raise Closed(
                f"the store of {self.project_dir} is not open; use `with ChronoStore(...) as store:` or call open()"
            )
        return self._shelf

    # -- writing -----------------------------------------------------------------------------------------------------

    def upsert(self, record: ChronoRecord) -> int:
        """Put a record in place of the one with its id, or as a new one; return the seq at which it stands.

        The same record again changes nothing and writes nothing.
        """
        if not isinstance(record, ChronoRecord):
            raise Refused(f"upsert takes a ChronoRecord, not {type(record).__name__}")
        shelf, fields = self.shelf, record.to_fields()
        events = shelf.ledger.write(lambda: decide.put(shelf.book, fields, shelf.draw()))
        return events[-1].seq if events else shelf.book.get(record.id).seq

    def delete(self, record_id: str) -> bool:
        """Tombstone a record; False if there is none. It leaves `query`, not the log."""
        shelf = self.shelf
        try:
            return bool(shelf.ledger.write(lambda: decide.tombstone(shelf.book, record_id)))
        except NotFound:
            return False

    def invalidate(self, record_id: str, reason: str) -> list[ChronoRecord]:
        """It proved wrong: what rests on it becomes a hypothesis with half the confidence, and is returned."""
        shelf = self.shelf
        events = shelf.ledger.write(lambda: decide.invalidate(shelf.book, record_id, shelf.draw(), reason=reason))
        weakened = [event.body["belief"]["key"] for event in events[1:] if event.body]
        return [record for key in weakened if (record := self.get(key))]

    def erase(self, record_id: str) -> int:
        """Destroy the words of every version of a record; return how many events lost theirs. The chain still holds."""
        shelf = self.shelf
        return shelf.ledger.erase(lambda: decide.erase(shelf.book, [record_id]))

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, record_id: str, *, believed_at: Moment | None = None) -> ChronoRecord | None:
        """A copy of the record, tombstone or not; None if there never was one."""
        with self.shelf.known(believed_at) as known:
            held = known.find(record_id)
            return _record(known, held) if held else None

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
        least = min_confidence
        if rag_filter:
            least = max(RAG_CONFIDENCE, least or 0.0)
        with self.shelf.known(believed_at) as known:
            return [_record(known, held) for held in known.query(kind=kind, status=status, min_confidence=least)]

    def history(self, record_id: str) -> list[Version]:
        """Every version, oldest first: what was believed, when, on what evidence."""
        return self.shelf.history(record_id)

    def diff(self, before: Moment, after: Moment | None = None) -> list[Change]:
        """What came, went or changed between two moments (seqs or times)."""
        return self.shelf.diff(before, after)

    def why(self, record_id: str) -> Why:
        """The chain of reasons for a record's standing."""
        return self.shelf.why(record_id)

    def what_rests_on(self, record_id: str) -> list[ChronoRecord]:
        """Everything that stands on a record, directly or through others."""
        with self.shelf.known() as known:
            return [_record(known, held) for held in self.shelf.what_rests_on(record_id)]

    def record_count(self) -> int:
        """How many records there are, tombstones apart."""
        with self.shelf.known() as known:
            return len(known.query(status="")) - len(known.query(status="tombstone"))

    def wal_seq(self) -> int:
        """The seq of the last event."""
        self.shelf.ledger.refresh()
        return self.shelf.ledger.end.seq

    def epoch(self) -> int:
        """How often the log was compacted."""
        self.shelf.ledger.refresh()
        return self.shelf.ledger.standing.epoch

    def replay(self, from_seq: int = 0) -> Iterator[Event]:
        """The events from `from_seq` on, in order. Erased ones have no body."""
        return self.shelf.events(from_seq)

    def export_records(self) -> list[dict[str, Any]]:
        """Every record as a dictionary, tombstones too."""
        with self.shelf.known() as known:
            return [_record(known, held).to_dict() for held in known.query(status="")]

    # -- care --------------------------------------------------------------------------------------------------------

    def chain_valid(self) -> bool:
        """Whether every line of the log is as it was written, from the first to the last."""
        self.shelf.ledger.refresh()
        return self.shelf.ledger.trouble is None and verify(self.root).ok

    def compact(self) -> int:
        """Fold the log into a snapshot and a log of one line; return how many events that were. History stays."""
        return self.shelf.ledger.compact()

    def backup(self) -> Path:
        """Make a checked copy under `backup/<time>` and return its place."""
        return back_up(self.shelf.ledger)

    def migrate_from_json(self, source: Path) -> dict[str, int]:
        """Take in `requirements.json` and `testcases.json` of a folder; return how many of each, and how many skipped.

        An unchanged item is skipped, a changed one updated. One that cannot be taken is skipped with a warning.
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
            raise Refused(f"{path}: {error}") from None
        for fault in faults:
            warnings.warn(f"{path.name}, item {fault.index}: {fault.reason}", SkippedRecord, stacklevel=4)
        with self.shelf.ledger.batch():
            taken = sum(self._migrate_item(item) for item in items)
        return taken, len(items) - taken + len(faults)

    def _migrate_item(self, item: specsmith.Item) -> bool:
        """True if it was new or changed. One that was deleted here stays deleted."""
        held = self.shelf.book.find(item.id)
        if held and held.status == "tombstone":
            warnings.warn(f"{item.id!r} was deleted here and stays deleted", SkippedRecord, stacklevel=5)
            return False
        record = _record(self.shelf.book, held) if held else ChronoRecord(item.id)
        record.kind, record.label, record.status, record.data = item.kind, item.label, item.status, item.data
        if item.confidence is not None:
            record.confidence = item.confidence
        before = self.shelf.book.records()
        self.upsert(record)
        return self.shelf.book.records() > before


def _record(known: Beliefs, held: Held) -> ChronoRecord:
    """A fresh copy, with what it rests on by the names its user gave."""
    belief = held.belief()
    below = [known.find(ref, user=held.user) for ref in belief.rests_on]
    return ChronoRecord.of(belief, [found.key for found in below if found])

"""ESDB's bridge: the store when there is one, else the JSON files it grew out of.

Reading changes nothing on disk: a folder that chronomemory wrote is read as it is, and converted only by a write. A
store that never had a record counts as none.

Falling back is never silent. A store that exists and cannot be read is reported in `status()` and as a warning: the
JSON files are older than the store.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tallystick.exchange import specsmith
from tallystick.records.errors import TallystickError
from tallystick.records.esdb_record import ChronoRecord, EsdbRecord
from tallystick.stores.esdb.migrate import is_old, read_folder
from tallystick.stores.esdb.store import FOLDER, ChronoStore
from tallystick.stores.places import is_memory

JSON_FOLDER = ".specsmith"
STORE, JSON = "ChronoStore WAL", f"{JSON_FOLDER}/ JSON (run tallystick migrate to upgrade)"

_KINDS = {"requirements": "requirement", "testcases": "testcase"}


class FallbackWarning(UserWarning):
    """The store could not be read, and older JSON was served instead."""


@dataclass(frozen=True, slots=True)
class EsdbStatus:
    """The backend of the bridge and its state."""

    available: bool
    backend: str
    record_count: int = 0
    wal_seq: int = 0
    epoch: int = 0
    chain_valid: bool = True
    problem: str = ""  # why the store could not be used, or not all of it

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value or name != "problem"}


_Store = tuple[EsdbStatus, list[ChronoRecord]]  # its status, and all its records, tombstones too


class EsdbBridge:
    """Requirements and test cases of a project, from wherever they are."""

    def __init__(self, project_dir: str | Path = ".") -> None:
        self.project_dir = Path(project_dir)
        self._folder = self.project_dir / FOLDER

    def status(self) -> EsdbStatus:
        """The backend, and whether its log is whole."""
        try:
            if found := self._look(is_verified=True):
                return found[0]
            problem = ""
        except (TallystickError, OSError) as error:
            self._warn(error)
            problem = str(error)
        count = sum(len(self._from_json(name)) for name in _KINDS)
        return EsdbStatus(True, JSON, count, chain_valid=not problem, problem=problem)

    def requirements(self) -> list[EsdbRecord]:
        return self._items("requirements")

    def testcases(self) -> list[EsdbRecord]:
        return self._items("testcases")

    def record_counts(self) -> dict[str, int]:
        """The number of records of each kind; of JSON, of each file."""
        found = self._records()
        if found is None:
            return {name: len(self._from_json(name)) for name in _KINDS}
        return dict(Counter(record.kind for record in found if record.status == "active"))

    def upsert_record(self, record: EsdbRecord) -> bool:
        """Put a record into the store. False if there is none, only JSON: `ChronoStore` creates one."""
        if self._look() is None:
            return False
        with ChronoStore(self.project_dir) as store:
            known = store.get(record.id) or ChronoRecord(record.id)
            for name in ("kind", "status", "confidence", "label", "data"):
                setattr(known, name, getattr(record, name))
            known.evidence = record.source_ids
            store.upsert(known)
        return True

    def delete_record(self, record_id: str) -> bool:
        """Tombstone a record. False if there is no store, only JSON."""
        if self._look() is None:
            return False
        with ChronoStore(self.project_dir) as store:
            store.delete(record_id)
        return True

    def _items(self, name: str) -> list[EsdbRecord]:
        found = self._records()
        if found is None:
            return self._from_json(name)
        return [
            EsdbRecord(each.id, each.kind, each.status, each.confidence, each.label, each.data, list(each.evidence))
            for each in found if each.kind == _KINDS[name] and each.status != "tombstone"
        ]  # fmt: skip

    def _records(self) -> list[ChronoRecord] | None:
        """The records of the store; None, if JSON is to be served."""
        try:
            found = self._look()
        except (TallystickError, OSError) as error:
            self._warn(error)
            return None
        return found[1] if found else None

    def _look(self, *, is_verified: bool = False) -> _Store | None:
        """The store, without writing; None if there is none, or an empty one. Verifying reads every line."""
        if is_old(self._folder):
            old = read_folder(self._folder)
            records, events = old.records(), old.log.events
            count = sum(record.status != "tombstone" for record in records)
            status = EsdbStatus(True, STORE, count, events[-1].seq if events else 0, problem="; ".join(old.notes))
            return (status, records) if records else None
        if not is_memory(self._folder):
            return None
        with ChronoStore(self.project_dir, read_only=True) as store:
            records = store.query(status="")
            trouble = str(store.folder.ledger.trouble or "")
            if not records and not trouble:
                return None
            is_valid = store.chain_valid() if is_verified else not trouble
            standing = (store.record_count(), store.wal_seq(), store.epoch(), is_valid)
            return EsdbStatus(True, STORE, *standing, problem=trouble), records

    def _from_json(self, name: str) -> list[EsdbRecord]:
        try:
            items, _ = specsmith.read((self.project_dir / JSON_FOLDER / f"{name}.json").read_bytes(), _KINDS[name])
        except FileNotFoundError:
            return []
        except ValueError as error:
            warnings.warn(f"{name}.json cannot be read: {error}", FallbackWarning, stacklevel=3)
            return []
        return [
            EsdbRecord(
                item.id, item.kind, item.status, 0.7 if item.confidence is None else item.confidence, item.label,
                item.data,
            )
            for item in items
        ]  # fmt: skip

    def _warn(self, error: Exception) -> None:
        message = f"the store of {self.project_dir} cannot be read ({error}); serving {JSON_FOLDER}/*.json instead"
        warnings.warn(message, FallbackWarning, stacklevel=4)

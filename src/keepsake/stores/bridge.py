"""ESDB's bridge: the store when there is one, else the JSON files it grew out of.

Falling back is never silent. A store that is there and cannot be read is reported in `status()` and as a warning: the
JSON beside it is older than what the store was told.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keepsake.exchange import specsmith
from keepsake.records.chrono import ChronoRecord
from keepsake.records.errors import KeepsakeError
from keepsake.stores.chrono import FOLDER, ChronoStore
from keepsake.stores.shelf import is_memory

JSON_FOLDER = ".specsmith"


class FallbackWarning(UserWarning):
    """The store could not be read, and older JSON was served instead."""


@dataclass(frozen=True, slots=True)
class EsdbStatus:
    """What the bridge stands on."""

    available: bool
    backend: str  # "esdb" or "json"
    record_count: int
    wal_seq: int
    epoch: int
    chain_valid: bool
    problem: str = ""  # why the store that is there could not be used

    def to_dict(self) -> dict[str, Any]:
        raw = asdict(self)
        if not self.problem:
            del raw["problem"]
        return raw


class EsdbBridge:
    """Requirements and test cases of a project, from wherever they are."""

    def __init__(self, project_dir: str | Path) -> None:
        self.project_dir = Path(project_dir)

    def status(self) -> EsdbStatus:
        """Where the answers come from, and whether the log they come from is whole."""
        if not is_memory(self.project_dir / FOLDER):
            return self._json_status("")
        try:
            with ChronoStore(self.project_dir) as store:
                trouble = store.shelf.ledger.trouble
                return EsdbStatus(
                    True, "esdb", store.record_count(), store.wal_seq(), store.epoch(), store.chain_valid(),
                    str(trouble or ""),
                )  # fmt: skip
        except (KeepsakeError, OSError) as error:
            self._warn(error)
            return self._json_status(str(error))

    def _json_status(self, problem: str) -> EsdbStatus:
        count = len(self._from_json("requirements", "requirement")) + len(self._from_json("testcases", "testcase"))
        return EsdbStatus(False, "json", count, 0, 0, False, problem)

    def requirements(self) -> list[dict[str, Any]]:
        return self._items("requirements", "requirement")

    def testcases(self) -> list[dict[str, Any]]:
        return self._items("testcases", "testcase")

    def _items(self, name: str, kind: str) -> list[dict[str, Any]]:
        if is_memory(self.project_dir / FOLDER):
            try:
                with ChronoStore(self.project_dir) as store:
                    return [
                        _item(record) for record in store.query(kind=kind, status="") if record.status != "tombstone"
                    ]
            except (KeepsakeError, OSError) as error:
                self._warn(error)
        return self._from_json(name, kind)

    def _from_json(self, name: str, kind: str) -> list[dict[str, Any]]:
        try:
            items, _ = specsmith.read((self.project_dir / JSON_FOLDER / f"{name}.json").read_bytes(), kind)
        except FileNotFoundError:
            return []
        except ValueError as error:
            warnings.warn(f"{name}.json cannot be read: {error}", FallbackWarning, stacklevel=3)
            return []
        return [item.data for item in items]

    def _warn(self, error: Exception) -> None:
        message = f"the store of {self.project_dir} cannot be read ({error}); serving {JSON_FOLDER}/*.json instead"
        warnings.warn(message, FallbackWarning, stacklevel=4)


def _item(record: ChronoRecord) -> dict[str, Any]:
    """A record in the shape of the JSON it came from; what has changed since is what the record says."""
    item = {**record.data, "id": record.id, "title": record.label}
    if not record.data or (record.status == "deprecated" and "deprecat" not in str(item.get("status")).lower()):
        item["status"] = record.status
    return item

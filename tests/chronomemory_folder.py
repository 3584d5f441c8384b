"""A folder as chronomemory v0.1 writes it, made by its published format, and what that system would then answer.

`events.wal` is a chain of JSON lines; `snapshot.json` holds all records every 50 events and at a compaction, which
leaves one line in the log. Nothing that is put in is judged.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.strategies import confidences, json_objects, texts

USUAL: dict[str, Any] = {
    "id": "", "kind": "fact", "status": "active", "label": "", "confidence": 0.7, "source_type": "observed",
    "evidence": [], "epistemic_boundary": [], "is_hypothesis": False, "model_assumptions": {}, "recursion_depth": 0,
    "data": {},
}  # fmt: skip


class OldStore:
    """`records` is what it holds; `history` every version of each record, with its time."""

    def __init__(self, project: Path, *, snapshot_every: int = 50) -> None:
        self.folder = project / ".chronomemory"
        self.folder.mkdir(parents=True)
        self.wal, self.snapshot = self.folder / "events.wal", self.folder / "snapshot.json"
        self.records: dict[str, dict[str, Any]] = {}
        self.history: dict[str, list[tuple[str, str, float]]] = {}  # time, status, confidence
        self._noted: dict[str, dict[str, Any]] = {}
        self._base: set[str] = set()  # records whose compacted version is in the snapshot alone
        self._first: dict[
            str, tuple[tuple[str, str, float], int]
        ] = {}  # their first upsert since, and what precedes it
        self._seq, self._last, self._since, self._every = 0, "", 0, snapshot_every

    def upsert(self, id: str, **fields: Any) -> None:
        record = {**USUAL, "id": id, **fields}
        ts = self._append("upsert", id, record)
        self.records[id] = record
        said = self._note(ts, record)
        if id in self._base:
            self._first.setdefault(id, (said, len(self.history[id])))
        self._since += 1
        if self._since >= self._every:
            self.write_snapshot()
            self._forget_compacted()

    def delete(self, id: str) -> None:
        ts = self._append("delete", id, {**USUAL, "id": id, "status": "tombstone"})
        if id in self.records:
            self.records[id] = {**self.records[id], "status": "tombstone"}
            self._note(ts, self.records[id])

    def invalidate(self, id: str, *above: str) -> None:
        """It proved wrong: what rests on it becomes a hypothesis with half the confidence."""
        if id in self.records:
            self.upsert(**{**self.records[id], "status": "invalidated"})
        for each in above:
            if each in self.records:
                weaker = {
                    "status": "hypothesis",
                    "is_hypothesis": True,
                    "confidence": self.records[each]["confidence"] / 2,
                }
                self.upsert(**{**self.records[each], **weaker})

    def compact(self) -> None:
        self.write_snapshot()
        self.wal.write_bytes(b"")
        at, self._last = self._seq, ""
        ts = self._append("compact", "__compact__", {**USUAL, "id": "__compact__", "label": f"Compacted at seq={at}"})
        self.history, self._base, self._first = {}, set(self.records), {}
        for record in self.records.values():
            self._note(ts, record)

    def _forget_compacted(self) -> None:
        """The snapshot of the compaction is overwritten: what has changed since is not in it as it was then."""
        for id in sorted(self._base):
            base = self.history[id][0]
            if id in self._first:
                said, count = self._first.pop(id)
                self.history[id] = [said, *self.history[id][count:]]
                self._base.discard(id)
            elif self.records[id]["status"] == "tombstone":
                self.history[id] = [(base[0], "tombstone", base[2])]

    def write_snapshot(self) -> None:
        told = {"seq": self._seq, "last_hash": self._last, "ts": self._ts(), "records": list(self.records.values())}
        self.snapshot.write_text(json.dumps(told, indent=2, ensure_ascii=False), encoding="utf-8")
        self._since = 0

    def _append(self, op: str, id: str, record: dict[str, Any]) -> str:
        self._seq += 1
        line = {"seq": self._seq, "ts": self._ts(), "op": op, "record_id": id, "record": record}
        line |= {"prev_hash": self._last, "hash": "", "recursion_depth": 0}
        hashed = {name: value for name, value in line.items() if name != "hash"}
        self._last = line["hash"] = sha256(json.dumps(hashed, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
        with self.wal.open("a", encoding="utf-8", newline="") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return self._ts()

    def _ts(self) -> str:
        """A second an event, so that each has a time of its own."""
        return f"2026-01-{1 + self._seq // 3600:02d}T00:{self._seq // 60 % 60:02d}:{self._seq % 60:02d}Z"

    def _note(self, ts: str, record: dict[str, Any]) -> tuple[str, str, float]:
        said = (ts.replace("Z", ".000000Z"), record["status"], record["confidence"])
        versions = self.history.setdefault(record["id"], [])
        if record != self._noted.get(record["id"]) or not versions:  # the same again is no version
            versions.append(said)
        self._noted[record["id"]] = record
        return said


IDS = st.sampled_from(["A", "B", "C", "ключ", "d/e", "20260101-0000-abcdef"])
STATUSES = st.sampled_from(
    ["active", "deprecated", "hypothesis", "open", "on hold", "unknown", "superseded", "tombstone"]
)
FIELDS = st.fixed_dictionaries(
    {"label": texts, "confidence": confidences, "status": STATUSES},
    optional={
        "kind": texts, "evidence": st.lists(texts, max_size=2), "data": json_objects, "model_assumptions": json_objects,
        "epistemic_boundary": st.lists(texts, max_size=2), "is_hypothesis": st.booleans(),
        "recursion_depth": st.integers(0, 9),
    },
)  # fmt: skip
ACTS = st.one_of(
    st.tuples(st.just("upsert"), IDS, FIELDS), st.tuples(st.just("upsert"), IDS, FIELDS),
    st.tuples(st.just("delete"), IDS), st.tuples(st.just("invalidate"), IDS, IDS), st.tuples(st.just("compact")),
)  # fmt: skip


def made(project: Path, acts: list[tuple[Any, ...]], every: int) -> OldStore:
    """What such a store leaves after these acts."""
    old = OldStore(project, snapshot_every=every)
    old.upsert("first")
    for act, *args in acts:
        if act == "upsert":
            old.upsert(args[0], **args[1])
        else:
            getattr(old, act)(*args)
    return old

"""Any sequence of writes, compactions, backups, restores, reopenings and crashes equals a plain dictionary."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tallystick import ChronoRecord, ChronoStore
from tallystick.ledger.folder.backup import restore_from
from tests.conftest import at_most
from tests.strategies import confidences, json_objects, names, texts

KEYS = st.sampled_from(["a", "b", "c", "ключ", "d/e"])


class StoreModel(RuleBasedStateMachine):
    """`model` is what a plain dictionary would hold; `copies` what each backup would bring back."""

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.store = ChronoStore(self.home).open()
        self.model: dict[str, ChronoRecord] = {}
        self.copies: list[tuple[Path, dict[str, ChronoRecord]]] = []

    def teardown(self) -> None:
        if hasattr(self, "home"):
            self.store.close()
            shutil.rmtree(self.home)

    @rule(key=KEYS, label=texts, confidence=confidences, evidence=st.lists(names, max_size=2), data=json_objects)
    def put(self, key: str, label: str, confidence: float, evidence: list[str], data: dict[str, object]) -> None:
        record = ChronoRecord(id=key, label=label, confidence=confidence, evidence=evidence, data=data)
        self.store.upsert(record)
        self.model[key] = record

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        known = key in self.model and self.model[key].status != "tombstone"
        deleted = self.store.delete(key)
        assert (deleted is not None) is (key in self.model)
        if known:
            self.model[key] = replace(self.model[key], status="tombstone")

    @rule(keys=st.lists(KEYS, min_size=1, max_size=4), label=texts, fails=st.booleans())
    def batch(self, keys: list[str], label: str, fails: bool) -> None:
        records = [ChronoRecord(id=key, label=f"{label}{number}") for number, key in enumerate(keys)]
        try:
            with self.store.folder.ledger.batch():
                for record in records:
                    self.store.upsert(record)
                if fails:
                    raise KeyError("the caller changed their mind")
        except KeyError:
            return
        self.model.update({record.id: record for record in records})

    @rule()
    def compact(self) -> None:
        self.store.compact()

    @rule()
    def back_up(self) -> None:
        self.copies.append((self.store.backup(), dict(self.model)))

    @precondition(lambda self: self.copies)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        place, model = data.draw(st.sampled_from(self.copies))
        restore_from(self.store.root, place)
        self.model = dict(model)

    @rule(key=KEYS)
    def erase(self, key: str) -> None:
        if key in self.model:
            self.store.erase(key)
            del self.model[key]
            self.copies = [(place, {k: r for k, r in model.items() if k != key}) for place, model in self.copies]

    @rule(snapshot=st.booleans())
    def reopen(self, snapshot: bool) -> None:
        self.store.close()
        if not snapshot:
            (self.store.root / "snapshot.json").unlink(missing_ok=True)
        self.store.open()

    @rule(key=KEYS, label=texts)
    def another_process_writes(self, key: str, label: str) -> None:
        with ChronoStore(self.home) as other:
            other.upsert(ChronoRecord(id=key, label=label))
        self.model[key] = ChronoRecord(id=key, label=label)

    @rule(cut=st.integers(1, 200))
    def crash_while_writing(self, cut: int) -> None:
        """Power fails in a write that nobody was told of: its bytes are cut anywhere, the witness is old."""
        wal, lock = self.store.root / "events.wal", self.store.root / "lock"
        self.store.close()
        self.store.open()
        whole, witness, state = wal.read_bytes(), lock.read_bytes(), (self.store.root / "state.db").read_bytes()
        self.store.upsert(ChronoRecord(id="never acknowledged", label=str(len(whole))))
        self.store.close()
        grown = wal.read_bytes()
        if grown.startswith(whole):
            wal.write_bytes(grown[: max(len(whole), min(len(grown) - 1, len(whole) + cut))])
            lock.write_bytes(witness)
            (self.store.root / "state.db").write_bytes(state)  # it follows what is on disk
        else:
            self.model["never acknowledged"] = ChronoRecord(id="never acknowledged", label=str(len(whole)))
        self.store.open()

    @invariant()
    def holds_what_it_was_told(self) -> None:
        if hasattr(self, "store"):
            assert {r.id: r for r in self.store.query(status="")} == self.model
            assert self.store.folder.ledger.trouble is None

    @invariant()
    def the_chain_is_whole(self) -> None:
        if hasattr(self, "store"):
            assert self.store.chain_valid()


TestStoreModel = pytest.mark.filterwarnings("error")(StoreModel.TestCase)
TestStoreModel.settings = settings(max_examples=at_most(400))

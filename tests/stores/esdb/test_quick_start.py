"""ESDB's quick start, section by section, with nothing changed but the import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

import tallystick
from tallystick import ChronoRecord, ChronoStore, EsdbBridge


@pytest.fixture
def project(tmp_path: Path) -> str:
    return str(tmp_path / "project")


def _water(store: ChronoStore) -> None:
    store.upsert(ChronoRecord(
        id="FACT-001",
        kind="fact",
        label="Water freezes at 0°C at standard pressure",
        source_type="observed",
        confidence=1.0,
        evidence=["NIST", "textbook-chemistry"],
    ))  # fmt: skip


def test_a_record_needs_only_an_id_and_the_other_fields_have_safe_defaults(project: str) -> None:
    with ChronoStore(project) as store:
        store.upsert(ChronoRecord(id="X"))
        record = store.get("X")

    assert record == ChronoRecord(
        id="X", kind="fact", status="active", label="", confidence=0.7, source_type="observed", evidence=[],
        epistemic_boundary=[], is_hypothesis=False, model_assumptions={}, recursion_depth=0, data={},
    )  # fmt: skip


def test_upsert_is_idempotent_by_id(project: str) -> None:
    with ChronoStore(project) as store:
        _water(store)
        seq = store.wal_seq()
        _water(store)
        assert (store.wal_seq(), store.record_count()) == (seq, 1)

        store.upsert(ChronoRecord(id="FACT-001", label="Water freezes at 273.15 K"))
        assert [record.label for record in store.query()] == ["Water freezes at 273.15 K"]


def test_records_are_read_by_kind_by_confidence_and_one_by_one(project: str) -> None:
    with ChronoStore(project) as store:
        _water(store)
        store.upsert(ChronoRecord(id="REQ-1", kind="requirement", label="It shall freeze", confidence=0.6))
        store.upsert(ChronoRecord(id="GUESS", label="It may thaw", confidence=0.59))

        assert [r.id for r in store.query()] == ["FACT-001", "REQ-1", "GUESS"]
        assert [r.id for r in store.query(kind="fact")] == ["FACT-001", "GUESS"]
        assert [r.id for r in store.query(kind="requirement")] == ["REQ-1"]
        assert [r.id for r in store.query(rag_filter=True)] == ["FACT-001", "REQ-1"]
        assert [r.id for r in store.query(min_confidence=0.9)] == ["FACT-001"]
        assert [r.id for r in store.query(rag_filter=True, min_confidence=0.9)] == ["FACT-001"]
        assert [r.id for r in store.query(rag_filter=True, min_confidence=0.1)] == ["FACT-001", "REQ-1"]
        rec = store.get("FACT-001")
        if rec:
            assert (rec.label, rec.confidence) == ("Water freezes at 0°C at standard pressure", 1.0)
        assert store.get("NOT-THERE") is None


def test_a_deleted_record_leaves_query_and_is_still_returned_as_a_tombstone(project: str) -> None:
    with ChronoStore(project) as store:
        _water(store)
        store.delete("FACT-001")

        assert store.query() == []
        assert [r.id for r in store.query(status="")] == ["FACT-001"]
        rec = store.get("FACT-001")
        assert rec is not None
        assert rec.status == "tombstone"
        assert b"tombstone" in (Path(project) / ".chronomemory" / "events.wal").read_bytes()


def test_a_bit_that_is_flipped_anywhere_makes_the_chain_invalid_and_the_store_still_opens(project: str) -> None:
    wal = Path(project) / ".chronomemory" / "events.wal"
    with ChronoStore(project) as store:
        _water(store)
        store.compact()
        store.delete("FACT-001")
    whole = wal.read_bytes()
    for at in range(0, len(whole), 7):
        wal.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with ChronoStore(project) as store:
            assert store.chain_valid() is False, at
            assert len(store.query(status="")) <= 1
    wal.write_bytes(whole)
    with ChronoStore(project) as store:
        assert store.chain_valid() is True


def test_compaction_leaves_a_snapshot_and_a_log_of_one_line_and_loses_nothing(project: str) -> None:
    folder = Path(project) / ".chronomemory"
    with ChronoStore(project) as store:
        for number in range(60):
            store.upsert(ChronoRecord(id=f"F-{number}", label=f"fact {number}"))
        before = store.export_records()
        n = store.compact()

        assert n == 60
        assert (folder / "events.wal").read_bytes().count(b"\n") == 1
        assert (folder / "snapshot.json").is_file()
        assert store.export_records() == before
        assert store.chain_valid()
        assert len(store.history("F-3")) == 1
        assert store.compact() == 0


def test_a_backup_is_a_timestamped_folder_and_two_in_one_second_are_two(project: str) -> None:
    with ChronoStore(project) as store:
        _water(store)
        first, second = store.backup(), store.backup()

    assert first != second
    assert first.parent == second.parent == Path(project) / ".chronomemory" / "backup"
    assert first.name[8] == "T"
    assert (first / "events.wal").read_bytes() == (second / "events.wal").read_bytes()


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_hypothesis_becomes_an_observation_when_the_experiment_is_done(project: str, confirmed: bool) -> None:
    with ChronoStore(project) as store:
        session: dict[str, Any] = {"store": store, "ChronoRecord": ChronoRecord, "confirmed": confirmed}
        for section in PRINTED:
            if "HYP-001" in section:
                exec(section, session)

        now = store.get("HYP-001")
        assert now == session["rec"]
        assert (now.is_hypothesis, now.confidence) == (False, 1.0 if confirmed else 0.0)
        assert [v.belief.is_hypothesis for v in store.history("HYP-001")] == [True, False]


def _specsmith(project: str) -> Path:
    folder = Path(project) / ".specsmith"
    folder.mkdir(parents=True, exist_ok=True)
    requirements = [{"id": "REQ-1", "title": "It starts", "status": "accepted"}, {"id": "REQ-2", "title": "It stops"}]
    (folder / "requirements.json").write_bytes(orjson.dumps(requirements))
    (folder / "testcases.json").write_bytes(orjson.dumps([{"id": "TC-1", "title": "Start it", "covers": ["REQ-1"]}]))
    return folder


def test_json_is_migrated_once_and_what_changed_is_updated(project: str) -> None:
    folder = _specsmith(project)
    with ChronoStore(project) as store:
        assert store.migrate_from_json(folder) == {"requirements": 2, "testcases": 1, "skipped": 0}
        assert store.migrate_from_json(folder) == {"requirements": 0, "testcases": 0, "skipped": 3}
        (folder / "testcases.json").write_bytes(orjson.dumps([{"id": "TC-1", "title": "Start it twice"}]))
        assert store.migrate_from_json(folder) == {"requirements": 0, "testcases": 1, "skipped": 2}

        record = store.get("TC-1")
        assert record is not None
        assert (record.kind, record.label, record.data) == (
            "testcase",
            "Start it twice",
            {"id": "TC-1", "title": "Start it twice"},
        )


def test_the_bridge_reads_json_until_there_is_a_store_and_then_the_store(project: str) -> None:
    folder = _specsmith(project)
    bridge = EsdbBridge(project_dir=project)
    assert bridge.status().to_dict() == {
        "available": True, "backend": ".specsmith/ JSON (run tallystick migrate to upgrade)", "record_count": 3,
        "wal_seq": 0, "epoch": 0, "chain_valid": True,
    }  # fmt: skip
    from_json = (bridge.requirements(), bridge.testcases())

    with ChronoStore(project) as store:
        store.migrate_from_json(folder)

    assert bridge.status().to_dict() == {
        "available": True, "backend": "ChronoStore WAL", "record_count": 3, "wal_seq": 3, "epoch": 0,
        "chain_valid": True,
    }  # fmt: skip
    assert [item.id for item in bridge.requirements()] == ["REQ-1", "REQ-2"]
    assert bridge.requirements()[0].to_dict() == from_json[0][0].to_dict()
    assert [item.data for item in bridge.testcases()] == [item.data for item in from_json[1]]


# -- as printed ------------------------------------------------------------------------------------------------------

PRINTED = [
    # 1. Open a store
    '''
from chronomemory import ChronoStore, ChronoRecord
# Context manager — auto-opens and closes
with ChronoStore("/path/to/project") as store:
    ...
# Or manual lifecycle
store = ChronoStore("/path/to/project")
store.open()
# ... do work ...
store.close()
''',
    # 2. Write a record
    '''
with ChronoStore("/path/to/project") as store:
    store.upsert(ChronoRecord(
        id="FACT-001",
        kind="fact",
        label="Water freezes at 0°C at standard pressure",
        source_type="observed",
        confidence=1.0,
        evidence=["NIST", "textbook-chemistry"],
    ))
''',
    # 3. Read records
    '''
with ChronoStore("/path/to/project") as store:
    # All active records
    all_records = store.query()
    # By kind
    facts = store.query(kind="fact")
    requirements = store.query(kind="requirement")
    # Confidence-filtered (for RAG injection) — H18
    rag_context = store.query(rag_filter=True) # confidence >= 0.6
    # High-confidence only
    high_conf = store.query(min_confidence=0.9)
    # Single record
    rec = store.get("FACT-001")
    if rec:
        print(rec.label, rec.confidence)
''',
    # 4. Delete (tombstone) a record
    '''
with ChronoStore("/path/to/project") as store:
    store.delete("FACT-001")
    # Record still exists in WAL with status="tombstone"
    # It is excluded from query() by default
    rec = store.get("FACT-001") # still returns the record
    print(rec.status) # "tombstone"
''',
    # 5. Verify chain integrity
    '''
with ChronoStore("/path/to/project") as store:
    valid = store.chain_valid()
    print(f"Chain valid: {valid}") # True if untampered
''',
    # 6. Compact the WAL
    '''
with ChronoStore("/path/to/project") as store:
    n = store.compact()
    print(f"Compacted {n} events → snapshot + 1-line WAL")
''',
    # 7. Backup
    '''
with ChronoStore("/path/to/project") as store:
    backup_path = store.backup()
    print(f"Backup at: {backup_path}")
''',
    # 8. Write a hypothesis
    '''
store.upsert(ChronoRecord(
    id="HYP-001",
    kind="hypothesis",
    label="Model generalization gap < 5% of Bayes-optimal",
    is_hypothesis=True,
    confidence=0.75,
    source_type="inferred",
    evidence=["REQ-NN-006", "paper §4.2"],
))
''',
    '''
rec = store.get("HYP-001")
rec.is_hypothesis = False
rec.source_type = "observed"
rec.confidence = 1.0 if confirmed else 0.0
rec.evidence.append("bench-B-seed42: nll_gap=0.031")
store.upsert(rec)
''',
    # 9. Migrate from .specsmith/ JSON
    '''
from pathlib import Path
with ChronoStore("/path/to/project") as store:
    counts = store.migrate_from_json(Path("/path/to/project/.specsmith"))
    print(counts) # {'requirements': 12, 'testcases': 10, 'skipped': 0}
''',
    # 10. Use the bridge adapter
    '''
from chronomemory import EsdbBridge
bridge = EsdbBridge(project_dir="/path/to/project")
# Status check
print(bridge.status().to_dict())
# Read requirements (from ESDB or JSON fallback)
reqs = bridge.requirements()
tests = bridge.testcases()
''',
]  # fmt: skip


def test_the_guide_runs_as_printed_in_one_session(
    project: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the place is another one, and `chronomemory` is the name of this package. The reader confirms."""
    folder = Path(project) / ".specsmith"
    folder.mkdir(parents=True)
    for name, count in (("requirements", 12), ("testcases", 10)):
        items = [{"id": f"{name}-{number}", "title": f"number {number}"} for number in range(count)]
        (folder / f"{name}.json").write_bytes(orjson.dumps(items))
    monkeypatch.setitem(sys.modules, "chronomemory", tallystick)
    session: dict[str, Any] = {"confirmed": True}

    for section in PRINTED:
        exec(section.replace("/path/to/project", project), session)

    printed = capsys.readouterr().out.splitlines()
    assert printed[:4] == [
        "Water freezes at 0°C at standard pressure 1.0", "tombstone", "Chain valid: True",
        "Compacted 2 events → snapshot + 1-line WAL",
    ]  # fmt: skip
    assert printed[4].startswith(f"Backup at: {project}/.chronomemory/backup/")
    assert printed[5] == "{'requirements': 12, 'testcases': 10, 'skipped': 0}"
    assert "'available': True, 'backend': 'ChronoStore WAL', 'record_count': 23" in printed[6]
    assert [record.confidence for record in session["store"].query(kind="hypothesis")] == [1.0]
    assert ([r.id for r in session["reqs"]][:2], len(session["tests"])) == (["requirements-0", "requirements-1"], 10)


def test_every_name_of_that_api_is_at_the_front() -> None:
    names = ("ChronoStore", "ChronoRecord", "WalEvent", "open_store", "EsdbBridge", "EsdbRecord", "EsdbStatus")
    assert [name for name in names if not hasattr(tallystick, name)] == []

"""A folder written by chronomemory v0.1 becomes one of ours, with nothing lost and nothing believed unchecked."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from keepsake import ChronoRecord, ChronoStore, Memory
from keepsake.exchange import chronomemory
from keepsake.records.errors import Damaged
from keepsake.stores.takeover import SkippedRecord

_RECORD = (
    '"record": {"id": "FACT-001", "kind": "fact", "status": "%s", "label": "%s", "confidence": %s,'
    ' "source_type": "observed", "evidence": %s, "epistemic_boundary": [], "is_hypothesis": false,'
    ' "model_assumptions": {}, "recursion_depth": 0, "data": {}}'
)
_FIRST = "8b954992612af79c4e20785cc564be37f3501108bae97e9a06796983cc8bebd8"
_SECOND = "3f77795e9c1b2a7fd9eeca181750aa96864eedf25667406ce9b92680521860c7"
_HEAD = '"ts": "2026-01-02T03:04:05Z", "op": "%s", "record_id": "FACT-001"'
_SAID = ("active", "Water freezes at 0°C at standard pressure", "1.0", '["NIST", "textbook-chemistry"]')
GOLDEN = (
    f'{{"seq": 1, {_HEAD % "upsert"}, {_RECORD % _SAID}, "prev_hash": "", "hash": "{_FIRST}", "recursion_depth": 0}}\n'
    f'{{"seq": 2, {_HEAD % "delete"}, {_RECORD % ("tombstone", "", "0.7", "[]")},'
    f' "prev_hash": "{_FIRST}", "hash": "{_SECOND}", "recursion_depth": 0}}\n'
).encode()


def _old_folder(project: Path, content: bytes) -> Path:
    folder = project / ".chronomemory"
    folder.mkdir(parents=True)
    (folder / "events.wal").write_bytes(content)
    return folder


def _old_file(*records: dict[str, object]) -> bytes:
    lines, above = [], ""
    for seq, record in enumerate(records, 1):
        line = chronomemory.encode(
            seq=seq, ts="2026-01-02T03:04:05Z", op="upsert", record_id=str(record["id"]), record=record, prev_hash=above
        )
        lines.append(line)
        above = chronomemory.hash_in(line)
    return b"".join(lines)


def test_the_golden_file_is_taken_over_with_its_history(tmp_path: Path) -> None:
    folder = _old_folder(tmp_path, GOLDEN)
    with ChronoStore(tmp_path) as store:
        record = store.get("FACT-001")
        assert record is not None
        assert (record.status, record.label) == ("tombstone", "Water freezes at 0°C at standard pressure")
        assert [v.belief.status for v in store.history("FACT-001")] == ["active", "tombstone"]
        first = next(iter(store.replay()))
        assert first.body is not None
        assert first.body["taken_over"]["sha256"] == hashlib.sha256(GOLDEN).hexdigest()
        assert store.chain_valid()

    kept = list((folder / "sealed").glob("chronomemory-*.wal"))
    assert [path.read_bytes() for path in kept] == [GOLDEN]


def test_taking_over_happens_once(tmp_path: Path) -> None:
    _old_folder(tmp_path, GOLDEN)
    with ChronoStore(tmp_path) as store:
        seq = store.wal_seq()
    with ChronoStore(tmp_path) as store, Memory(tmp_path / ".chronomemory") as memory:
        assert store.wal_seq() == seq
        assert memory.show("FACT-001").text == "Water freezes at 0°C at standard pressure"


def test_a_file_that_fails_its_own_check_is_left_as_it_is(tmp_path: Path) -> None:
    folder = _old_folder(tmp_path, GOLDEN.replace(b"freezes", b"thaws  "))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    with pytest.raises(Damaged, match="line 1"), ChronoStore(tmp_path):
        pass

    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "lock"}
    assert after == before


def test_a_record_our_rules_refuse_is_reported_and_still_in_the_old_file(tmp_path: Path) -> None:
    good = ChronoRecord(id="GOOD", label="fine").to_dict()
    bad = ChronoRecord(id="BAD", label="too sure", confidence=7.5).to_dict()
    folder = _old_folder(tmp_path, _old_file(good, bad))

    with pytest.warns(SkippedRecord, match="'BAD' was left out"), ChronoStore(tmp_path) as store:
        assert [r.id for r in store.query(status="")] == ["GOOD"]
    assert b"too sure" in next((folder / "sealed").glob("chronomemory-*.wal")).read_bytes()


def test_a_line_cut_short_is_not_an_event_and_a_missing_newline_is_no_loss(tmp_path: Path) -> None:
    records = [ChronoRecord(id=f"R-{n}").to_dict() for n in range(3)]
    whole = _old_file(*records)
    _old_folder(tmp_path / "newline", whole[:-1])
    _old_folder(tmp_path / "cut", whole[:-40])

    with ChronoStore(tmp_path / "newline") as store:
        assert [r.id for r in store.query()] == ["R-0", "R-1", "R-2"]
    with ChronoStore(tmp_path / "cut") as store:
        assert [r.id for r in store.query()] == ["R-0", "R-1"]


def test_erasing_reaches_the_old_file_its_snapshot_and_its_backups(tmp_path: Path) -> None:
    record = ChronoRecord(id="R-1", label="the marzipan password").to_dict()
    folder = _old_folder(tmp_path, _old_file(record))
    (folder / "snapshot.json").write_text('{"records": {"R-1": {"id": "R-1", "label": "the marzipan password"}}}')
    (folder / "backup" / "20260101T000000").mkdir(parents=True)
    (folder / "backup" / "20260101T000000" / "events.wal").write_bytes(_old_file(record))
    with ChronoStore(tmp_path) as store:
        store.erase("R-1")

    holding = [path for path in folder.rglob("*") if path.is_file() and b"marzipan" in path.read_bytes()]
    assert holding == []


def test_what_was_compacted_there_comes_from_its_snapshot(tmp_path: Path) -> None:
    line = chronomemory.encode(seq=41, ts="2026-01-02T03:04:05Z", op="compact", record_id="", record=None)
    folder = _old_folder(tmp_path, line)
    (folder / "snapshot.json").write_text('{"records": [{"id": "R-1", "label": "from the snapshot"}]}')

    with ChronoStore(tmp_path) as store:
        assert [r.label for r in store.query()] == ["from the snapshot"]

"""Of a chronomemory store that is not whole, all that can be trusted comes in, and the rest is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepsake import ChronoStore, Memory
from keepsake.memory.care import check
from tests.chronomemory_folder import OldStore


@pytest.fixture
def old(tmp_path: Path) -> OldStore:
    old = OldStore(tmp_path / "old")
    for name in "ABCD":
        old.upsert(name, label=f"the label of {name}", confidence=0.8)
    old.upsert("A", label="the new label of A")
    old.delete("B")
    old.invalidate("C", "D")
    old.upsert("E", status="open")
    return old


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new"


def _import(new: Path, given: Path, **options: object):
    with Memory(new / ".chronomemory") as memory:
        return memory.bring(given, format="chronomemory", **options)


def _standing(new: Path) -> dict[str, tuple[str, str, float]]:
    with ChronoStore(new) as store:
        return {r.id: (r.label, r.status, r.confidence) for r in store.query(status="")}


def _stood(old: OldStore) -> dict[str, tuple[str, str, float]]:
    return {id: (r["label"], r["status"], r["confidence"]) for id, r in old.records.items()}


def _tamper(old: OldStore, *numbers: int) -> None:
    lines = old.wal.read_bytes().splitlines(keepends=True)
    for number in numbers:
        lines[number - 1] = lines[number - 1].replace(b'"label": "', b'"label": "not ', 1)
    old.wal.write_bytes(b"".join(lines))


@pytest.mark.parametrize("place", ["folder", "file"])
def test_every_line_whose_own_hash_holds_comes_in_with_its_time_and_the_rest_is_listed(
    old: OldStore, new: Path, place: str
) -> None:
    _tamper(old, 3)
    before = old.wal.read_bytes()

    done = _import(new, old.folder if place == "folder" else old.wal)

    assert (done.formats, done.beliefs, done.known, done.quarantined) == (("chronomemory",), 5, 0, 0)
    told = [str(each) for each in done.skipped]
    assert any("line 3: its hash does not fit what it says" in each for each in told)
    assert any("events 3 are missing or damaged" in each for each in told)
    assert _standing(new) == _stood(old), "a later line says how C stands"
    with ChronoStore(new) as store:
        assert [(v.at, v.belief.status) for v in store.history("C")] == [("2026-01-01T00:00:07.000000Z", "invalidated")]
        assert [(v.at[17:19], v.belief.status) for v in store.history("B")] == [("02", "active"), ("06", "tombstone")]
        assert store.chain_valid()
    assert [finding for finding in check(new / ".chronomemory") if finding.severity == "error"] == []
    assert old.wal.read_bytes() == before


def test_lines_that_are_lost_are_made_up_for_by_the_snapshot(old: OldStore, new: Path) -> None:
    old.write_snapshot()
    old.upsert("A", label="the last label of A")
    _tamper(old, 5, 6, 8)

    done = _import(new, old.folder)

    assert _standing(new) == _stood(old), "B stays deleted and D stays a hypothesis, though their lines are gone"
    assert any("events 5 to 6, 8 are missing" in str(each) for each in done.skipped)


def test_a_deletion_whose_record_is_lost_stays_a_deletion(old: OldStore, new: Path) -> None:
    _tamper(old, 2)
    _import(new, old.wal)

    assert _standing(new)["B"] == ("", "tombstone", 0.7)


def test_a_log_without_its_snapshot_and_a_snapshot_without_its_log_give_what_they_have(
    old: OldStore, tmp_path: Path
) -> None:
    old.compact()
    old.upsert("F", label="late")

    done = _import(tmp_path / "log", old.wal)
    assert list(_standing(tmp_path / "log")) == ["F"]
    assert any("events 1 to 9 are missing" in str(each) for each in done.skipped)
    _import(tmp_path / "snapshot", old.snapshot)
    assert _standing(tmp_path / "snapshot").keys() == {"A", "B", "C", "D", "E"}
    old.wal.unlink()
    _import(tmp_path / "folder", old.folder)
    assert _standing(tmp_path / "folder") == _standing(tmp_path / "snapshot")


def test_importing_again_adds_what_is_new_and_changes_nothing_that_was_changed_here(old: OldStore, new: Path) -> None:
    _import(new, old.folder)
    assert _import(new, old.folder).is_nothing
    with ChronoStore(new) as store:
        seq = store.wal_seq()
        record = store.get("A")
        assert record is not None
        record.label = "corrected here"
        store.upsert(record)
        store.delete("D")
    assert seq == 11, "one line that names the ledger, one each that begins and ends the import, and no second import"
    old.upsert("A", label="newer there")
    old.upsert("D", label="newer there")
    old.upsert("E", label="newer there")

    done = _import(new, old.folder)

    assert (done.beliefs, done.known) == (1, 4)
    standing = _standing(new)
    assert [standing[name][:2] for name in "ADE"] == [
        ("corrected here", "active"), ("the label of D", "tombstone"), ("newer there", "active"),
    ]  # fmt: skip
    assert any("'A' was changed here since" in str(each) for each in done.skipped)


def test_a_name_that_means_something_else_here_stays_that(old: OldStore, new: Path) -> None:
    with Memory(new / ".chronomemory") as memory:
        memory.remember("A is for apple.", key="A")

    done = _import(new, old.folder)

    standing = _standing(new)
    assert standing["A"][0] == "A is for apple."
    assert sorted(label for label, _, _ in standing.values() if "of A" in label) == ["the new label of A"]
    assert any("'A' names another belief here" in str(each) for each in done.skipped)
    assert _import(new, old.folder).is_nothing


def test_it_can_be_tried_and_quarantined(old: OldStore, new: Path) -> None:
    assert _import(new, old.folder, dry_run=True).beliefs == 5
    assert _standing(new) == {}
    assert _import(new, old.folder, quarantine=True).quarantined == 5
    with Memory(new / ".chronomemory") as memory:
        assert list(memory.recall("the new label of A")) == []


def test_values_that_do_not_fit_are_kept_as_data_and_told(new: Path, tmp_path: Path) -> None:
    old = OldStore(tmp_path / "old")
    old.upsert("X", confidence=float("nan"), newer=1)

    done = _import(new, old.folder)

    with ChronoStore(new) as store:
        assert store.get("X").data == {"chronomemory": {"confidence": "NaN", "newer": 1}}  # type: ignore[union-attr]
    assert any("taken, but confidence 'NaN' does not fit" in str(each) for each in done.skipped)

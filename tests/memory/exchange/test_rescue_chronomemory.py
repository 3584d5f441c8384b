"""Of a chronomemory store that is not whole, all that can be trusted comes in, and the rest is listed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import ChronoStore, Memory
from tallystick.memory.maintenance.check import check
from tests.chronomemory_folder import ACTS, OldStore, made
from tests.conftest import at_most
from tests.refusals import refuses


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
        return memory.import_from(given, format="chronomemory", **options)


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
    assert any("missing or damaged: event 3" in each for each in told)
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
    assert any("missing or damaged: events 5 to 6, 8" in str(each) for each in done.skipped)


def test_a_deletion_whose_record_is_lost_stays_a_deletion(old: OldStore, new: Path) -> None:
    old.delete("never there")
    assert _import(new, old.wal).beliefs == 5
    assert _standing(new) == _stood(old), "of a whole log, what was never there is nothing"
    _tamper(old, 2)
    _import(new / "again", old.wal)

    assert _standing(new / "again")["B"] == _standing(new / "again")["never there"] == ("", "tombstone", 0.7)


def test_a_log_without_its_snapshot_and_a_snapshot_without_its_log_give_what_they_have(
    old: OldStore, tmp_path: Path
) -> None:
    old.compact()
    old.upsert("F", label="late")

    done = _import(tmp_path / "log", old.wal)
    assert list(_standing(tmp_path / "log")) == ["F"]
    assert any("missing or damaged: events 1 to 9" in str(each) for each in done.skipped)
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
    assert any("confidence 'NaN'" in str(each) for each in done.skipped)


def test_what_the_snapshot_says_otherwise_than_a_whole_log_is_listed_and_not_taken(old: OldStore, new: Path) -> None:
    old.write_snapshot()
    told = json.loads(old.snapshot.read_text())
    told["records"][1]["status"] = "active"
    told["records"].append({"id": "Z", "label": "never recorded"})
    old.snapshot.write_text(json.dumps(told))

    done = _import(new, old.folder)

    assert _standing(new) == _stood(old)
    assert sum("the snapshot differs from the log" in str(each) for each in done.skipped) == 2


def test_a_snapshot_that_cannot_be_read_is_listed_and_the_log_comes_in(old: OldStore, new: Path) -> None:
    old.snapshot.mkdir()

    done = _import(new, old.folder)

    assert _standing(new) == _stood(old)
    assert any("snapshot.json: it could not be read" in str(each) for each in done.skipped)


def test_the_project_of_a_store_may_be_named_and_its_first_line_may_be_lost(old: OldStore, new: Path) -> None:
    old.wal.write_bytes(bytes(100) + old.wal.read_bytes()[100:])

    done = _import(new, old.folder.parent)

    assert _standing(new) == _stood(old), "a later line says how A stands"
    assert any("missing or damaged: event 1" in str(each) for each in done.skipped)
    old.wal.write_bytes(b"garbled\n")
    assert [str(each) for each in _import(new, old.folder).skipped] == [
        ".chronomemory, line 1: not JSON: Expecting value at character 0"
    ]
    old.wal.write_bytes(b"")
    assert [each.reason for each in _import(new, old.folder).skipped] == ["empty"]
    with refuses("place", str(new / ".chronomemory"), "tallystick export"):
        _import(new / "other", new / ".chronomemory")


# -- at length -------------------------------------------------------------------------------------------------------

HARMS = st.tuples(st.sampled_from(["drop", "double", "swap", "flip", "blank"]), st.integers(0, 99))


def _harm(lines: list[bytes], kind: str, at: int) -> None:
    """Harm a line, but neither drop nor swap the last one: that nobody can know."""
    number = at % len(lines)
    if kind == "flip":
        place = (7 * at + 3) % len(lines[number])
        lines[number] = lines[number][:place] + bytes([lines[number][place] ^ 1]) + lines[number][place + 1 :]
    elif kind == "double":
        lines.insert(at % (number + 1), lines[number])
    elif kind == "blank":
        lines.insert(number, b"\n")
    elif number < len(lines) - 1 and kind == "swap":
        lines[number : number + 2] = [lines[number + 1], lines[number]]
    elif number < len(lines) - 1:
        del lines[number]


@settings(max_examples=at_most(300))
@given(st.lists(ACTS, min_size=2, max_size=12), st.integers(1, 6), st.lists(HARMS, max_size=3), st.booleans())
def test_whatever_happened_to_a_store_what_is_left_comes_in_or_is_listed(
    acts: list[tuple[Any, ...]], every: int, harms: list[tuple[str, int]], is_kept: bool
) -> None:
    """All records stand as they did, or it is said what was not taken; and nothing stands as it never did."""
    with tempfile.TemporaryDirectory() as place:
        old = made(Path(place, "old"), acts, every)
        lines = old.wal.read_bytes().splitlines(keepends=True)
        for kind, at in harms:
            _harm(lines, kind, at)
        old.wal.write_bytes(b"".join(lines))
        if not is_kept:
            old.snapshot.unlink(missing_ok=True)
        before = {path: path.read_bytes() for path in old.folder.iterdir()}

        done = _import(Path(place, "new"), old.folder.parent)

        standing, stood = _standing(Path(place, "new")), _stood(old)
        if standing != stood:
            assert any(not each.reason.startswith("imported") for each in done.skipped)
        for id, (_, status, confidence) in standing.items():
            known = {(status, confidence) for _, status, confidence in old.history.get(id, ())}
            assert (status, confidence) in known or status == "tombstone"
        assert {path: path.read_bytes() for path in old.folder.iterdir()} == before

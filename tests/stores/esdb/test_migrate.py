"""A folder written by chronomemory v0.1 becomes one of ours: nothing is lost, revived, or believed unchecked."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import ChronoStore, Damaged, EsdbBridge, Memory, NotWritten
from tallystick.memory.maintenance.check import check, repair
from tallystick.records.errors import NotWritable, Unfinished
from tallystick.stores.esdb import migrate as takeover
from tallystick.stores.esdb.migrate import TakeoverWarning, take_over
from tests.chronomemory_folder import ACTS, OldStore, made
from tests.conftest import at_most
from tests.crash.disks import DIED, DyingDisk, FailingDisk, Listing, in_a_child
from tests.refusals import refuses

ALL = ("open", "write", "pwrite", "truncate", "sync", "sync_folder", "rename", "remove", "make_folder")


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _held(store: ChronoStore) -> dict[str, dict[str, Any]]:
    return {record.id: record.to_dict() for record in store.query(status="")}


def _history(store: ChronoStore, id: str) -> list[tuple[str, str, float]]:
    told = [(version.at, store.get(id, believed_at=version.seq), version.belief) for version in store.history(id)]
    return [(at, record.status if record else "", belief.confidence) for at, record, belief in told]


@pytest.fixture
def old(tmp_path: Path) -> OldStore:
    """A is corrected, B deleted, C invalidated, so that D is weaker; E has a status of its user's."""
    old = OldStore(tmp_path)
    for name in "ABCD":
        old.upsert(name, label=f"the label of {name}", confidence=0.8, evidence=["seen"])
    old.upsert("A", label="the new label of A", data={"n": 1})
    old.delete("B")
    old.invalidate("C", "D")
    old.upsert("E", status="open", kind="issue")
    return old


# -- what comes over -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::tallystick.stores.esdb.migrate.TakeoverWarning")
def test_every_version_comes_over_with_its_time_its_status_and_its_confidence(old: OldStore, tmp_path: Path) -> None:
    content = old.wal.read_bytes()
    with ChronoStore(tmp_path) as store:
        assert _held(store) == old.records
        assert {id: _history(store, id) for id in old.records} == old.history
        assert (store.get("D").status, store.get("D").confidence) == ("hypothesis", 0.4)  # type: ignore[union-attr]
        assert [r.id for r in store.query()] == ["A"]
        assert [r.id for r in store.query(status="open")] == ["E"]
        assert store.get("A", believed_at="2026-01-01T00:00:04Z").label == "the label of A"  # type: ignore[union-attr]
        assert [r.id for r in store.query(believed_at="2026-01-01T00:00:05Z")] == ["A", "B", "C", "D"]
        assert store.chain_valid()
        first = next(iter(store.folder.events())).body
        assert first is not None
        assert first["taken_over"]["sha256"] == hashlib.sha256(content).hexdigest()

    kept = list((old.folder / "sealed").glob("chronomemory-*.wal"))
    assert [path.read_bytes() for path in kept] == [content]
    assert [finding for finding in check(old.folder) if finding.severity == "error"] == []
    with Memory(old.folder) as memory:
        assert memory.show("A").text == "the new label of A"


def test_taking_over_happens_once(old: OldStore, tmp_path: Path) -> None:
    with pytest.warns(TakeoverWarning, match="'E': its status 'open'"), ChronoStore(tmp_path) as store:
        seq = store.wal_seq()
    with ChronoStore(tmp_path) as store:
        assert store.wal_seq() == seq


def test_what_has_no_place_here_is_kept_as_data_and_reported(tmp_path: Path) -> None:
    old = OldStore(tmp_path)
    deep: Any = "bottom"
    for _ in range(60):
        deep = [deep]
    old.upsert("SURE", confidence=0.9)
    old.upsert("SURE", confidence=7.5, label="too sure")
    old.upsert("NAN", confidence=float("nan"), data={"x": [float("inf"), 2**70], "deep": deep})
    old.upsert("ODD", status=None, label=3, evidence=["a", 1], is_hypothesis="no", data=[1], newer={"a": 1})
    old.upsert("LARGE", status="hypothesis", label="x" * (1 << 20))
    old.upsert("WIDE", confidence=0.9)
    old.upsert("WIDE", confidence=0.1, kind="x" * (1 << 20), source_type="y" * (1 << 20))
    old.upsert("LONG" * (1 << 18), label="a long name")
    old.delete("LONG" * (1 << 18))
    old.upsert("", label="no id")

    with pytest.warns(TakeoverWarning) as told, ChronoStore(tmp_path) as store:
        found = {r.id: r for r in store.query(status="")}

    assert found["SURE"].to_dict() | {"data": 0} == {**old.records["SURE"], "confidence": 0.0, "data": 0}
    assert found["SURE"].data == {"chronomemory": {"confidence": 7.5}}, "not the older version, which fits"
    assert found["NAN"].data["x"] == ["Infinity", str(2**70)]
    assert found["NAN"].data["chronomemory"] == {"confidence": "NaN"}
    odd = found["ODD"]
    assert (odd.status, odd.label, odd.evidence, odd.is_hypothesis) == ("unknown", "3", ["a", "1"], True)
    assert odd.data["chronomemory"] == {
        "status": None, "label": 3, "evidence": ["a", 1], "is_hypothesis": "no", "data": [1], "newer": {"a": 1},
    }  # fmt: skip
    assert (found["LARGE"].status, found["LARGE"].label) == ("hypothesis", "x" * 10_000)
    assert (found["WIDE"].confidence, found["WIDE"].kind) == (0.1, "x" * 10_000), "not the older version"
    assert [r.status for name, r in found.items() if name.startswith("LONG") and len(name) < 200] == ["tombstone"]
    assert [r.label for name, r in found.items() if name.startswith("no-id-")] == ["no id"]
    said = "\n".join(str(warning.message) for warning in told)
    for part in ("'SURE': confidence 7.5", "'NAN': data.x[1]", "'ODD': 'newer'", "'LARGE': 1,0", "'': id ''"):
        assert part in said
    assert "'WIDE': 2,0" in said


def test_a_clock_that_stepped_back_is_kept_and_a_time_that_is_none_is_the_one_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ["2026-01-05T00:00:00Z", "2026-01-03T00:00:00Z", "yesterday", "2026-01-04T00:00:00Z", "9999-01-01"]
    monkeypatch.setattr(OldStore, "_ts", lambda old: clock[old._seq - 1])
    old = OldStore(tmp_path)
    for number in range(5):
        old.upsert("A", confidence=number / 8)

    store = ChronoStore(tmp_path)
    with pytest.warns(TakeoverWarning) as told:
        history = _history(store, "A")
    assert [at[8:10] for at, _, _ in history] == ["05", "03", "03", "04", "04"]
    assert store.chain_valid()
    store.close()
    said = "\n".join(str(warning.message) for warning in told)
    assert "its time 'yesterday' is not valid" in said
    assert "its time '9999-01-01' is not valid" in said


def test_a_line_cut_short_is_not_an_event_and_a_missing_newline_is_no_loss(tmp_path: Path) -> None:
    for name, cut in (("newline", 1), ("cut", 40)):
        old = OldStore(tmp_path / name)
        for number in range(3):
            old.upsert(f"R-{number}")
        old.wal.write_bytes(old.wal.read_bytes()[:-cut])

    with ChronoStore(tmp_path / "newline") as store:
        assert [r.id for r in store.query()] == ["R-0", "R-1", "R-2"]
    with pytest.warns(TakeoverWarning, match="cut off"), ChronoStore(tmp_path / "cut") as store:
        assert [r.id for r in store.query()] == ["R-0", "R-1"]


def test_erasing_reaches_the_old_files_what_was_half_written_and_every_old_backup(tmp_path: Path) -> None:
    old = OldStore(tmp_path)
    old.upsert("R-1", label="the marzipan password")
    old.write_snapshot()
    wal, snapshot = old.wal.read_bytes(), old.snapshot.read_bytes()
    for copied, name, content in (
        ("1", "events.wal", wal), ("2", "events.wal", b"damaged\n" + wal), ("3", "events.wal", wal[:-200]),
        ("4", "snapshot.json", snapshot),
    ):  # fmt: skip
        (old.folder / "backup" / copied).mkdir(parents=True)
        (old.folder / "backup" / copied / name).write_bytes(content)
    (old.folder / "events.wal.tmp").write_bytes(wal)
    (old.folder / "snapshot.json.tmp").write_bytes(snapshot[:-20])
    with ChronoStore(tmp_path) as store:
        assert [finding for finding in check(old.folder) if finding.code in ("foreign-file", "backup-damaged")] == []
        copy = store.backup()
        store.erase("R-1")

    holding = [path for path in old.folder.rglob("*") if path.is_file() and b"marzipan" in path.read_bytes()]
    assert (holding, copy.exists()) == ([], True)


# -- what is refused -------------------------------------------------------------------------------------------------


def _compacted(old: OldStore) -> None:
    old.compact()
    old.upsert("F")


def _cut(old: OldStore) -> None:
    old.write_snapshot()
    old.wal.write_bytes(b"".join(old.wal.read_bytes().splitlines(keepends=True)[:-5]))


def _older_snapshot(old: OldStore) -> None:
    old.write_snapshot()
    older = old.snapshot.read_bytes()
    old.upsert("F")
    old.compact()
    old.snapshot.write_bytes(older)


def _without(old: OldStore, snapshot: bool, log: Callable[[Path], object]) -> None:
    """A folder that lost one of its two files, or of which one cannot be read."""
    if snapshot:
        _compacted(old)
        old.snapshot.unlink()
    else:
        old.write_snapshot()
        old.wal.unlink()
    log(old.snapshot if snapshot else old.wal)


def _snapshot(old: OldStore, change: Callable[[bytes], bytes], *, compact: bool) -> None:
    (_compacted if compact else OldStore.write_snapshot)(old)
    old.snapshot.write_bytes(change(old.snapshot.read_bytes()))


def _log(old: OldStore, change: Callable[[bytes], bytes]) -> None:
    old.wal.write_bytes(change(old.wal.read_bytes()))


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[OldStore], None]:
    return partial(_log, change=lambda data: b"".join(change(data.splitlines(keepends=True))))


def _of_another_log(data: bytes) -> bytes:
    return json.dumps(json.loads(data) | {"last_hash": "0" * 64}).encode()


REFUSED: dict[str, tuple[Callable[[OldStore], None], str]] = {
    "no snapshot": (
        partial(_without, snapshot=True, log=lambda _: None), "snapshot.json is missing, and events 1 to 9",
    ),
    "half a snapshot": (partial(_snapshot, change=lambda data: data[:100], compact=True), "snapshot.json has the"),
    "a folder for a snapshot": (partial(_without, snapshot=True, log=Path.mkdir), "snapshot.json has the"),
    "an older snapshot": (_older_snapshot, "event 10 is missing"),
    "a cut log": (_cut, "events 5 to 9 are missing"),
    "no log": (partial(_without, snapshot=False, log=lambda _: None), "events 1 to 9 are missing"),
    "an empty log": (partial(_without, snapshot=False, log=Path.touch), "events 1 to 9 are missing"),
    "another's snapshot": (partial(_snapshot, change=_of_another_log, compact=False), "snapshot.json is of another"),
    "other words": (
        partial(_log, change=lambda data: data.replace(b"label of C", b"lable of C", 1)), "line 3: its hash",
    ),
    "swapped lines": (_lines(lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]]), "line 3: its prev_hash"),
    "a line twice": (_lines(lambda lines: [*lines[:3], lines[2], *lines[3:]]), "line 4: its prev_hash"),
    "a lost line": (_lines(lambda lines: [*lines[:3], *lines[4:]]), "line 4: its prev_hash"),
    "a lost head": (_lines(lambda lines: lines[2:]), "line 1: its prev_hash is not empty"),
    "a garbled head": (_lines(lambda lines: [b"garbled\n", *lines[1:]]), "line 1: not JSON"),
    "zeroes": (partial(_log, change=lambda data: bytes(512) + data[512:]), "line 1: not JSON"),
    "a blank head": (_lines(lambda lines: [b"\n", *lines]), "line 1: not JSON"),
    "one more key": (
        _lines(lambda lines: [*lines[:3], lines[3].replace(b"{", b'{"more": 1, ', 1), *lines[4:]]), "key 'more'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("harm", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_folder_that_is_not_whole_is_refused_with_what_is_missing_and_left_as_it_is(
    old: OldStore, tmp_path: Path, harm: Callable[[OldStore], None], reason: str
) -> None:
    harm(old)
    before = _files(old.folder)

    with pytest.raises(Damaged, match=reason) as refused, ChronoStore(tmp_path):
        pass
    with pytest.raises(Damaged, match=reason):
        Memory(old.folder)

    with refuses("state", "old-ledger-damaged", "import --format chronomemory"):
        repair(old.folder, ["line-damaged"])

    assert "tallystick import --format chronomemory" in str(refused.value)
    assert [finding.code for finding in check(old.folder) if finding.severity == "error"] == ["old-ledger-damaged"]
    assert _files(old.folder) == before


@pytest.mark.filterwarnings("ignore::tallystick.stores.esdb.migrate.TakeoverWarning")
def test_a_whole_log_stands_where_the_snapshot_says_otherwise_and_that_is_reported(
    old: OldStore, tmp_path: Path
) -> None:
    old.write_snapshot()
    told = json.loads(old.snapshot.read_text())
    told["records"][1]["status"] = "active"
    told["records"].append({"id": "Z", "label": "never recorded"})
    old.snapshot.write_text(json.dumps(told))

    with pytest.warns(TakeoverWarning) as noted, ChronoStore(tmp_path) as store:
        assert _held(store) == old.records
    said = "\n".join(str(warning.message) for warning in noted)
    assert "'B': the snapshot differs from the log" in said
    assert "'Z': the snapshot differs from the log" in said


@pytest.mark.filterwarnings("ignore::tallystick.stores.esdb.migrate.TakeoverWarning")
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_whole_log_needs_no_snapshot(old: OldStore, tmp_path: Path, is_folder: bool) -> None:
    if is_folder:
        old.snapshot.mkdir()
    else:
        old.snapshot.write_text('{"seq": -3, "last_hash": "", "ts": "", "records": [{"id": "Z"}]}')

    with pytest.warns(TakeoverWarning, match="the log has everything"), ChronoStore(tmp_path) as store:
        assert _held(store) == old.records


# -- looking, and disks that refuse ----------------------------------------------------------------------------------


def test_looking_at_an_old_folder_writes_nothing(old: OldStore, tmp_path: Path) -> None:
    old.upsert("REQ-1", kind="requirement", label="It starts", evidence=["spec"])
    before = _files(tmp_path)
    bridge = EsdbBridge(tmp_path)

    status = bridge.status()
    assert (status.available, status.record_count, status.wal_seq, status.chain_valid) == (True, 5, 10, True)
    assert [(item.id, item.label, item.source_ids) for item in bridge.requirements()] == [
        ("REQ-1", "It starts", ["spec"])
    ]
    assert bridge.record_counts() == {"fact": 1, "requirement": 1}
    with pytest.raises(NotWritable, match="tallystick backup"):
        ChronoStore(tmp_path, read_only=True).open()
    assert [finding.code for finding in check(old.folder)] == ["old-ledger"]
    assert _files(tmp_path) == before


def test_a_folder_that_may_only_be_read_says_what_to_do(
    old: OldStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _files(tmp_path)
    monkeypatch.setattr(takeover.os, "access", lambda path, mode: False)

    with pytest.raises(NotWritable, match="writable.*copy"):
        ChronoStore(tmp_path).open()
    assert _files(tmp_path) == before


@pytest.mark.filterwarnings("ignore::tallystick.stores.esdb.migrate.TakeoverWarning")
def test_a_disk_that_is_full_at_any_step_leaves_the_old_folder_or_the_new_one(old: OldStore, tmp_path: Path) -> None:
    old.write_snapshot()
    wal, snapshot = old.wal.read_bytes(), old.snapshot.read_bytes()
    for at in range(1, 200):
        disk = FailingDisk(ALL, at, errno.ENOSPC, for_good=True)
        try:
            take_over(old.folder, disk)
        except NotWritten:
            assert (old.wal.read_bytes(), old.snapshot.read_bytes()) == (wal, snapshot)
            assert not (old.folder / "takeover.new").exists()
        except Unfinished:
            assert old.wal.read_bytes() != wal
        if not disk.failed:
            break
    else:
        pytest.fail("it never came to an end")

    assert at > 12
    with ChronoStore(tmp_path) as store:
        assert _held(store) == old.records


@pytest.mark.filterwarnings("ignore::tallystick.stores.esdb.migrate.TakeoverWarning")
def test_a_process_that_ends_at_any_step_leaves_the_old_folder_or_the_new_one(old: OldStore, tmp_path: Path) -> None:
    old.write_snapshot()
    (old.folder / "events.wal.tmp").write_bytes(old.wal.read_bytes())
    listing, whole = Listing(), tmp_path / "whole"
    shutil.copytree(old.folder, whole / ".chronomemory")
    take_over(whole / ".chronomemory", listing)
    assert len(listing.changed) > 12
    for at in (*listing.changed, len(listing.listed)):
        project = tmp_path / str(at)
        shutil.copytree(old.folder, project / ".chronomemory")
        assert in_a_child(partial(take_over, project / ".chronomemory", DyingDisk(at))) == DIED
        with ChronoStore(project) as store:
            assert _held(store) == old.records
            assert {id: _history(store, id) for id in old.records} == old.history
            store.erase("A")
        assert [path for path in project.rglob("*") if path.is_file() and b"label of A" in path.read_bytes()] == []


# -- at length -------------------------------------------------------------------------------------------------------


@settings(max_examples=at_most(500))
@given(st.lists(ACTS, max_size=15), st.integers(1, 6))
def test_any_folder_opens_without_a_difference(acts: list[tuple[Any, ...]], every: int) -> None:
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", TakeoverWarning)
        old = made(Path(place), acts, every)
        seen = EsdbBridge(place).record_counts()
        with ChronoStore(place) as store:
            assert _held(store) == old.records
            assert {id: _history(store, id) for id in old.records} == old.history
            assert store.chain_valid()
        assert EsdbBridge(place).record_counts() == seen


@settings(max_examples=at_most(500))
@given(st.lists(ACTS, max_size=15), st.integers(1, 6), st.booleans(), st.integers(1, 20))
def test_any_folder_that_lost_its_snapshot_or_lines_revives_nothing(
    acts: list[tuple[Any, ...]], every: int, is_cut: bool, lines: int
) -> None:
    """Refused if one of the files shows that events are missing; else it holds what they say, to the last."""
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", TakeoverWarning)
        old = made(Path(place), acts, every)
        log = old.wal.read_bytes().splitlines(keepends=True)
        left = log[: max(0, len(log) - lines)] if is_cut else log
        if is_cut:
            old.wal.write_bytes(b"".join(left))
        else:
            old.snapshot.unlink(missing_ok=True)
        first, last = json.loads(log[0]), json.loads(left[-1])["seq"] if left else 0
        reaches = json.loads(old.snapshot.read_text())["seq"] if old.snapshot.exists() else 0
        if reaches > last or (not is_cut and first["op"] == "compact"):
            missing = r"(events? \d+( to \d+)? (is|are)|snapshot\.json.*) missing"
            with pytest.raises(Damaged, match=missing), ChronoStore(place):
                pass
            return
        if left:
            with ChronoStore(place) as store:
                touched = {json.loads(line)["record_id"] for line in log[len(left) :]}
                held = _held(store)
                assert {id: held[id] for id in held if id not in touched} == {
                    id: record for id, record in old.records.items() if id not in touched
                }

"""Whatever becomes of state.db, a memory says what its ledger says."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tallystick import ChronoRecord, ChronoStore, Memory
from tallystick.ledger.disk import Disk
from tallystick.ledger.folder import load
from tallystick.ledger.lock import Lock
from tallystick.projections.tables.file import StateFile
from tallystick.records.errors import Busy
from tallystick.repair.check import check
from tallystick.repair.scan import difference
from tallystick.state.state import State
from tallystick.stores.open_folder import OpenFolder
from tests.crash.disks import DIED, Child
from tests.crash.folder import at_length

WRITE = """
import sys
from tallystick import Memory
with Memory(sys.argv[1]) as memory:
    for number in range(100_000):
        memory.remember(f"{sys.argv[2]} said {number}", key=f"{sys.argv[2]}{number % 7}")
        print(number, flush=True)
"""


def writer(folder: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITE, os.fspath(folder), name], stdout=subprocess.PIPE)


def is_as_the_ledger_says(folder: Path) -> None:
    """The state, as a process has it that opens the memory now, and as state.db has it, is the fold of the lines."""
    with Memory(folder) as memory:
        said = list(memory._folder.state.dump())
        events = list(memory._folder.events())
    with closing(StateFile(folder / "state.db")) as rows:
        folded = State(rows.tables)
        rows.restart(alone=False)
        for event in events:
            folded.apply(event)
        rows.tables.save(None)
        assert said == list(folded.dump())
        assert difference(folder / "state.db", rows.tables) == ""
    assert [finding.code for finding in check(folder) if finding.severity == "error"] == []


@pytest.mark.parametrize(("rounds", "seed"), at_length(3, 40, seeds=2))
def test_a_writer_that_is_killed_at_any_moment_leaves_a_state_that_catches_up(tmp_path, rounds, seed):
    drawn, acknowledged = random.Random(seed), -1
    for life in range(rounds):
        child = writer(tmp_path / "m", f"life{life}-")
        assert child.stdout is not None
        for _ in range(drawn.randrange(1, 150)):
            acknowledged = int(child.stdout.readline())
        time.sleep(drawn.random() / 200)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        with Memory(tmp_path / "m") as memory:
            text = memory.show(f"life{life}-{acknowledged % 7}").text
            assert int(text.rpartition(" ")[2]) >= acknowledged - 6
        is_as_the_ledger_says(tmp_path / "m")


@pytest.mark.parametrize(("seconds", "seed"), at_length(2, 60, seeds=1))
def test_two_writers_and_a_reader_agree(tmp_path, seconds, seed):
    with Memory(tmp_path / "m") as reader:
        reader.remember("the first")
        children = [writer(tmp_path / "m", name) for name in ("ana", "bob")]
        for child in children:  # on a busy machine it takes a while until they write
            assert child.stdout is not None
            child.stdout.readline()
        until, seen = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            count = len(reader.beliefs.all())
            end = reader._folder.ledger.head.seq
            assert end >= seen
            assert 1 <= count <= 15
            seen = end
        for child in children:
            child.send_signal(signal.SIGTERM)
            child.communicate()
        assert seen > 2
    is_as_the_ledger_says(tmp_path / "m")


def removed(path: Path, _: bytes) -> None:
    for each in path.parent.glob("state.db*"):
        each.unlink()


def truncated(path: Path, _: bytes) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path, _: bytes) -> None:
    path.write_bytes(b"")


def scribbled(path: Path, _: bytes) -> None:
    path.write_bytes(b"no database " * 2000)


def rolled_back(path: Path, earlier: bytes) -> None:
    path.write_bytes(earlier)


def replaced(path: Path, _: bytes) -> None:
    """By the state of another memory."""
    with ChronoStore(path.parent.parent / "other") as other:
        other.upsert(ChronoRecord(id="theirs", label="what another memory says"))
    shutil.copy(path.parent.parent / "other" / ".chronomemory" / "state.db", path)


def swapped(path: Path, _: bytes) -> None:
    """The same, by a file with that name: SQLite does not see what is copied into a file that it has open."""
    path.rename(path.with_name("kept"))
    replaced(path, b"")


def a_folder(path: Path, _: bytes) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_memory_opens_from_its_rows_and_applies_no_event_again(tmp_path, monkeypatch, read_only):
    with Memory(tmp_path / "m") as memory:
        for number in range(5):
            memory.remember(f"number {number}", key=f"n{number}")
    applied, apply = list[int](), State.apply
    monkeypatch.setattr(State, "apply", lambda state, event: (applied.append(event.seq), apply(state, event)))

    with Memory(tmp_path / "m", read_only=read_only) as memory:
        assert memory.show("n3").text == "number 3"
    assert applied == []


@pytest.mark.parametrize("what", [removed, truncated, emptied, scribbled, rolled_back, replaced, a_folder])
def test_whatever_becomes_of_the_file_between_two_openings(tmp_path, what: Callable[[Path, bytes], None]):
    path = tmp_path / "m" / "state.db"
    with Memory(tmp_path / "m") as memory:
        for number in range(5):
            memory.remember(f"number {number}", key=f"n{number}")
    earlier = path.read_bytes()
    with Memory(tmp_path / "m") as memory:
        for number in range(5, 200):
            memory.remember(f"number {number}", key=f"n{number}")
        memory.forget("n3")
    what(path, earlier)

    with Memory(tmp_path / "m", read_only=True) as looking:
        assert looking.show("n150").text == "number 150"
        assert looking.show("n3").status == "tombstone"
    with Memory(tmp_path / "m") as memory:
        assert memory.show("n150").text == "number 150"

        memory.remember("and on", key="on")
    is_as_the_ledger_says(tmp_path / "m")


@pytest.mark.parametrize(
    ("what", "has_wal"),
    [
        *((what, has_wal) for what in (removed, a_folder, truncated, emptied, scribbled) for has_wal in (True, False)),
        (rolled_back, True), (rolled_back, False), (swapped, False),
    ],
)  # fmt: skip
@pytest.mark.sample(5)
def test_whatever_becomes_of_the_file_while_it_is_open(tmp_path, what: Callable[[Path, bytes], None], has_wal):
    path = tmp_path / "m" / "state.db"
    with Memory(tmp_path / "m") as memory:
        for number in range(50):
            memory.remember(f"number {number}", key=f"n{number}")
    earlier = path.read_bytes()
    with Memory(tmp_path / "m") as memory:
        memory.remember("since then", key="since")
        what(path, earlier)
        for end in () if has_wal else ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        with suppress(Busy):  # a file that cannot be read costs one call
            memory.show("n42")
        assert memory.show("n42").text == "number 42"
        for number in range(50):
            memory.remember(f"again {number}", key=f"n{number}")
        assert memory.show("n42").text == "again 42"
        assert memory.show("since").text == "since then"
    is_as_the_ledger_says(tmp_path / "m")


@pytest.mark.parametrize("is_open", [True, False])
def test_pages_in_the_middle_that_are_no_pages_cost_one_call_at_most(tmp_path, is_open):
    path, busy = tmp_path / "m" / "state.db", 0
    with Memory(tmp_path / "m") as memory:
        for number in range(2000):
            memory.remember(f"number {number}", key=f"n{number}")
    memory = Memory(tmp_path / "m") if is_open else None
    with open(path, "r+b") as file:
        file.seek(4096 * 9)
        file.write(b"\xa5" * (path.stat().st_size - 4096 * 9))
    with memory or Memory(tmp_path / "m") as memory:
        for number in range(0, 2000, 50):
            try:
                found = memory.show(f"n{number}")
            except Busy:
                busy += 1
                found = memory.show(f"n{number}")
            assert found.text == f"number {number}"
    assert busy <= 1
    is_as_the_ledger_says(tmp_path / "m")


def test_an_erasure_that_is_killed_after_the_lines_were_emptied_leaves_no_word_in_the_rows(tmp_path, monkeypatch):
    with Memory(tmp_path / "m", embedder="none") as memory:
        memory.remember("tea at noon", key="tea-time")
        memory.revise("tea-time", "tea at one")

    def killed(*_: object) -> None:
        shutil.copytree(tmp_path / "m", tmp_path / "left")
        raise KeyboardInterrupt

    with Memory(tmp_path / "m", embedder="none") as memory, monkeypatch.context() as patch:
        patch.setattr("tallystick.ledger.folder.erase_everywhere.hollow_out_audit", killed)
        with pytest.raises(KeyboardInterrupt):
            memory.erase("tea-time")
    with Memory(tmp_path / "left", embedder="none") as memory:
        assert memory.beliefs.query(believed_at=1) == memory.beliefs.query() == []
    assert [path.name for path in (tmp_path / "left").rglob("*.db*") if b"tea" in path.read_bytes()] == []


# -- a long ledger is folded outside its lock --------------------------------------------------------------------------


@pytest.fixture
def long_one(tmp_path, monkeypatch):
    """A memory whose rows are gone, and every ledger is a long one."""
    with Memory(tmp_path / "m", embedder="none") as memory:
        for number in range(60):
            memory.remember(f"number {number}", key=f"n{number % 20}")
    removed(tmp_path / "m" / "state.db", b"")
    monkeypatch.setattr(load, "_LONG", 0)
    monkeypatch.setattr(load, "_MANY", 10)
    return tmp_path / "m"


def test_rows_of_a_long_ledger_are_made_while_the_lock_is_free_and_whoever_would_write_is_told_how_far_it_is(
    long_one, monkeypatch
):
    seen, fold = [], load.fold_line

    def looked(line, state, standing):
        if line.seq == 55:
            lock = Lock(long_one / "lock", Disk(), timeout=0.1)
            assert lock.take_now()
            lock.release()
            with pytest.raises(Busy, match="81 %"):
                OpenFolder(long_one, timeout=0.1)
            seen.append(lock)
            lock.close()
        return fold(line, state, standing)

    monkeypatch.setattr(load, "fold_line", looked)
    with Memory(long_one, embedder="none") as memory:
        assert memory.show("n3").text == "number 43"
        memory.remember("and on", key="on")
    assert len(seen) == 1
    is_as_the_ledger_says(long_one)


def test_several_who_open_a_memory_without_rows_make_them_once(long_one):
    made, build = long_one.parent / "made", load.build_rows

    def counted(*given):
        with open(made, "a") as file:
            file.write("once\n")
        build(*given)

    def write(name):
        load.build_rows = counted
        with Memory(long_one, embedder="none") as memory:
            memory.remember(f"{name} was here", key=name)

    children = [Child(lambda name=name: write(name)) for name in ("ana", "bob", "eve")]
    assert [child.wait() for child in children] == [0, 0, 0]

    assert made.read_text() == "once\n"
    with Memory(long_one, embedder="none") as memory:
        assert [memory.show(name).text for name in ("ana", "bob", "eve", "n19")] == [
            "ana was here", "bob was here", "eve was here", "number 59",
        ]  # fmt: skip
    is_as_the_ledger_says(long_one)


def test_whoever_dies_while_making_rows_leaves_nothing_that_the_next_one_uses(long_one, tmp_path):
    def die(at):
        fold = load.fold_line

        def dying(line, state, standing):
            if line.seq == at:
                os._exit(DIED)
            return fold(line, state, standing)

        load.fold_line = dying
        Memory(now, embedder="none")

    for at in (0, 9, 10, 31, 60):
        now = shutil.copytree(long_one, tmp_path / f"now{at}")
        assert Child(lambda at=at: die(at)).wait() == DIED
        assert (now / "state.db.building").exists()
        is_as_the_ledger_says(now)
        assert list(now.glob("state.db.building*")) == []


def test_what_is_erased_while_rows_are_made_is_in_none_of_them(long_one, monkeypatch):
    build = load.build_rows

    def erased_meanwhile(*given):
        build(*given)
        with monkeypatch.context() as patch:
            patch.setattr(load, "_LONG", 1 << 30)
            with Memory(long_one, embedder="none") as other:
                other.erase("n7")

    monkeypatch.setattr(load, "build_rows", erased_meanwhile)
    with Memory(long_one, embedder="none") as memory:
        assert memory.get("n7") is None
    assert [path.name for path in long_one.glob("state.db*") if b"number 47" in path.read_bytes()] == []
    is_as_the_ledger_says(long_one)

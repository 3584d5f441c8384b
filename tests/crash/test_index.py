"""The index among several processes, some of which are killed: it follows, forgets what was erased, grows back."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tallystick import Hit, Memory
from tallystick.ledger.folder import backup as backup_module
from tallystick.projections.database import IN_MEMORY
from tallystick.projections.index.file import IndexFile, differences
from tallystick.repair import repair as mend_module
from tallystick.repair.check import check
from tallystick.state.sessions import IDLE
from tallystick.stores import open_folder
from tests.crash.disks import DIED, DyingDisk, in_a_child
from tests.crash.folder import SOAK, at_length, files_with
from tests.crash.test_doors import as_nobody, let_read
from tests.crash.writers import Work, at_once, kill_at_once
from tests.ledger.forge import everything

pytestmark = pytest.mark.usefixtures("own_home")

WORD = "Zwiebelfischereien"  # said nowhere else; full text keeps it folded and stemmed
TRACES = (WORD, WORD.lower(), "zwiebelfischereien"[:12])


def answers(m: Memory, asked: str) -> list[Hit]:
    """What says these words itself, without its neighbours."""
    return [hit for hit in m.recall(asked, k=50, words=True) if not hit.via]


def same_as_rebuilt(root: Path) -> None:
    with Memory(root) as m, closing(IndexFile(IN_MEMORY)) as again:
        m.recall("tea", words=True)
        again.catch_up(m._folder.events())
        with closing(IndexFile(root / "state.db")) as index:
            assert list(differences(index, again)) == []
            assert index.text_trouble() == ""


def traces(root: Path) -> list[Path]:
    return [path for word in TRACES for path in files_with(root, word)]


def index_files(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("state.db*"))


def writer(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    number = 0
    while time.time() < until:
        number += 1
        if number % 7 == 0:
            with m.batch():
                m.remember(f"tea {name} batch{number}", key=f"{name}{number}")
                m.recall("tea", words=True)
                m.remember(f"tea {name} second{number}", key=f"{name}{number}b")
        else:
            m.remember(f"tea {name} number{number}", key=f"{name}{number}")
        if number % 5 == 0:
            m.forget(f"{name}{number - 1}")
        if number % 40 == 0:
            m.ledger.compact()
    assert told == [], told


def reader(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    asked = 0
    while time.time() < until or not asked:  # on a busy machine it may have begun late
        asked += bool(m.recall("tea number3 second7", k=20, words=True))
        for hit in m.recall("tea", k=3, words=True):
            assert "tea" in hit.text


def rebuilder(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    while time.time() < until:
        m.rebuild_index()
        time.sleep(0.05)
    assert told == [], told


def eraser(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    number = 0
    while time.time() < until:
        number += 1
        said = m.remember(f"tea and zqgone{name}{number}")
        m.erase(said.id)
        assert m.recall(f"zqgone{name}{number}", words=True) == []
        time.sleep(0.05)


def checker(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    known = ("leftover", "erasure-unfinished", "page-unsynced")
    while time.time() < until:
        bad = [finding for finding in check(root) if finding.code not in known]
        assert bad == [], bad


def together(root: Path, seconds: float, *works: Work) -> None:
    """Run them at once; none of them fails, and afterwards all agree and the index is the one that is rebuilt."""
    with Memory(root) as m:
        m.remember("tea number3")
    at_once(root, seconds, works)
    told: list[str] = []
    with Memory(root, notify=told.append) as one, Memory(root, notify=told.append) as other:
        assert one.recall("tea", k=10_000, words=True) == other.recall("tea", k=10_000, words=True)
        held = {belief.id: belief for belief in one.beliefs.query(status="active")}
        found = {name for hit in one.recall("tea", k=10_000, words=True) for name in hit.sources}
        assert {name: held[name] for name in held.keys() - found} == {}
        assert found == held.keys()
    assert told == []
    same_as_rebuilt(root)
    assert [finding.code for finding in check(root)] == []
    assert files_with(root, "zqgone") == []


TOGETHER = {
    "they write": (1.5, writer, writer, reader),
    "others rebuild, erase and check": (2, writer, reader, rebuilder, eraser, checker),
    "one rebuilds": (0, writer, writer, reader, rebuilder),
    "two rebuild and two erase": (0, writer, writer, reader, rebuilder, rebuilder, eraser, eraser),
}  # the seconds everyday; at length, a minute


@pytest.mark.parametrize(
    "what", [pytest.param(name, marks=() if works[0] else pytest.mark.soak) for name, works in TOGETHER.items()]
)
def test_several_at_once_are_told_of_no_error_and_agree(tmp_path: Path, what: str) -> None:
    seconds, *works = TOGETHER[what]
    together(tmp_path / "memory", 60 if SOAK else seconds, *works)


@pytest.mark.parametrize(("rounds", "seed"), at_length(3, 25, seeds=4))
def test_processes_killed_in_a_loop_leave_an_index_that_is_true_or_grows_back(tmp_path: Path, rounds, seed) -> None:
    """Writers, rebuilders and erasers, killed at any moment. Whoever comes next finds an index that can be mended."""
    root, drawn = tmp_path / "memory", random.Random(seed)
    for _ in range(rounds):
        kill_at_once(root, drawn, drawn.sample([writer, writer, rebuilder, eraser, reader], k=3))
        with Memory(root) as m:
            assert m.trouble == ""
            m.remember("tea after the killing")
            found = {name for hit in m.recall("tea", k=10_000, words=True) for name in hit.sources}
            assert found == {belief.id for belief in m.beliefs.query(status="active")}
        same_as_rebuilt(root)


# -- erasing -----------------------------------------------------------------------------------------------------------


def with_words(root: Path) -> None:
    """The word in a belief and its history, under a tag's block, in a backup; the index has all of it."""
    with Memory(root) as m:
        for number in range(8):
            m.remember(f"tea number{number}", key=f"k{number}")
        m.remember(f"We love {WORD}", key="secret", tags=["t"])
        m.remember(f"{WORD} are what we love", key="secret")
        m.remember("tea rests on it", rests_on=["secret"])
        m.backup()
        m.ledger.compact()
        m.remember("tea later")
        assert m.recall(WORD, words=True)


def test_erased_words_leave_no_trace_while_others_have_the_old_index_open(root: Path) -> None:
    with_words(root)
    with Memory(root) as other, closing(sqlite3.connect(root / "state.db")) as plain:
        assert other.recall(WORD, words=True)
        plain.execute("SELECT count(*) FROM index_texts").fetchall()
        with Memory(root) as m:
            m.erase("secret")
            assert traces(root) == []
            assert m.recall(WORD, words=True) == []
        other.remember("tea by the other")
        assert other.recall(WORD, words=True) == []
        assert traces(root) == []
        plain.execute("INSERT INTO state_table VALUES (99, 'y')")
        plain.commit()
    assert traces(root) == []
    same_as_rebuilt(root)
    assert traces(root) == []


def test_an_older_index_put_back_after_an_erasure_loses_the_words_with_the_next_use(tmp_path: Path) -> None:
    root, told = tmp_path / "memory", list[str]()
    with_words(root)
    kept = (root / "state.db").read_bytes()
    for use in (lambda m: m.recall("tea", words=True), lambda m: (m.remember("tea more"), m.recall("tea", words=True))):
        with Memory(root) as m:
            if m.get("secret"):
                m.erase("secret")
        (root / "state.db").write_bytes(kept)
        assert traces(root)
        told.clear()
        with Memory(root, notify=told.append) as m:
            use(m)
            assert m.recall(WORD, words=True) == []
        assert traces(root) == []
        assert len(told) == 1
    same_as_rebuilt(root)


def test_what_an_earlier_program_or_one_who_died_left_is_erased_too(root: Path) -> None:
    with_words(root)
    for name in ("index.db", "pages.db-wal", "graph.db", "index.db.999999999-00000000.making", "state.db.new"):
        shutil.copy(root / "state.db", root / name)  # of an earlier program, and of one who died
    (root / "state.db-journal").write_text(WORD)
    with Memory(root) as m:
        m.erase("secret")
    assert traces(root) == []


def dying(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """From now on every ledger that is opened has a disk that ends the process at its `at`-th call."""
    disk = DyingDisk(at)
    for module in (open_folder, backup_module, mend_module):
        monkeypatch.setattr(module, "Disk", lambda: disk)


def every_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path], object], work: Callable[[Path], object]
) -> Iterator[Path]:
    """The folder after a death at each disk call of `work` (every eighth or so, in everyday tests), and after none."""
    before, now, at = tmp_path / "before", tmp_path / "now", 1
    prepare(before)
    drawn = random.Random(3)
    while True:
        shutil.rmtree(now, ignore_errors=True)
        shutil.copytree(before, now)

        def die(at: int = at) -> None:
            with pytest.MonkeyPatch.context() as patch:
                dying(patch, at)
                work(now)

        status = in_a_child(die)
        yield now
        if status != DIED:
            break
        at += 1 if SOAK else drawn.randint(4, 12)
    assert at > 10


def test_words_are_gone_wherever_the_one_who_erases_them_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def erase(root: Path) -> None:
        with Memory(root) as m:
            m.recall(WORD, words=True)
            m.erase("secret")

    for root in every_death(tmp_path, monkeypatch, with_words, erase):
        with Memory(root) as m:
            recorded = m.get("secret") is None
            assert recorded == (m.recall(WORD, words=True) == [])
            assert len(answers(m, "tea")) == 10
        if recorded:
            assert traces(root) == []
        same_as_rebuilt(root)
    assert recorded


def test_one_who_had_it_open_is_not_troubled_by_an_eraser_who_died(tmp_path: Path) -> None:
    """The erasure is on record and its words still stand: neither an old index nor a new one shows them."""
    for reading in (False, True):
        root = tmp_path / f"memory-{reading}"
        with_words(root)
        at = 1
        while True:
            now = tmp_path / "now"
            shutil.rmtree(now, ignore_errors=True)
            shutil.copytree(root, now)
            with Memory(now, read_only=reading) as other:
                assert other.recall(WORD, words=True)

                def die(at: int = at, now: Path = now) -> None:
                    with Memory(now) as m:
                        m._folder.ledger._disk = DyingDisk(at)
                        m.erase("secret")

                status = in_a_child(die)
                recorded = other.get("secret") is None
                assert (other.recall(WORD, words=True) == []) == recorded
                assert len(answers(other, "tea")) == 10
            if status != DIED:
                break
            at += 1 if SOAK else 9
        assert recorded


# -- restoring and repairing -------------------------------------------------------------------------------------------


def with_a_copy(root: Path) -> None:
    with_words(root)
    with Memory(root) as m:
        m.remember("tea since the copy")


def test_a_restore_that_dies_anywhere_is_finished_and_the_index_raises_no_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_back(root: Path) -> None:
        with Memory(root) as m:
            m.recall("tea", words=True)
        [copy] = (root / "backup").glob("2*")
        Memory.restore(copy, root).close()

    for root in every_death(tmp_path, monkeypatch, with_a_copy, go_back):
        with Memory(root) as m:
            assert m.trouble == ""
            m.remember("tea after all")
            assert {name for hit in answers(m, "tea") for name in hit.sources} == {
                belief.id for belief in m.beliefs.all() if "tea" in belief.text
            }
        same_as_rebuilt(root)
        assert "rolled-back" not in [finding.code for finding in check(root)]


def with_damage(root: Path) -> None:
    """A line in the middle of the living stretch cannot be read, and no copy has it."""
    with Memory(root) as m:
        for number in range(6):
            m.remember(f"tea number{number}", key=f"k{number}")
    lines = (root / "events.wal").read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:10] + b"#" + lines[3][11:]
    (root / "events.wal").write_bytes(b"".join(lines))


def test_a_repair_that_dies_anywhere_is_finished_and_the_index_raises_no_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for root in every_death(tmp_path, monkeypatch, with_damage, lambda root: mend_module.apply(root, ["line-damaged"])):
        codes = {finding.code for finding in check(root)}
        assert "rolled-back" not in codes
        mend_module.apply(root, ["line-damaged", "leftover"])
        with Memory(root) as m:
            assert m.trouble == ""
            m.remember("tea after all")
            assert len(m.recall("tea", k=50, words=True)) == len(m.beliefs.all())
        same_as_rebuilt(root)


# -- whoever may only read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", ["closed", "killed", "without an index"])
def test_a_user_who_may_only_read_recalls_and_changes_nothing(place: Path, left: str) -> None:
    root = place / "memory"
    with_words(root)
    if left == "without an index":
        (root / "state.db").unlink()
    if left == "killed":
        _killed(root)
    let_read(root)
    before = everything(root)

    def work() -> None:
        os.environ["HOME"] = str(place)
        with Memory(root) as m:
            assert [hit.text for hit in answers(m, WORD)] == [f"{WORD} are what we love"]
            assert m.recall("tea", k=50, words=True)
        assert [finding.code for finding in check(root) if finding.code != "modes-wide"] == []

    as_nobody(work)
    assert everything(root) == before


def _killed(root: Path) -> None:
    """A writer who died with SQLite's journal beside the index."""

    def work() -> None:
        m = Memory(root)
        m.remember("tea before the end")
        os._exit(DIED)

    assert in_a_child(work) == DIED
    assert index_files(root) == ["state.db", "state.db-shm", "state.db-wal"]


@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_an_index_that_belongs_to_another_is_made_anew_where_the_folder_allows_it(place: Path, mode: int) -> None:
    root = place / "memory"
    with_words(root)
    for path in [root, *root.rglob("*")]:
        os.chown(path, 65534, 65534)
    os.chown(root / "state.db", 0, 0)
    (root / "state.db").chmod(mode | (mode >> 6))

    def work() -> None:
        os.environ["HOME"] = str(root)
        told: list[str] = []
        with Memory(root, notify=told.append) as m:
            m.remember("tea of the owner")
            assert len(answers(m, "tea")) == 11
        assert len(told) == 1

    as_nobody(work)


def test_a_check_of_what_a_killed_writer_left_finds_nothing_and_changes_nothing(root: Path) -> None:
    """But SQLite's own scratch file, which it begins anew as soon as somebody looks."""
    with_words(root)
    _killed(root)
    before = everything(root)
    assert [finding.code for finding in check(root)] == []
    after = everything(root)
    scratch = str(root / "state.db-shm")
    assert {name: after[name] for name in after if name != scratch} == {
        name: before[name] for name in before if name != scratch
    }


# -- the clock of active hours -----------------------------------------------------------------------------------------


def test_the_clock_survives_a_kill_in_a_working_session_and_never_goes_back(tmp_path: Path) -> None:
    root, began = tmp_path / "memory", datetime(2026, 1, 1, tzinfo=UTC)
    hours = [0.0]
    for day in range(4):

        def work(day: int = day) -> None:
            now = [began + timedelta(days=day)]
            m = Memory(root, clock=lambda: now[0])
            m.work.start()
            for minutes in (10, 20, 600, 5):
                now[0] += timedelta(minutes=minutes)
                m.remember(f"tea {day} {minutes}")
            os.kill(os.getpid(), signal.SIGKILL)

        assert in_a_child(work) == -signal.SIGKILL
        with Memory(root, clock=lambda: began + timedelta(days=day, hours=23)) as m:  # noqa: B023
            hours.append(m.work.hours)
            with closing(IndexFile(root / "state.db")) as index:
                m.recall("tea", words=True)
                assert index.bookmark().clock == m._folder.state.work.clock
                [(value,)] = index.db.execute("SELECT value FROM system_config WHERE key = 'total_active_hours'")
                assert float(value) == m.work.hours
    expected = 10 / 60 + 20 / 60 + IDLE + 5 / 60
    assert [round(after - before, 6) for before, after in pairwise(hours)] == [round(expected, 6)] * 4
    same_as_rebuilt(root)

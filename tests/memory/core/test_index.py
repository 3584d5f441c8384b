"""The index of an open memory: whatever becomes of its file, recall answers, writes stand, and it is told once."""

import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

import pytest

from tallystick import Memory, RolledBack
from tallystick.memory.core import follower, index as lifecycle
from tallystick.projections import database as file_module
from tallystick.projections.database import IN_MEMORY
from tallystick.projections.index import fold as fold_module
from tallystick.projections.index.file import IndexFile, differences
from tallystick.records.errors import Busy, Closed, Damaged, Missing, NotWritable
from tallystick.records.event import Event
from tallystick.repair.check import check
from tallystick.repair.repair import apply as mend
from tallystick.state.state import State
from tests.crash.disks import in_a_child
from tests.memory.conftest import files_with, in_threads
from tests.refusals import refuses

COUNT = 16
ANEW = "the index was rebuilt from the ledger"

pytestmark = pytest.mark.usefixtures("no_pins")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with everything in it, closed; nobody writes to it."""
    root = tmp_path_factory.mktemp("made") / "memory"
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        with Memory(root) as m, m.batch():
            for number in range(COUNT):
                m.remember(f"tea number{number} {'and more ' * (number % 9)}", key=f"k{number}", tags=["taste"])
            m.remember("tea rests", rests_on=["k1"], key="above")
            m.remember("tea revised", key="k2")
            m.remember("quince said by a web page", trust="web")
    return root


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "memory"))


@pytest.fixture
def told() -> list[str]:
    return []


def teas(m: Memory) -> int:
    """How many memories speak of tea."""
    return len(m.recall("tea", k=500, words=True))


def everything_is_there(root: Path, told: list[str], more: int = 0) -> None:
    """Through a new handle, which writes first: all comes back, and so it does for the next one."""
    with Memory(root, notify=told.append) as m:
        m.remember("tea after it", key=f"after{more}")
        assert teas(m) == COUNT + 2 + more
        found = [m.recall(f"number{number}", words=True) for number in (0, 1, 7, COUNT - 1)]
        assert {sum(not hit.via for hit in each) for each in found} == {1}
    with Memory(root, notify=told.append) as m:
        assert teas(m) == COUNT + 2 + more
    same_as_rebuilt(root)


def same_as_rebuilt(root: Path) -> None:
    """Row for row, and full text with it."""
    with Memory(root, read_only=True) as m, closing(IndexFile(IN_MEMORY)) as again:
        again.catch_up(m._folder.events())
        with closing(IndexFile(root / "state.db")) as index:
            assert list(differences(index, again)) == []
            assert index.text_trouble() == ""
            assert index.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert [str(finding) for finding in check(root) if finding.severity != "note"] == []


# -- an everyday folder ----------------------------------------------------------------------------------------------


def test_where_nothing_is_wrong_nothing_is_told(tmp_path, told):
    for name, work in FIRST_WRITES.items():
        with Memory(tmp_path / name, notify=told.append) as m:
            assert m.recall("tea", words=True) == []
            work(m)
            assert m.recall("tea", words=True)
            m.remember("coffee")
        for _ in range(2):
            with Memory(tmp_path / name, notify=told.append) as m, m.batch():
                assert m.recall("tea", words=True)
                m.remember("more tea")
        with Memory(tmp_path / name, notify=told.append) as m:
            m.ledger.compact()
            assert m.recall("tea", words=True)
            m.erase(m.remember("quince").id)
            m.rebuild_index()
            assert m.recall("tea", words=True)
            assert m.recall("quince", words=True) == []
    assert told == []


def _many(m: Memory) -> None:
    with m.batch():
        for number in range(120):
            m.remember(f"tea {number}")


FIRST_WRITES: dict[str, Callable[[Memory], object]] = {
    "a belief": lambda m: m.remember("tea"),
    "a group that a snapshot follows": _many,
    "what a web page says, and the question that goes with it": lambda m: (
        m.remember("x", trust="web"), m.remember("tea"),
    ),
}  # fmt: skip


# -- what may become of the file -------------------------------------------------------------------------------------


def _text(path: Path) -> None:
    path.write_text("shopping: tea, quinces\n" * 300)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "someones.txt").write_text("keep me")


def _sql(*statements: str) -> Callable[[Path], None]:
    """Whoever calls it changes a file in this way."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA foreign_keys = OFF")
            for each in statements:
                db.execute(each)
            db.commit()

    return change


def _another_layout(path: Path) -> None:
    path.unlink()
    _sql("CREATE TABLE bookmark (seq INTEGER)", "CREATE TABLE blocks (id TEXT)")(path)


WHAT_BECAME: dict[str, Callable[[Path], object]] = {
    "it is gone": Path.unlink,
    "it is empty": lambda path: path.write_bytes(b""),
    "it is a text": _text,
    "it is a folder": _directory,
    "it leads nowhere": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    "its shape is another": _sql("UPDATE positions SET shape = shape + 1 WHERE name = 'index'"),
    "its layout is another": _another_layout,
    "it lacks a column": _sql("ALTER TABLE index_sources RENAME COLUMN about TO elsewhere"),
    "it has no full text": _sql("DROP TABLE index_texts"),
    "rows lack their blocks": _sql(
        "DELETE FROM index_lives", "UPDATE positions SET saved = x'5b5d' WHERE name = 'index'"
    ),
    "its letters are none": _sql(
        "UPDATE blocks SET content = CAST(x'746561ff' AS TEXT)",
        "UPDATE index_sources SET said = CAST(x'746561ff' AS TEXT)",
    ),
    "its bookmark is no hash": _sql("UPDATE positions SET hash = 'smudge' WHERE name = 'index'"),
    "its header is scribbled over": lambda path: path.write_bytes(b"x" * 100 + path.read_bytes()[100:]),
    "it is all zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}  # fmt: skip


@pytest.mark.parametrize("became", WHAT_BECAME)
def test_whatever_became_of_the_index_all_comes_back_and_it_is_told_once(folder, became, told):
    WHAT_BECAME[became](folder / "state.db")

    everything_is_there(folder, told) if became != "it is a folder" else _there_beside_a_folder(folder, told)

    assert len(told) == 1, told
    assert told[0].startswith(ANEW)


def _there_beside_a_folder(root: Path, told: list[str]) -> None:
    """Somebody's folder is put aside, not removed."""
    with Memory(root, notify=told.append) as m:
        m.remember("tea after it")
        assert teas(m) == COUNT + 2
    [aside] = root.glob("state.db.aside-*/someones.txt")
    assert aside.read_text() == "keep me"


@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("what", ["a text", "a folder"])
def test_whatever_stands_beside_the_index_all_comes_back(folder, beside, what):
    path = folder / f"state.db{beside}"
    path.write_text("not SQLite's") if what == "a text" else path.mkdir()

    with Memory(folder) as m:
        m.remember("tea after it")
        assert teas(m) == COUNT + 2


def test_an_index_cut_at_any_length_grows_back(folder):
    whole, told = (folder / "state.db").read_bytes(), list[str]()
    lengths = [1, 15, 16, 99, 100, 101, 1023, 4095, 4096, 4097, 3 * 4096, len(whole) // 2, len(whole) - 4096]
    for more, length in enumerate(lengths):
        (folder / "state.db").write_bytes((folder / "state.db").read_bytes()[:length])
        with Memory(folder, notify=told.append) as m:
            assert teas(m) == COUNT + 1 + more
            m.remember(f"tea after cut {more}")
            assert teas(m) == COUNT + 2 + more
        assert len(told) == more + 1
    same_as_rebuilt(folder)


def again_if_busy(call: Callable[[], object]) -> None:
    """Rows of the state that cannot be read are made again by the next call; whoever finds them so is told to retry."""
    try:
        call()
    except Busy:
        call()


def scribbled(root: Path, whole: bytes, drawn: random.Random) -> None:
    """Recall answers or mends; what it could not see, `check` does, and a repair sets right."""
    garbled = bytearray(whole)
    for _ in range(drawn.randint(1, 20)):
        length = drawn.choice([1, 8, 64, 4096])
        at = drawn.randrange(len(garbled))
        at -= at % length
        filler = bytes(length) if drawn.random() < 0.3 else drawn.randbytes(length)
        garbled[at : at + length] = filler[: len(garbled) - at]
    (root / "state.db").write_bytes(garbled)
    told: list[str] = []
    with Memory(root, notify=told.append) as m:
        if "state.db has seen" in m.trouble:
            (root / "state.db").unlink()  # a bookmark that was changed into another event's is a witness
            return
        again_if_busy(lambda: m.remember("tea after it", key="after"))
        again_if_busy(lambda: m.recall("tea", k=500, words=True))
        for number in range(0, COUNT, 7):
            again_if_busy(lambda number=number: m.recall(f"number{number}", words=True))
    assert len(told) <= 1
    mend(root, sorted({finding.code for finding in check(root)} - {"page-unsynced"}))
    with Memory(root) as m:
        assert teas(m) == COUNT + 2
    same_as_rebuilt(root)


@pytest.mark.parametrize(
    ("seed", "times"), [(5, 8), *(pytest.param(seed, 50, marks=pytest.mark.soak) for seed in range(20))]
)
def test_an_index_scribbled_over_in_many_ways_answers_and_is_mended(folder, seed, times):
    whole, drawn = (folder / "state.db").read_bytes(), random.Random(seed)
    for _ in range(times):
        scribbled(folder, whole, drawn)


# -- an older copy -----------------------------------------------------------------------------------------------------


def _copy_index(root: Path, to: Path) -> None:
    to.mkdir()
    for path in root.glob("state.db*"):
        shutil.copy(path, to / path.name)


def _put_back(root: Path, kept: Path, *, without: str = "") -> None:
    for path in root.glob("state.db*"):
        path.unlink()
    for path in kept.iterdir():
        if not without or not path.name.endswith(without):
            shutil.copy(path, root / path.name)


@pytest.mark.parametrize("without", ["", "-wal", "-shm"])
def test_an_older_copy_of_the_index_catches_up(folder, tmp_path, without, told):
    with Memory(folder) as m:
        m.remember("tea before the copy", key="b")
        _copy_index(folder, tmp_path / "kept")
        m.remember("tea after the copy", key="c")
        m.forget("k3")
    _put_back(folder, tmp_path / "kept", without=without)

    with Memory(folder, notify=told.append) as m:
        assert teas(m) == COUNT + 1 + 2 - 1
        assert m.recall("number3", words=True) == []
    same_as_rebuilt(folder)
    assert len(told) <= 1


def test_an_index_rolled_back_under_a_live_memory_catches_up(folder, tmp_path, told):
    """Some versions of SQLite can lose commits when two checkpoint at once. Here the whole file is put back."""
    with Memory(folder) as m:
        m.recall("tea", words=True)
        kept = (folder / "state.db").read_bytes()
    with Memory(folder, notify=told.append) as m, Memory(folder, notify=told.append) as other:
        for number in range(5):
            m.remember(f"tea later{number}")
            other.remember(f"tea other{number}")
        m._context.index.close()
        other._context.index.close()
        (folder / "state.db").write_bytes(kept)
        assert teas(m) == COUNT + 1 + 10
        other.remember("tea once more")
        assert teas(m) == teas(other) == COUNT + 1 + 11
    same_as_rebuilt(folder)
    assert told == []


def test_a_commit_that_sqlite_lost_is_found_again(folder):
    """Rows and bookmark go back together, under an open handle that knows better."""
    with Memory(folder) as m:
        m.recall("tea", words=True)
        with closing(sqlite3.connect(folder / "state.db")) as kept, closing(sqlite3.connect(":memory:")) as copy:
            kept.backup(copy)
            m.remember("tea one")
            m.remember("tea two")
            copy.backup(kept)
        m.remember("tea three")
        assert teas(m) == COUNT + 1 + 3
    same_as_rebuilt(folder)


# -- changed while it is open ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("became", ["it is gone", "it is empty", "it is a text", "its shape is another"])
@pytest.mark.parametrize("by", ["this process", "another"])
def test_an_index_that_is_replaced_while_it_is_open_grows_back(folder, became, by, told):
    with Memory(folder, notify=told.append) as m:
        assert teas(m) == COUNT + 1

        def replace() -> None:
            fresh = Path(shutil.copy(folder / "state.db", folder / "fresh"))
            WHAT_BECAME[became](fresh)
            for path in folder.glob("state.db*"):
                path.unlink()
            if fresh.exists():
                fresh.rename(folder / "state.db")

        replace() if by == "this process" else in_a_child(replace)
        m.remember("tea one")
        assert teas(m) == COUNT + 2
        m.remember("tea two")
        assert teas(m) == COUNT + 3
    assert len(told) == 1
    same_as_rebuilt(folder)


def test_one_that_another_process_made_anew_is_taken_up(folder, told):
    with Memory(folder, notify=told.append) as m, Memory(folder, notify=told.append) as other:
        assert teas(m) == teas(other) == COUNT + 1
        for number in range(3):
            other.rebuild_index()
            other.remember(f"tea by the other {number}")
            m.remember(f"tea by this {number}")
            found = [teas(each) for each in (m, other)]
            assert found == [COUNT + 1 + 2 * (number + 1)] * 2
    assert told == []
    same_as_rebuilt(folder)


# -- a witness ---------------------------------------------------------------------------------------------------------


def roll_back(root: Path, keep: int) -> None:
    """The ledger loses its last lines, and the lock file its memory of them. The index is as it was."""
    lines = (root / "events.wal").read_bytes().splitlines(keepends=True)
    (root / "events.wal").write_bytes(b"".join(lines[:keep]))
    (root / "lock").write_bytes(b"")


def everything_in(root: Path) -> dict[str, object]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def rolled_back(folder: Path) -> None:
    with Memory(folder) as m:
        m.remember("tea that will be lost", key="lost")
        m.remember("coffee", key="lost too")
    lines = (folder / "events.wal").read_bytes().count(b"\n")
    roll_back(folder, lines - 2)


def test_an_index_that_saw_more_than_the_ledger_has_refuses_every_write_until_a_repair_on_the_record(folder):
    rolled_back(folder)
    before = everything_in(folder)
    with Memory(folder) as m:
        assert "state.db has seen event" in m.trouble
        for attempt in (
            lambda: m.remember("x"), lambda: m.forget("k1"), lambda: m.revise("k1", "y"), lambda: m.erase("k1"),
            lambda: m.recall("tea", words=True), m.rebuild_index, m.ledger.compact, lambda: m.batch().__enter__(),
        ):  # fmt: skip
            with pytest.raises(RolledBack, match=r"\b20\b.*state.db.*\b22\b"):
                attempt()
    assert everything_in(folder) == before
    found = check(folder)
    assert found[0].code == "state-ahead"
    assert "state.db has seen" in found[0].text
    assert everything_in(folder) == before

    (folder / "events.wal").chmod(0o644)
    with refuses("state", "state.db has seen event 22", "tallystick repair state-ahead"):
        mend(folder, ["modes-wide"])
    mend(folder, ["state-ahead", "audit-ahead", "modes-wide"])
    assert check(folder) == []
    with Memory(folder) as m:
        assert m.recall("lost", words=True) == []
        assert m.remember("x").text == "x"
        assert [event.body["mended"] for event in m.log(op="ledger.repair")] == [
            {"state-ahead": 1, "audit-ahead": 1, "modes-wide": 1}
        ]


def test_an_index_that_saw_another_event_there_is_a_witness_too(folder):
    rolled_back(folder)
    aside = folder / "state.db"
    kept = aside.read_bytes()
    aside.unlink()
    with Memory(folder) as m:
        m.remember("other tea")
        m.remember("other coffee")
    (folder / "lock").write_bytes(b"")
    aside.write_bytes(kept)

    with Memory(folder) as m, pytest.raises(RolledBack, match=r"\b22\b.*state\.db"):
        m.remember("x")
    assert check(folder)[0].code == "state-ahead"


def test_an_index_that_saw_another_event_there_takes_no_later_one(folder):
    """Else its position would say that it had followed all of them."""
    with Memory(folder) as m, closing(sqlite3.connect(folder / "state.db", isolation_level=None)) as db:
        m.recall("tea", words=True)
        asked = "SELECT seq FROM positions WHERE name = 'index'"
        [[before]] = db.execute(asked).fetchall()
        db.execute("UPDATE positions SET hash = ? WHERE name = 'index'", ("ab" * 32,))
        m._folder.ledger._then = None  # only what is done within the write
        m.remember("x")
        assert db.execute(asked).fetchall() == [(before,)]
        with pytest.raises(RolledBack, match="the index"):
            m.recall("tea", words=True)


def pruned(folder: Path, away: Path, *, moved: bool = True) -> None:
    """A memory whose first events were moved away, with an older version, a forgotten belief and an approved one."""
    with Memory(folder) as m:
        m.remember("the port is 5432", key="port", tags=["net"])
        m.revise("port", "the port is 6543")
        m.remember("gone for good", key="gone")
        m.forget("gone")
        m.remember("the cafe closes at six", key="cafe", trust="web")
        m.remember("never approved", trust="web")
        [asked, _] = m.reviews.waiting()
        m.reviews.approve(asked.id)
        m.frames.put("mine", {"similarity": 1.0})
        m.observe("told in the old days")
        m.ledger.compact()
        if moved:
            m.ledger.prune(away)
        m.observe("told since")


def test_after_a_prune_a_lost_index_is_made_from_what_is_held(tmp_path):
    folder = tmp_path / "pruned"
    pruned(folder, tmp_path / "away")
    for path in folder.glob("state.db*"):
        path.unlink()

    with Memory(folder) as m:
        end = m._folder.ledger.head.seq
        assert [hit.text for hit in m.recall("port 6543", words=True)] == ["the port is 6543"]
        assert [hit.text for hit in m.recall("cafe", words=True)] == ["the cafe closes at six"]
        assert m.recall("gone approved", words=True) == []
        assert [hit.text for hit in m.recall("told", words=True)] == ["told since"]
        with pytest.raises(Missing, match=rf"\b{end}\b.*sealed/.*tallystick rebuild-index"):
            m.recall("port", believed_at=2, words=True)
        m.revise("port", "the port is 7654")
        m.remember("it listens there", rests_on=["port"])
        assert [hit.text for hit in m.recall("port 7654", words=True) if not hit.via] == ["the port is 7654"]
        [waiting] = m.reviews.waiting()
        m.reviews.approve(waiting.id)
        assert [hit.text for hit in m.recall("approved", words=True)] == ["never approved"]
    found = {finding.code for finding in check(folder)}
    assert found - {"page-differs"} == {"segment-pruned"}  # pages show what was moved away

    for path in (tmp_path / "away").iterdir():
        path.rename(folder / "sealed" / path.name)
    with Memory(folder) as m:
        m.rebuild_index()
        last = m.history("port")[0].seq
        assert [hit.text for hit in m.recall("port 5432", believed_at=last, words=True)] == ["the port is 5432"]
        assert {hit.text for hit in m.recall("told", words=True)} == {"told in the old days", "told since"}


def test_what_another_tells_while_the_index_is_made_from_what_is_held_is_in_it_once(tmp_path, monkeypatch):
    folder, told, real = tmp_path / "pruned", list[str](), lifecycle.held_now
    pruned(folder, tmp_path / "away")
    for path in folder.glob("state.db*"):
        path.unlink()

    with Memory(folder, notify=told.append) as m, Memory(folder) as other:

        def meanwhile(state: State) -> Iterator[Event]:
            other._folder.followers.clear()
            other._folder.ledger._then = None
            other.observe("told meanwhile")
            monkeypatch.setattr(lifecycle, "held_now", real)
            return real(state)

        monkeypatch.setattr(lifecycle, "held_now", meanwhile)
        assert {hit.text for hit in m.recall("told", words=True)} == {"told since", "told meanwhile"}
    assert len(told) == 1


@pytest.mark.parametrize("in_its_place", [False, True], ids=["after a prune", "with a folder as index"])
def test_an_erasure_leaves_recall_working(tmp_path, in_its_place):
    folder = tmp_path / "pruned"
    pruned(folder, tmp_path / "away", moved=not in_its_place)
    if in_its_place:
        for path in folder.glob("state.db*"):
            path.unlink()
        (folder / "state.db").mkdir()

    with Memory(folder) as m:
        m.erase("cafe")
        assert m.recall("cafe", words=True) == []
        assert [hit.text for hit in m.recall("port 6543", words=True)] == ["the port is 6543"]
    assert files_with(folder, "the cafe closes") == []


def test_what_was_approved_later_was_not_recalled_before(tmp_path):
    with Memory(tmp_path / "fresh") as m:
        seq = m.remember("the cafe closes at six", trust="web").seq + 1
        [asked] = m.reviews.waiting()
        m.reviews.approve(asked.id)
        assert m.recall("cafe", believed_at=seq, words=True) == []
        assert len(m.recall("cafe", believed_at=seq, quarantined=True, words=True)) == 1
        assert len(m.recall("cafe", words=True)) == 1


def test_a_memory_that_is_open_says_so_too_when_an_index_of_more_is_put_there(folder, tmp_path):
    with Memory(folder) as m:
        m.recall("tea", words=True)
        ahead = Path(shutil.copytree(folder, tmp_path / "ahead"))
        with Memory(ahead) as further:
            further.remember("what this folder never had")
        shutil.copy(ahead / "state.db", folder / "fresh")
        for path in folder.glob("state.db*"):
            path.unlink()
        (folder / "fresh").rename(folder / "state.db")
        with pytest.raises(RolledBack, match=r"state\.db.*\b21\b"):
            m.recall("tea", words=True)


def test_a_restore_gets_out_of_it_and_the_index_is_good(folder):
    with Memory(folder) as m:
        copy = m.backup()
    rolled_back(folder)

    with Memory.restore(copy, folder) as m:
        assert teas(m) == COUNT + 1
        m.remember("tea again")
    same_as_rebuilt(folder)


def test_nobody_is_told_of_an_index_that_a_restore_an_erasure_or_a_repair_removed(folder, told):
    with Memory(folder) as m:
        copy = m.backup()
    Memory.restore(copy, folder).close()
    with Memory(folder, notify=told.append) as m, Memory(folder, notify=told.append) as other:
        assert teas(m) == COUNT + 1
        other._context.gate._erased = lambda: None  # it dies before its index is made anew
        other.erase("k1")
        m.remember("tea once more")
        assert teas(m) == COUNT + 1
    _sql("DELETE FROM block_tags")(folder / "state.db")
    mend(folder, ["index-differs"])
    with Memory(folder, notify=told.append) as m:
        assert teas(m) == COUNT + 1
    assert told == []


# -- a disk that refuses -----------------------------------------------------------------------------------------------


class Sick:
    """A connection that answers some statements with one of SQLite's errors."""

    def __init__(self, db: sqlite3.Connection, code: int, name: str, when: str) -> None:
        self._db, self._code, self._name, self._when = db, code, name, when
        self.in_pain = True

    def __getattr__(self, name: str) -> object:
        return getattr(self._db, name)

    def execute(self, statement: str, *values: object) -> object:
        if self.in_pain and statement.startswith(self._when):
            error = sqlite3.OperationalError(self._name)
            error.sqlite_errorcode, error.sqlite_errorname = self._code, self._name
            raise error
        return self._db.execute(statement, *values)  # type: ignore[arg-type]


ERRORS = {
    name: getattr(sqlite3, name)
    for name in ("SQLITE_FULL", "SQLITE_BUSY", "SQLITE_IOERR_WRITE", "SQLITE_READONLY", "SQLITE_CANTOPEN")
}


@pytest.mark.parametrize("when", ["BEGIN", "COMMIT", "INSERT", "SELECT shape"])
@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.sample(7)
def test_a_write_stands_whatever_the_index_says_and_the_next_recall_catches_up(folder, monkeypatch, name, when):
    told, sick = list[str](), list[Sick]()
    real = file_module.sqlite3.connect

    def connect(path: object, **how: object) -> object:
        db = real(path, **how)  # type: ignore[arg-type]
        if path in ("", IN_MEMORY):
            return db
        sick.append(Sick(db, ERRORS[name], name, when))
        return sick[-1]

    with Memory(folder, notify=told.append) as m:
        monkeypatch.setattr(file_module.sqlite3, "connect", connect)
        for number in range(3):
            said = m.remember(f"tea in need {number}")
            assert m.show(said.id).text == f"tea in need {number}"
        assert sick
        monkeypatch.undo()
        for each in sick:
            each.in_pain = False
        m._context.index._retry = m._services.page_files._retry = 0.0
        assert teas(m) == COUNT + 4
    assert told == []
    same_as_rebuilt(folder)


def test_a_file_that_cannot_grow_costs_the_writer_nothing(folder):
    def work() -> None:
        import resource

        with Memory(folder) as m:
            m.recall("tea", words=True)
            most = (folder / "state.db-wal").stat().st_size + 1000
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(most, 60_000), resource.RLIM_INFINITY))
            for number in range(10):
                m.remember(f"tea {number} without room")
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            assert teas(m) == COUNT + 11

    assert in_a_child(work) == 0
    same_as_rebuilt(folder)


def test_a_mistake_in_the_fold_is_the_readers_trouble_and_not_the_writers(folder, monkeypatch):
    def wrong(*_: object) -> None:
        raise KeyError("a mistake of ours")

    with Memory(folder) as m:
        m.recall("tea", words=True)
        monkeypatch.setattr(fold_module, "apply", wrong)
        m.remember("tea all the same")
        with pytest.raises(Damaged, match=r"state\.db"):
            m.recall("tea", words=True)
        monkeypatch.undo()
        assert teas(m) == COUNT + 2


def test_a_write_does_not_wait_for_an_index_that_is_far_behind(folder, monkeypatch):
    with Memory(folder) as m, closing(IndexFile(folder / "state.db")) as index:
        m._folder.ledger._then = None
        m._folder.followers.clear()
        for number in range(5):
            m.observe(f"tea behind {number}")
        behind = index.bookmark()
        monkeypatch.setattr(follower, "FAR", 3)
        m._folder.ledger._then = lambda events: m._context.index.follow(events)
        m.remember("tea behind 5")
        assert index.bookmark() == behind
        assert teas(m) == COUNT + 7
        m.remember("tea behind 6")
        assert index.bookmark().seq == m._folder.ledger.head.seq


# -- a folder that may only be read ------------------------------------------------------------------------------------


@pytest.mark.parametrize("became", ["nothing", "it is gone", "it is a text", "its shape is another"])
def test_for_reading_only_recall_works_and_changes_nothing(folder, became):
    if became != "nothing":
        WHAT_BECAME[became](folder / "state.db")
    before, told = everything_in(folder), list[str]()
    with Memory(folder, read_only=True, notify=told.append) as m:
        assert teas(m) == COUNT + 1
        with pytest.raises(NotWritable, match=r"state\.db"):
            m.rebuild_index()
    assert everything_in(folder) == before
    assert told == []


def test_a_reader_in_memory_follows_a_writer_and_his_erasures(folder):
    with Memory(folder, read_only=True) as reader, Memory(folder) as writer:
        assert teas(reader) == COUNT + 1
        writer.remember("tea for the reader")
        assert teas(reader) == COUNT + 2
        writer.erase("k5")
        assert reader.recall("number5", words=True) == []
        assert teas(reader) == COUNT + 1
        made_once = reader._context.index._rows
        assert teas(reader) == COUNT + 1
        assert reader._context.index._rows is made_once


# -- threads, batches, forks -------------------------------------------------------------------------------------------


def test_threads_write_and_recall_through_one_memory(folder, told):
    def work(m: Memory, name: str) -> None:
        for number in range(15):
            m.remember(f"tea {name}x{number}")
            assert m.recall(f"{name}x{number}", words=True)[0].text == f"tea {name}x{number}"
            if number % 5 == 4:
                with m.batch():
                    m.remember(f"tea batch {name}x{number}")
                    m.recall("tea", words=True)

    for durability in ("full", "group"):
        with Memory(folder, notify=told.append, durability=durability) as m:
            in_threads(*(partial(work, m, f"{durability}{each}") for each in range(4)))
    assert told == []
    same_as_rebuilt(folder)


def test_recall_inside_a_batch_shows_what_was_recorded_before_it(folder, told):
    with Memory(folder) as m:
        m._folder.ledger._then = None
        m._folder.followers.clear()
        m.remember("tea that the index has not seen")
    with Memory(folder, notify=told.append) as m, m.batch():
        m.remember("tea not yet recorded")
        assert teas(m) == COUNT + 2
    with Memory(folder, notify=told.append) as m:
        assert teas(m) == COUNT + 3
    (folder / "state.db").unlink()
    with Memory(folder, notify=told.append) as m, m.batch():
        assert teas(m) == COUNT + 3
    assert len(told) == 1
    same_as_rebuilt(folder)


def test_closing_while_threads_recall_ends_them_and_harms_nothing(folder, told):
    for _ in range(6):
        ended, answered = list[type](), list[int]()

        def ask(m: Memory, ended: list[type] = ended, answered: list[int] = answered) -> None:
            try:
                while True:
                    answered.append(len(m.recall("tea number7", k=500, words=True)))
                    m.remember(f"coffee {len(answered)}")
            except BaseException as error:
                ended.append(type(error))

        m = Memory(folder, notify=told.append)
        threads = [threading.Thread(target=ask, args=(m,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        while len(answered) < 4 and len(ended) < 3:
            time.sleep(0.001)
        m.close()
        for thread in threads:
            thread.join()
        assert set(ended) == {Closed}
        assert set(answered) == {COUNT + 1}
    with Memory(folder, notify=told.append) as m:  # the last write may have been recorded and not followed
        assert teas(m) == COUNT + 1
    assert told == []
    same_as_rebuilt(folder)


def test_a_forked_child_does_no_harm_to_the_index_of_its_parent(folder, told):
    with Memory(folder, notify=told.append) as m:
        m.recall("tea", words=True)

        def child() -> None:
            with refuses("forked", str(folder)):
                m.recall("tea", words=True)
            with Memory(folder) as own:
                own.remember("tea of the child")
                assert teas(own) == COUNT + 2
            m.close()

        assert in_a_child(child) == 0
        m.remember("tea of the parent")
        assert teas(m) == COUNT + 3
    same_as_rebuilt(folder)
    assert told == []


# -- the check ---------------------------------------------------------------------------------------------------------


def times(root: Path) -> dict[str, tuple[int, int, int]]:
    found = {str(path): path.stat() for path in [root, *root.rglob("*")]}
    return {name: (seen.st_ino, seen.st_mtime_ns, seen.st_size) for name, seen in found.items()}


@pytest.mark.parametrize("is_open", [False, True])
def test_a_check_of_a_healthy_folder_finds_nothing_and_changes_nothing(folder, is_open):
    with Memory(folder) if is_open else nullcontext() as m:
        if m is not None:
            m.remember("tea")
        before = times(folder)
        assert check(folder) == []
        assert times(folder) == before


TABLES = {
    "blocks": ("content", "category", "source", "created_at", "status", "confidence", "reinforcement_count",
               "decay_lambda", "last_reinforced_at", "self_alignment", "embedding", "token_count", "last_session_id"),
    "index_sources": ("what", "ref", "user", "session", "agent", "path", "trust", "quarantined", "by", "kind", "about",
                "confidence", "said", "tags", "at", "since_seq", "until_seq"),
    "index_lives": ("user", "since_seq", "until_seq"),
    "block_tags": ("tag",), "edges": ("weight", "reinforcement_count", "created_at"), "index_asked": ("source_id",),
    "frames": ("template", "token_budget"), "system_config": ("value",),
}  # fmt: skip


def test_one_changed_cell_in_any_table_is_found_and_mended(folder):
    whole = (folder / "state.db").read_bytes()
    for table, columns in TABLES.items():
        for column in columns:
            (folder / "state.db").write_bytes(whole)
            with closing(sqlite3.connect(folder / "state.db")) as db:
                key = db.execute(f"SELECT * FROM {table} LIMIT 1").description[0][0]
                first = f"(SELECT min({key}) FROM {table})"
                db.execute(f'UPDATE {table} SET "{column}" = CASE typeof("{column}") WHEN \'real\' THEN 0.125'
                           f" WHEN 'integer' THEN 77 ELSE 'z' END WHERE {key} = {first}")  # fmt: skip
                assert db.total_changes >= 1
                db.commit()
            found = check(folder)
            assert [finding.code for finding in found] == ["index-differs"], (table, column, found)
            assert table in found[0].place
    mend(folder, ["index-differs"])
    assert check(folder) == []
    with Memory(folder) as m:
        assert teas(m) == COUNT + 1
    same_as_rebuilt(folder)


def test_a_row_too_many_or_too_few_and_other_full_text_are_found(folder):
    whole = (folder / "state.db").read_bytes()
    for change in (
        "DELETE FROM index_sources WHERE id = (SELECT min(id) FROM index_sources)", "DELETE FROM block_tags",
        "DELETE FROM edges", """UPDATE positions SET saved = '[1, 0, 7.5, "s", "", ""]' WHERE name = 'index'""",
        "INSERT INTO index_asked VALUES ('r', 's')", "INSERT INTO system_config VALUES ('x', 'y')",
        "INSERT INTO index_texts (index_texts, rowid, content) SELECT 'delete', rowid, content FROM blocks LIMIT 1",
    ):  # fmt: skip
        (folder / "state.db").write_bytes(whole)
        _sql(change)(folder / "state.db")
        assert {finding.code for finding in check(folder)} <= {"index-differs", "block-loose"}, change
        assert check(folder), change


def test_an_index_of_sqlites_own_that_lost_a_row_is_found(folder):
    """All rows are there, and yet recall would miss one."""
    with closing(sqlite3.connect(folder / "state.db")) as db:
        db.execute("PRAGMA writable_schema = ON")
        kept = db.execute("SELECT sql FROM sqlite_master WHERE name = 'idx_sources_block'").fetchone()[0]
        partial = kept + " WHERE since_seq > 9"
        db.execute("DROP INDEX idx_sources_block")
        db.execute(partial)
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'idx_sources_block'", (kept,))
        db.commit()
    assert [finding.code for finding in check(folder)] == ["index-damaged"]


def test_no_finding_repeats_the_words_of_a_memory(folder):
    _sql("UPDATE blocks SET content = CAST(CAST('zqquince ' AS BLOB) || x'ff' AS TEXT)")(folder / "state.db")
    found = check(folder)
    assert found
    assert "zqquince" not in str(found)


@pytest.fixture(autouse=True)
def _nothing_is_left_half_made(tmp_path: Path) -> Iterator[None]:
    yield
    assert list(tmp_path.rglob("*.making")) == []


def test_an_error_of_the_index_is_one_line(folder, monkeypatch):
    monkeypatch.setattr(file_module, "PATIENCE", 0.05)
    with Memory(folder) as m, closing(sqlite3.connect(folder / "state.db", isolation_level=None)) as other:
        m._folder.ledger._then = None
        m._folder.followers.clear()
        m.remember("tea")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="index.*locked") as error:
            m.recall("tea", words=True)
        assert "\n" not in str(error.value)
        other.execute("ROLLBACK")
        assert teas(m) == COUNT + 2

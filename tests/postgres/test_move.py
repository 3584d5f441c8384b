"""A memory moves from a folder to a database and back: the same lines, proofs and pins; whole wherever it is killed."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from tallystick import Memory
from tallystick.decide import beliefs as decide
from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.arrive import ArrivingFolder
from tallystick.ledger.postgres.arrive import ArrivingLedger
from tallystick.ledger.postgres.connection import LedgerCalls
from tallystick.ledger.postgres.passes import PassKey
from tallystick.memory.maintenance.check import check
from tallystick.memory.maintenance.move import move
from tallystick.records.errors import Busy, NotFound, NotWritable, NotWritten, Refused, TallystickError
from tallystick.stores.open_folder import OpenFolder
from tests.postgres.stories import end_erasures
from tests.postgres.test_commands import said
from tests.refusals import refuses

NAMES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster) -> Path:
    for name in NAMES:
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("TALLYSTICK_HOME", raising=False)
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def address(cluster, home) -> str:
    """Where no ledger is yet, as its owner."""
    return f"{cluster.address('straight', user='postgres')}?ledger=moved-{next(cluster._names)}"


def filled(folder: Path, count: int = 12, word: str = "quux") -> Path:
    with Memory(folder) as m:
        for number in range(count):
            m.remember(f"{word}{number} zorp{number}", key=f"k{number % 7}", about=f"person-{number % 3}")
            m.observe(f"said {number}", id=f"e{number}")
    return folder


def lines(place: Path | str) -> bytes:
    with Memory(place, read_only=True) as m:
        return b"".join(
            line.slice + b',"hash":"%b","data":%b}\n' % (line.hash.encode(), line.data)
            for line in m._folder.ledger.lines()
        )


def test_there_and_back_are_the_same_lines_checkpoints_and_proofs(home, address):
    with Memory(filled(home / "a")) as m:
        proof, key = m.ledger.prove(3), m.ledger.verifier_key
        m.erase("k1")
        m.ledger.compact()
        m.remember("after the compaction", key="late")
        m.erase("e3")
        note = m.ledger.checkpoint()
        shown = [belief.text for belief in m.beliefs.all()]
        m.replace_settings("[recall]\nfloor = 0.3\n")
    done = move(home / "a", address)
    assert (done.how, done.events) == ("moved", len(lines(home / "a").splitlines()))
    assert lines(address) == lines(home / "a")
    with Memory(address) as m:
        assert m.ledger.check_proof(proof)["event"]["seq"] == 3
        assert m.ledger.verify(checkpoint=note).ok
        assert m.ledger.checkpoints()[0].note == note
        assert [belief.text for belief in m.beliefs.all()] == shown
        assert m.settings_text() == "[recall]\nfloor = 0.3\n"
        assert m.ledger.verifier_key == key
        m.remember("in the database", key="there")
        m.ledger.checkpoint()
    back = move(address, home / "b")
    assert back.events == done.events + 2  # one was remembered, and one names the copy in the database
    assert lines(home / "b") == lines(address)
    assert lines(home / "b").startswith(lines(home / "a"))
    with Memory(home / "b") as m:
        assert m.get("there").text == "in the database"
        assert m.ledger.verify(checkpoint=note).ok
        assert m.ledger.verify().outside
        assert m.trouble == ""
        assert [belief.text for belief in m.beliefs.all()] == [*shown, "in the database"]
        assert m.settings_text() == "[recall]\nfloor = 0.3\n"
        assert len(m.ledger.files()) == 2
        m.remember("in the folder again")


def test_a_command_moves_it_and_says_how_programs_open_it(home, address):
    filled(home / "a", 2)
    done = json.loads(said("move", str(home / "a"), address, "--json"))
    place = address.partition("@")[2]
    assert (done["how"], done["target"], done["source"]) == ("moved", place, str(home / "a"))
    programs = done["address"]
    assert programs == address.replace("postgres@", "tallystick_app@")
    assert "Moved there before" in said("move", str(home / "a"), address)
    assert f"moved to {place}" in said("-C", str(home / "a"), "remember", "more", status=1)
    assert f"moved to {place}" in said("-C", str(home / "a"), "status")
    assert check(home / "a") == []
    assert "Moved to" in said("move", programs, "back")
    with Memory(home / "back") as m:
        assert m.get("k1").text == "quux1 zorp1"
        assert check(m.folder) == []


# -- killed anywhere ---------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process ends here, as far as files and tables can tell."""


class Kill:
    """Ends the move before its n-th step: a call of the database, or of the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.names = 1 << 30, list[str]()
        self._wrap(monkeypatch, LedgerCalls, "once")
        for name in ("write", "sync", "sync_folder", "rename", "remove", "open", "truncate"):
            self._wrap(monkeypatch, Disk, name)

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        real = getattr(owner, name)

        def step(this: object, *values: object, **more: object) -> object:
            if len(self.names) == self.left:
                raise Killed
            self.names.append(str(values[0]) if name == "once" else f"{name} {Path(str(values[-1])).name}")
            return real(this, *values, **more)

        monkeypatch.setattr(owner, name, step)

    def before(self, step: int, call: Callable[[], object]) -> None:
        """Make the call, and end it there."""
        self.left, self.names = step, []
        with suppress(Killed):
            call()
        self.left = 1 << 30


def can_write(place: Path | str) -> bool:
    """Whether somebody writes there, and the place is whole for whoever reads it."""
    refused: TallystickError | None = None
    try:
        with Memory(place) as m:
            assert m.trouble == ""
            m.config.set("top_k", str(m.ledger.size))
    except (NotWritable, NotFound, Refused) as error:
        refused = error
    if isinstance(refused, NotWritable):
        assert "moved to" in str(refused)
        with Memory(place, read_only=True) as m:
            assert m.ledger.verify().ok
            assert m.trouble == ""
    elif refused:  # it is not there yet
        assert "being moved" in str(refused) or "no ledger" in str(refused)
    return refused is None


def small(folder: Path) -> Path:
    with Memory(folder, embedder="none") as m:
        m.replace_settings("[pages]\nfollow = false\n[audit]\nfollow = false\n")
        m.remember("quux zorp", key="a")
        m.erase("a")
        m.ledger.compact()
        for number in range(3):
            m.observe(f"said {number}", id=f"e{number}")
        m.ledger.checkpoint()
    return folder


def steps_of(kill: Kill, home: Path, new_address: Callable[[], str], *, is_back: bool) -> list[str]:
    """The steps of a move of such a memory."""
    source, target = small(home / "whole"), new_address()
    kill.before(1 << 30, lambda: move(source, target))
    if is_back:
        kill.before(1 << 30, lambda: move(target, home / "whole-back"))
    return kill.names


def there_and_back(kill: Kill, home: Path, new_address, step: int, *, is_back: bool) -> None:
    """A move that is killed before that step leaves both whole, and is finished by another."""
    source: Path | str = small(home / f"a{step}")
    target: Path | str = new_address()
    if is_back:
        move(source, target)
        source, target = target, home / f"b{step}"
    kill.before(step, lambda: move(source, target))
    told = target.replace("postgres@", "tallystick_app@") if isinstance(target, str) else target
    is_there = isinstance(told, str) or (told / "events.wal").exists() or (told / "arriving").exists()
    writable = [place for place in (source, told) if (place is source or is_there) and can_write(place)]
    assert len(writable) < 2, step
    done = move(source, target)
    assert done.how in ("moved", "resumed", "done before")
    assert [can_write(source), can_write(target)] == [False, True]
    assert lines(target).startswith(lines(source))


@pytest.fixture
def new_address(cluster, home):
    return lambda: f"{cluster.address('straight', user='postgres')}?ledger=moved-{next(cluster._names)}"


@pytest.mark.parametrize(
    ("is_back", "first", "longer"),
    [(False, 0.5, 0.35), *(pytest.param(way, 0.3, 0.05, marks=pytest.mark.soak) for way in (False, True))],
)
def test_a_process_that_is_killed_again_and_again_is_finished_by_the_next(home, new_address, is_back, first, longer):
    """With the real signal, at whatever moment it is there, each time a little later."""
    source: Path | str = filled(home / "a", 300, "grault")
    target: Path | str = new_address()
    if is_back:
        move(source, target)
        source, target = target.replace("postgres@", "tallystick_app@"), home / "b"
    told = target.replace("postgres@", "tallystick_app@") if isinstance(target, str) else target
    for killed in range(1000):
        moving = subprocess.Popen(
            [sys.executable, "-m", "tallystick", "move", str(source), str(target)], stdout=subprocess.DEVNULL
        )
        with suppress(subprocess.TimeoutExpired):
            assert moving.wait(first + longer * killed) == 0
            break
        moving.kill()
        moving.wait()
        is_there = isinstance(told, str) or (told / "events.wal").exists() or (told / "arriving").exists()
        assert sum(map(can_write, [source, told] if is_there else [source])) < 2
    assert killed > 0, "nothing was killed"
    assert [can_write(source), can_write(told)] == [False, True]
    assert lines(told).startswith(lines(source))
    with Memory(told) as m:
        assert m.ledger.verify().ok
        assert m.get("k5").text == "grault299 zorp299"
        assert len(m.episodes.recent(limit=1000)) == 300


THERE = ["begin_arriving", "add_arriving", "rename moved-to", "fill_rows", "finish_arriving"]
BACK = ["sync_folder sealed", "move_away", "rename events.wal", "remove arriving"]


@pytest.mark.parametrize("is_back", [False, True], ids=["there", "back"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nobody closes what was killed
def test_killed_at_some_steps_both_are_whole_and_one_at_most_is_writable(home, new_address, monkeypatch, is_back):
    kill = Kill(monkeypatch)
    names = steps_of(kill, home, new_address, is_back=is_back)
    steps = sorted(names.index(name) for name in (BACK if is_back else THERE))
    for step in (*steps, steps[-1] + 1):
        there_and_back(kill, home, new_address, step, is_back=is_back)


@pytest.mark.soak
@pytest.mark.parametrize("is_back", [False, True], ids=["there", "back"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nobody closes what was killed
def test_killed_at_every_step_both_are_whole_and_one_at_most_is_writable(home, new_address, monkeypatch, is_back):
    kill = Kill(monkeypatch)
    for step in range(len(steps_of(kill, home, new_address, is_back=is_back))):
        there_and_back(kill, home, new_address, step, is_back=is_back)


# -- others, meanwhile -------------------------------------------------------------------------------------------------


def told(address: str) -> str:
    """The address by which programs open it."""
    return address.replace("postgres@", "tallystick_app@")


def at_the_first_chunk(monkeypatch: pytest.MonkeyPatch, arriving: type, act: Callable[[], object]) -> None:
    """Let something happen when the first lines have been copied."""
    real, done = arriving.add, list[bool]()

    def add(this: object, given: object) -> None:
        real(this, given)
        if not done:
            done.append(True)
            act()

    monkeypatch.setattr(arriving, "add", add)


def words_in_database(cluster, words: str) -> int:
    with cluster.owner() as db:
        tables = {"events": "data", "state_row": "value", "state_past": "value"}
        asked = (f"SELECT count(*) FROM tallystick.{name} WHERE position(%s::bytea IN {column}) > 0"
                 for name, column in tables.items())  # fmt: skip
        return sum(db.execute(each.encode(), (words,)).fetchone()[0] for each in asked)


@pytest.mark.parametrize("is_killed", [False, True], ids=["meanwhile", "after a kill"])
def test_what_is_erased_after_it_was_copied_is_erased_there_too_and_swept(
    cluster, home, address, monkeypatch, is_killed
):
    def erase() -> None:
        if is_killed:
            raise Killed
        with Memory(home / "a") as m:
            m.erase("k1")

    filled(home / "a")
    at_the_first_chunk(monkeypatch, ArrivingLedger, erase)
    if is_killed:
        with pytest.raises(Killed):
            move(home / "a", address)
        with Memory(home / "a") as m:
            m.erase("k1")
        assert words_in_database(cluster, "quux8 ") == 1
    assert move(home / "a", address).how == ("resumed" if is_killed else "moved")
    assert lines(address) == lines(home / "a")
    assert words_in_database(cluster, "quux8 ") == 0
    with cluster.owner() as db:
        name = address.rpartition("=")[2]
        pending = db.execute("SELECT count(*) FROM tallystick.erasures JOIN tallystick.ledgers USING (ledger)"
                             " WHERE name = %s AND destroyed IS NULL", (name,)).fetchone()  # fmt: skip
        assert pending == (1,)
    with Memory(told(address)) as m, Memory(home / "a", read_only=True) as old:
        assert list(m._folder.state.dump()) == list(old._folder.state.dump())


def test_what_is_erased_in_the_database_meanwhile_is_erased_in_the_folder_too(home, address, monkeypatch):
    def erase() -> None:
        with Memory(told(address)) as m:
            m.erase("k1")
            end_erasures(m._folder.ledger)

    move(filled(home / "a"), address)
    at_the_first_chunk(monkeypatch, ArrivingFolder, erase)
    move(told(address), home / "b")
    assert lines(home / "b") == lines(told(address))
    assert b"quux8 " not in b"".join(path.read_bytes() for path in (home / "b").rglob("*") if path.is_file())


def test_whoever_has_had_the_folder_open_for_long_is_told_where_it_is(home, address):
    with Memory(filled(home / "a")) as long, Memory(home / "a", durability="group") as other:
        long.remember("before", key="x")
        move(home / "a", address)
        place = address.partition("@")[2]
        for write in (
            lambda: long.remember("after", key="y"), lambda: other.remember("after", key="y"), lambda: long.erase("k1"),
            long.ledger.compact, lambda: long.batch().__enter__(), lambda: long.observe("after"),
        ):  # fmt: skip
            with pytest.raises(NotWritable, match=re.escape(f"moved to {place}")):
                write()
        assert long.get("x").text == "before"
        assert not long.status().writable
        assert place in long.status().warning
    assert lines(address) == lines(home / "a")
    with pytest.raises(NotWritable, match="moved to"):
        Memory.restore(home / "a", home / "a")


def test_whoever_has_had_the_ledger_open_for_long_is_told_where_it_is(home, address):
    move(filled(home / "a"), address)
    with Memory(told(address)) as long:
        long.remember("before", key="x")
        move(told(address), home / "b")
        for write in (lambda: long.remember("after", key="y"), lambda: long.erase("k1"), lambda: long.observe("after")):
            with pytest.raises(NotWritable, match=re.escape(f"moved to {home / 'b'}")):
                write()
        assert long.get("x").text == "before"
        assert str(home / "b") in long.status().warning
    assert lines(told(address)) == lines(home / "b")


WRITER = """
import sys
from tallystick import Memory
from tallystick.records.errors import NotWritable
with Memory(sys.argv[1]) as m:
    for number in range(100_000):
        try:
            m.observe(f"number {number}", id=f"n{number}")
        except NotWritable:
            break
        print(number, flush=True)
"""


@pytest.mark.parametrize("is_back", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["there", "back"])
def test_what_a_writer_was_acknowledged_meanwhile_is_in_the_other_place(home, address, is_back):
    source: Path | str = filled(home / "a", 300)
    target: Path | str = address
    if is_back:
        move(source, address)
        source, target = told(address), home / "b"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(source)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    said_to_it = [writer.stdout.readline()]
    move(source, target)
    said_to_it += writer.communicate(timeout=60)[0].split()
    assert writer.returncode == 0
    with Memory(told(target) if isinstance(target, str) else target) as m:
        assert {f"n{int(each)}" for each in said_to_it} <= {event.body["episode"]["id"]
            for event in m.log(op="episode.put") if event.body}  # fmt: skip
        assert m.ledger.verify().ok
    assert lines(source) == lines(target)


def test_two_who_move_to_the_same_place_do_not_mix(home, address, monkeypatch):
    filled(home / "a", 30)
    monkeypatch.setattr("tallystick.stores.move._LINES", 7)
    outcomes, barrier = list[object](), threading.Barrier(2)

    def run() -> None:
        barrier.wait()
        try:
            outcomes.append(move(home / "a", address).how)
        except (Busy, Refused) as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(each, str | Busy) for each in outcomes), outcomes
    assert move(home / "a", address).how in ("done before", "resumed")
    assert lines(address) == lines(home / "a")


def test_of_two_places_that_one_moves_to_the_first_to_close_it_gets_it(home, new_address, monkeypatch):
    one, other = new_address(), new_address()
    filled(home / "a")
    with Memory(home / "a"):  # the same id cannot be in one database twice
        at_the_first_chunk(monkeypatch, ArrivingLedger, lambda: None)
        move(home / "a", one)
    with pytest.raises(NotWritable, match="moved to"):
        move(home / "a", other)
    with pytest.raises(NotWritable, match="moved to"):
        move(home / "a", told(other))


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_moved_is_refused_and_stays_as_it_was(home, address, new_address, cluster, monkeypatch):
    filled(home / "a")
    before = lines(home / "a")
    (home / "full").mkdir()
    (home / "full" / "notes.txt").write_text("something")
    taken = cluster.ledger_address(cluster.new_ledger())
    with Memory(taken) as m:
        m.remember("somebody else's")
    with refuses("unsupported"):
        move(home / "a", home / "b")
    with refuses("unsupported"):
        move(address, new_address())
    with pytest.raises(NotFound):
        move(home / "nothing", address)
    assert not (home / "nothing").exists()
    with refuses("exists", "another memory"):
        move(home / "a", taken)
    with refuses("permission", "name its owner"):
        move(home / "a", told(address))
    with refuses("exists", "empty folder"):
        move(taken, home / "full")
    assert [path.name for path in (home / "full").iterdir()] == ["notes.txt"]
    with refuses("exists", "another memory"):
        move(taken, home / "a")
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(PassKey.generate()))
    with refuses("permission"):
        move(taken, home / "b")
    assert not (home / "b").exists()
    assert lines(home / "a") == before
    assert can_write(home / "a")


def test_edits_of_pages_are_synced_first_and_pruned_events_put_back(home, address):
    filled(home / "a")
    page = home / "a" / "memory" / "person-1.md"
    page.write_text(page.read_text() + "\nA line by hand.\n")
    with refuses("state", "tallystick sync"):
        move(home / "a", address)
    said("-C", str(home / "a"), "sync")
    shown = {path.name: path.read_text() for path in (home / "a" / "memory").glob("*.md")}
    with Memory(home / "a") as m:
        m.ledger.compact()
        m.ledger.prune(home / "pruned")
    with refuses("state", "put their files back"):
        move(home / "a", address)
    for path in (home / "pruned").iterdir():
        path.rename(home / "a" / "sealed" / path.name)
    move(home / "a", address)
    move(told(address), home / "b")
    assert {path.name: path.read_text() for path in (home / "b" / "memory").glob("*.md")} == shown


def test_erased_words_are_swept_before_they_move(home, address):
    move(filled(home / "a"), address)
    with Memory(told(address)) as m:
        m.erase("k2")
    with refuses("state", "sweep"):
        move(told(address), home / "b")
    assert can_write(told(address))
    with Memory(told(address)) as m:
        end_erasures(m._folder.ledger)
    move(told(address), home / "b")


@pytest.mark.parametrize("name", ["it's", 'a"b', "%s %(x)s", "Ünï cödé ✓", "a;DROP TABLE x", "..", "-x", "a&b=c"])
def test_names_are_names(home, cluster, name):
    address = f"{cluster.address('straight', user='postgres')}?ledger={quote(name, safe='')}"
    folder = filled(home / f"folder {name}", 1)
    place = move(folder, address).target
    assert place.endswith(f"?ledger={name}")
    with pytest.raises(NotWritable, match=re.escape(f"moved to {place}")):
        Memory(folder).remember("more")
    back = move(told(address), home / f"back {name}")
    assert back.target == str(home / f"back {name}")
    assert lines(home / f"back {name}") == lines(told(address))


def test_it_moves_there_again_and_only_what_is_new_is_copied(home, address, monkeypatch):
    move(filled(home / "a"), address)
    assert move(home / "a", address).how == "done before"
    move(told(address), home / "b")
    assert move(told(address), home / "b").how == "done before"
    with Memory(home / "b") as m:
        m.remember("new in the folder", key="new")
        m.erase("k3")
    added, real = list[int](), ArrivingLedger.add

    def add(this: ArrivingLedger, given: list) -> None:
        added.extend(line.seq for line in given)
        real(this, given)

    monkeypatch.setattr(ArrivingLedger, "add", add)
    assert move(home / "b", told(address)).how == "resumed"
    assert 0 < len(added) < 10
    assert lines(home / "b") == lines(told(address))
    with Memory(told(address)) as m, Memory(home / "b", read_only=True) as old:
        assert list(m._folder.state.dump()) == list(old._folder.state.dump())
        assert m.ledger.verify().ok
    assert [can_write(each) for each in (home / "a", home / "b", told(address))] == [False, False, True]


def test_a_full_disk_says_so_and_the_next_move_goes_on(home, address, monkeypatch):
    move(filled(home / "a", 40), address)
    monkeypatch.setattr("tallystick.stores.move._LINES", 10)
    real, left = Disk.write, [12_000]

    def write(this: Disk, fd: int, data: bytes) -> int:
        if len(data) > left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= len(data)
        return real(this, fd, data)

    monkeypatch.setattr(Disk, "write", write)
    with pytest.raises(NotWritten, match="make room"):
        move(told(address), home / "b")
    with refuses("state", "being moved"):
        Memory(home / "b")
    assert can_write(told(address))
    left[0] = 1 << 30
    assert move(told(address), home / "b").how == "resumed"
    assert lines(home / "b") == lines(told(address))


def test_a_pin_follows_and_notices_an_older_copy(home, address):
    filled(home / "a")
    with Memory(home / "a") as m:
        m.ledger.checkpoint()
    move(home / "a", address)
    with Memory(told(address)) as m:
        m.remember("more", key="more")
        m.ledger.checkpoint()
    move(told(address), home / "b")
    with Memory(home / "b") as m:
        m.ledger.checkpoint()
        assert [kept.trouble for kept in m.ledger.checkpoints()] == ["", ""]
        last = m.ledger.size
    wal = home / "b" / "events.wal"
    wal.write_bytes(b"".join(wal.read_bytes().splitlines(keepends=True)[:-3]))
    (home / "b" / "lock").write_bytes(b"")
    for path in (home / "b").glob("state.db*"):
        path.unlink()
    with Memory(home / "b") as m:
        assert m.ledger.size == last - 3
        assert "the pin outside the folder has seen" in m.trouble
    with Memory(home / "a", read_only=True) as m:  # the pin has seen what was written elsewhere
        assert m.trouble == ""
        assert m.ledger.verify().ok


# -- how much it takes -------------------------------------------------------------------------------------------------

MEASURED = """
import resource, sys, time
from pathlib import Path
from tallystick.memory.maintenance.move import move
from tallystick.stores.open_folder import OpenFolder
source, target, is_rebuilt = sys.argv[1:]
began = time.perf_counter()
if is_rebuilt == "rebuilt":
    OpenFolder(Path(source)).close()
else:
    move(source, target)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measured(source: Path | str, target: Path | str, what: str = "moved") -> tuple[float, int]:
    """Seconds, and the most memory, of a process that moves it; or that makes the state of a folder again."""
    words = [sys.executable, "-c", MEASURED, str(source), str(target), what]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.split()
    return float(seconds), int(memory)


def fill(folder: Path, count: int) -> None:
    with Memory(folder, embedder="none") as m:
        m.replace_settings("[pages]\nfollow = false\n[audit]\nfollow = false\n")
    opened = OpenFolder(folder)
    while opened.ledger.head.seq < count:
        with opened.ledger.batch():
            for _ in range(500):
                words = {"text": f"quux{os.urandom(4).hex()} zorp", "confidence": 0.5, "key": os.urandom(2).hex()}
                opened.ledger.write(lambda words=words: decide.put(opened.state, words, opened.draw()))
    opened.close()


@pytest.mark.soak
def test_a_long_memory_moves_in_bounded_memory_and_a_few_times_as_long_as_its_state_takes(home, new_address):
    memory = dict[tuple[int, str], int]()
    for count in (4_000, 20_000):
        folder, address = home / f"a{count}", new_address()
        fill(folder, count)
        for path in folder.glob("state.db*"):
            path.unlink()
        rebuilt, _ = measured(folder, "", "rebuilt")
        there, memory[count, "there"] = measured(folder, address)
        back, memory[count, "back"] = measured(told(address), home / f"b{count}")
        print(f"{count} events: {rebuilt / there:.2f} there, {rebuilt / back:.2f} back, of {count / rebuilt:.0f}/s")
        assert there < 6 * rebuilt
        assert back < 6 * rebuilt
    for way in ("there", "back"):
        assert memory[20_000, way] < 1.5 * memory[4_000, way], memory

"""A memory moves from a folder to a database and back: the same lines, proofs and pins; whole wherever it is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.ledger.disk import Disk
from tallystick.ledger.postgres.connection import LedgerCalls
from tallystick.memory.maintenance.move import move
from tallystick.records.errors import NotFound, NotWritable, Refused, TallystickError
from tests.postgres.test_commands import said

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


def filled(folder: Path, count: int = 12) -> Path:
    with Memory(folder) as m:
        for number in range(count):
            m.remember(f"quux{number} zorp{number}", key=f"k{number % 7}", about=f"person-{number % 3}")
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
    assert f"was moved to {place}" in said("-C", str(home / "a"), "remember", "more", status=1)
    assert f"was moved to {place}" in said("-C", str(home / "a"), "status")
    assert "quux1" in said("-C", str(home / "a"), "show", "k1")
    assert said("-C", str(home / "a"), "check").count("error") == 0
    said("-C", programs, "remember", "in the database", "--key", "new")
    assert "Intact" in said("-C", str(home / "a"), "ledger", "verify")
    assert "Moved to" in said("move", programs, "back")
    assert f"was moved to {home / 'back'}" in said("-C", programs, "remember", "more", status=1)
    assert "in the database" in said("-C", "back", "show", "new")
    assert "not a folder" not in said("move", programs, "back")


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
        assert "was moved to" in str(refused)
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


THERE = ["begin_arriving", "add_arriving", "rename moved-to", "add_arriving_rows", "finish_arriving"]
BACK = ["rename arriving", "sync_folder sealed", "move_away", "rename events.wal", "remove arriving"]


@pytest.mark.parametrize("is_back", [False, True], ids=["there", "back"])
def test_killed_at_some_steps_both_are_whole_and_one_at_most_is_writable(home, new_address, monkeypatch, is_back):
    kill = Kill(monkeypatch)
    names = steps_of(kill, home, new_address, is_back=is_back)
    for step in {names.index(name) + more for name in (BACK if is_back else THERE) for more in (0, 1)}:
        there_and_back(kill, home, new_address, step, is_back=is_back)


@pytest.mark.soak
@pytest.mark.parametrize("is_back", [False, True], ids=["there", "back"])
def test_killed_at_every_step_both_are_whole_and_one_at_most_is_writable(home, new_address, monkeypatch, is_back):
    kill = Kill(monkeypatch)
    for step in range(len(steps_of(kill, home, new_address, is_back=is_back))):
        there_and_back(kill, home, new_address, step, is_back=is_back)

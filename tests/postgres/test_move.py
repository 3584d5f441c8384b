"""A memory moves from a folder to a database and back: the same lines, proofs and pins; whole wherever it is killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.memory.maintenance.move import move
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

"""`tallystick status`: a memory at a glance, and no glance at another user's."""

import os

import pytest

from tallystick import Memory
from tallystick.surfaces.present.names import size


@pytest.fixture
def lived_in(tallystick):
    """A memory in which something of each kind has happened."""
    tallystick("remember", "Ana prefers tea", "--key", "tea", "--about", "person-ana")
    tallystick("remember", "Bob prefers rum", "--key", "rum", "--about", "person-bob")
    tallystick("observe", "Let's ship on Friday.")
    tallystick("paths", "branch", "plan-b")
    tallystick("remember", "Bob prefers water", "--key", "rum", "--path", "plan-b")
    tallystick("remember", "hers", "--user", "bea", "--about", "person-carl")
    tallystick("recall", "tea")
    tallystick("forget", "rum")
    tallystick("forget", "tea", "--trust", "agent")
    return tallystick


def test_it_tells_how_much_there_is_what_waits_and_who_wrote_last(lived_in, folder):
    done, raw = lived_in("status"), lived_in("status", "--json").json
    lines = done.out.splitlines()

    assert (done.status, lines[0]) == (0, "~/.tallystick")
    told = {"beliefs": 1, "forgotten": 1, "learned": 1, "episodes": 1, "pages": 4, "entities": 2, "paths": 1}
    assert {name: raw[name] for name in told} == told
    assert raw["vectors"] >= 2
    assert (raw["folder"], raw["by"], raw["trouble"], raw["checkpoint"]) == (str(folder), "cli:local", "", None)
    assert raw["size"] == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    [asked] = raw["reviews"]
    assert (raw["waiting"], asked["trust"]) == (1, "agent")
    assert "  beliefs     1  1 learned this week, 1 forgotten" in lines
    assert "  episodes    1" in lines
    assert "  review      1 pending: `tallystick review`" in lines
    assert f"              {asked['id'][-6:]}  {asked['asks']}  agent" in lines
    assert f"  chain       intact, {raw['events']} events (`tallystick ledger verify` reads every one)" in lines
    assert "  witness     none outside the folder (`tallystick ledger checkpoint` makes one)" in lines
    assert any(line.startswith("  last write  just now, at the command line (") for line in lines)


def test_another_users_things_are_not_counted(lived_in):
    hers = lived_in("status", "--user", "bea", "--json").json

    counts = ("beliefs", "forgotten", "learned", "episodes", "pages", "entities", "paths", "waiting")
    assert {name: hers[name] for name in counts} == {
        "beliefs": 1, "forgotten": 0, "learned": 1, "episodes": 0, "pages": 1, "entities": 1, "paths": 0, "waiting": 0,
    }  # fmt: skip
    assert lived_in("status", "--user", "nobody", "--json").json["beliefs"] == 0


def test_only_what_was_stated_this_week_was_learned_this_week(folder, tallystick):
    from datetime import UTC, datetime, timedelta

    now = datetime.now(UTC)
    for days in (8, 7.001, 6.999, 0):
        with Memory(folder, clock=lambda days=days: now - timedelta(days=days)) as memory:
            memory.remember(f"{days} days ago", key=str(days))
    with Memory(folder) as memory:
        memory.revise("8", "revised, and not new")
        memory.forget("0")
        assert memory.status().learned == 1


def test_a_checkpoint_says_how_far_it_vouches_and_when_it_was_taken(tallystick):
    tallystick("remember", "one")
    tallystick("ledger", "checkpoint")
    assert "  witness     outside the folder, for all of 2 events, just now\n" in tallystick("status").out

    tallystick("remember", "two")
    assert "  witness     outside the folder, for 2 of 3 events, just now\n" in tallystick("status").out


def test_many_reviews_are_counted_and_the_first_three_are_named(tallystick):
    for number in range(5):
        tallystick("remember", f"number {number}", "--trust", "web")
    found = tallystick("status", "--json").json
    lines = tallystick("status").out.splitlines()

    assert (found["waiting"], len(found["reviews"])) == (5, 3)
    assert "  review      5 pending: `tallystick review`" in lines
    assert "              and 2 more" in lines


def test_what_is_damaged_is_said_and_the_rest_is_still_counted(tallystick, folder):
    for text in ("one", "two", "three"):
        tallystick("remember", text)
    wal = folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"two", b"owt"))
    done = tallystick("status")

    assert done.status == 4
    assert "  chain       not intact, 2 events can be read; run `tallystick check`\n" in done.out
    assert "\n  trouble     " in done.out
    assert "\n  beliefs     1" in done.out


@pytest.mark.parametrize("spoil", ["state.db", "vectors", "memory"])
def test_what_is_derived_may_be_missing_or_damaged_and_is_made_by_nobody_who_looks(lived_in, folder, spoil):
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).parts[0].startswith(spoil):
            path.write_bytes(b"garbage")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = lived_in("status", "--json")

    assert (done.status, done.json["beliefs"]) == (0, 1)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
     (14_230_000, "14.2 MB"), (10**15, "1,000.0 TB")],
)  # fmt: skip
def test_a_size_is_told_in_a_unit_that_fits(number, told):
    assert size(number) == told


def test_a_folder_outside_the_home_is_told_whole(tallystick, tmp_path):
    tallystick("-C", str(tmp_path / "else"), "remember", "x")

    assert tallystick("-C", str(tmp_path / "else"), "status").out.startswith(f"{tmp_path}/else\n")
    tallystick("init", os.path.expanduser("~"))
    assert tallystick("-C", os.path.expanduser("~"), "remember", "x").out.split(" in ")[1].startswith("~.")

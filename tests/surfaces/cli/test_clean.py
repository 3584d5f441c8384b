"""tallystick clean: all of it out of sight, none of it out of history, and never the settings."""

import pytest


@pytest.fixture
def full(tallystick, folder):
    """Two beliefs, an episode and settings."""
    tallystick("remember", "Ana prefers tea", "--about", "person-ana", "--key", "tea")
    tallystick("remember", "Bob plays chess", "--about", "person-bob", "--key", "chess")
    tallystick("observe", "We met at the harbour", "--session", "s")
    (folder / "tallystick.toml").write_text("[recall]\nfloor = 0.1\n")


def status(tallystick, name):
    return tallystick("show", name, "--json").json["status"]


def episodes(tallystick):
    return tallystick("recall", "where did we meet?", "--what", "episode", "--json").json


def test_memory_goes_out_of_sight_with_its_pages_and_stays_in_history(tallystick, full, folder):
    settings = (folder / "tallystick.toml").read_bytes()
    before = tallystick("status", "--json").json["events"]
    done = tallystick("clean", "memory", "--yes", "--reason", "spring")

    assert (done.status, done.out) == (0, "Cleaned 2 memories, 4 pages\n")
    assert [status(tallystick, name) for name in ("tea", "chess")] == ["tombstone", "tombstone"]
    assert tallystick("recall", "tea", "--json").json == []
    assert list((folder / "memory").iterdir()) == []
    assert (folder / "tallystick.toml").read_bytes() == settings
    assert tallystick("show", "tea", "--at", str(before - 1), "--json").json["text"] == "Ana prefers tea"
    assert tallystick("show", "tea", "--json").json["reason"] == "spring"
    assert len(episodes(tallystick)) == 1


def test_all_takes_along_what_was_observed(tallystick, full):
    done = tallystick("clean", "all", "--yes", "--json")

    assert done.json == {"what": "all", "gone": 3, "pages": 4}
    assert episodes(tallystick) == []


def test_another_users_stays(tallystick, full, folder):
    tallystick("remember", "Zoe sings", "--about", "person-zoe", "--user", "zoe")
    tallystick("clean", "all", "--yes")

    assert "Zoe sings" in tallystick("pages", "person-zoe", "--user", "zoe").out
    assert (folder / "memory/@zoe/person-zoe.md").is_file()

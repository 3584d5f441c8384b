"""keepsake clean: all of it out of sight, none of it out of history, and never the settings."""

import pytest


@pytest.fixture
def full(keepsake, folder):
    """Two beliefs, an episode and settings."""
    keepsake("remember", "Ana prefers tea", "--about", "person-ana", "--key", "tea")
    keepsake("remember", "Bob plays chess", "--about", "person-bob", "--key", "chess")
    keepsake("observe", "We met at the harbour", "--session", "s")
    (folder / "keepsake.toml").write_text("[recall]\nfloor = 0.1\n")


def status(keepsake, name):
    return keepsake("show", name, "--json").json["status"]


def episodes(keepsake):
    return keepsake("recall", "where did we meet?", "--what", "episode", "--json").json


def test_memory_goes_out_of_sight_with_its_pages_and_stays_in_history(keepsake, full, folder):
    settings = (folder / "keepsake.toml").read_bytes()
    before = keepsake("status", "--json").json["events"]
    done = keepsake("clean", "memory", "--yes", "--reason", "spring")

    assert (done.status, done.out) == (0, "Cleaned 2 memories, 4 pages\n")
    assert [status(keepsake, name) for name in ("tea", "chess")] == ["tombstone", "tombstone"]
    assert keepsake("recall", "tea", "--json").json == []
    assert list((folder / "memory").iterdir()) == []
    assert (folder / "keepsake.toml").read_bytes() == settings
    assert keepsake("show", "tea", "--at", str(before - 1), "--json").json["text"] == "Ana prefers tea"
    assert keepsake("show", "tea", "--json").json["reason"] == "spring"
    assert len(episodes(keepsake)) == 1


def test_all_takes_along_what_was_observed(keepsake, full):
    done = keepsake("clean", "all", "--yes", "--json")

    assert done.json == {"what": "all", "gone": 3, "pages": 4}
    assert episodes(keepsake) == []


def test_it_begins_anew_after_that(keepsake, full, folder):
    keepsake("clean", "all", "--yes")
    keepsake("remember", "Ana is back", "--about", "person-ana")

    page = (folder / "memory/person-ana.md").read_text()
    assert "Ana is back" in page
    assert "tea" not in page
    assert keepsake("clean", "memory", "--yes").out.startswith("Cleaned 1 memory, ")


def test_without_a_terminal_and_without_yes_it_is_refused_with_the_way_out(keepsake, full):
    done = keepsake("clean", "all")

    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "keepsake: 2 beliefs and 4 pages and 1 episode would go out of sight, and nobody is here to ask; "
        "do it with --yes\n"
    )
    assert status(keepsake, "tea") == "active"


@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04"])
def test_on_a_terminal_it_shows_what_would_go_and_takes_no_for_an_answer(terminal, keepsake, full, typed):
    done = terminal("clean", "memory", typed=typed)

    assert "  2 beliefs\n  4 pages\n" in done.out
    assert "`keepsake erase` is the one that destroys" in done.out
    assert done.status in (1, 130)
    assert status(keepsake, "tea") == "active"


def test_on_a_terminal_yes_is_yes(terminal, keepsake, full):
    done = terminal("clean", "memory", typed="y\n")

    assert done.status == 0
    assert status(keepsake, "tea") == "tombstone"


def test_another_users_stays(keepsake, full, folder):
    keepsake("remember", "Zoe sings", "--about", "person-zoe", "--user", "zoe")
    keepsake("clean", "all", "--yes")

    assert "Zoe sings" in keepsake("pages", "person-zoe", "--user", "zoe").out
    assert (folder / "memory/@zoe/person-zoe.md").is_file()


def test_only_a_person_cleans(keepsake, full):
    done = keepsake("clean", "memory", "--yes", "--trust", "agent")

    assert (done.status, done.out) == (1, "")
    assert status(keepsake, "tea") == "active"


@pytest.mark.parametrize("args", [[], ["everything"], ["memory", "all"]])
def test_what_is_to_go_is_said(keepsake, full, args):
    assert keepsake("clean", *args, "--yes").status == 2
    assert status(keepsake, "tea") == "active"

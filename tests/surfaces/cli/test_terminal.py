"""On a real terminal: colours, questions, a sign of life; and none of them anywhere else."""

import re

import pytest

from tallystick import Memory

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def plain(text: str) -> str:
    return COLOUR.sub("", text)


def test_colours_are_for_terminals_alone(terminal, process):
    process("remember", "Ana prefers tea", "--key", "ana-tea")

    for args in (["status"], ["show"], ["show", "ana-tea"], ["log"], ["recall", "tea"]):
        assert COLOUR.search(terminal(*args).out)
        assert not COLOUR.search(process(*args).out)
        assert not COLOUR.search(terminal(*args, "--json").out)


def test_no_color_is_honoured(terminal, process):
    process("remember", "Ana prefers tea")

    assert not COLOUR.search(terminal("show", NO_COLOR="1").out)


def test_alone_it_shows_the_status_once_there_is_a_memory(terminal, process, folder):
    assert "First steps:" in terminal().out
    assert not folder.exists()

    process("remember", "Ana prefers tea")

    drawn = plain(terminal(columns=80).out)
    assert drawn.startswith("~/.tallystick\n\n  beliefs     1  1 learned this week\n")
    assert "  chain       intact, 2 events" in drawn
    assert max(map(len, drawn.splitlines())) <= 80


def test_hostile_text_is_written_out_on_a_terminal_too(terminal, process):
    process("remember", "\x1b]0;owned\x07\x1b[2J\u202etxt", "--key", "k")

    for args in (["show"], ["show", "k"], ["log"], ["show", "k", "--history"]):
        drawn = plain(terminal(*args).out)
        assert "\\x1b]0;owned\\x07\\x1b[2J\\u202etxt" in drawn
        assert not set(drawn) & set("\x1b\x07\u202e")


@pytest.mark.parametrize("columns", [40, 72, 100])
def test_lists_fit_the_width_of_the_terminal(terminal, process, columns):
    process("remember", "wide 茶 " * 50, "--key", "k")

    assert all(len(line) <= columns for line in plain(terminal("show", columns=columns).out).splitlines())


ASKED = {  # what is said where nobody can be asked, and what is shown to a person before it is done
    "erase s": (
        "erasing cannot be undone; preview it with --dry-run, confirm with --yes", "1 belief would lose its words:",
        "a secret", "Destroy these words for good? [y/N]",
    ),
    "clean all": (
        "this would hide 3 beliefs, 4 pages and 1 episode; confirm with --yes",
        "  3 beliefs\n  4 pages\n  1 episode\n", "`tallystick erase` destroys", "Hide all of it? [y/N]",
    ),
    "tidy --apply 1": (
        "see the proposals with `tallystick tidy`, confirm with --yes", "- a secret", "Apply 1 proposal? [y/N]",
    ),
    "tidy --compact --apply 1": (
        "see what changes with `tallystick tidy --compact`, confirm with --yes", "- ~~Bob lives in Rome.~~",
        "Compact 1 page? [y/N]",
    ),
    "connect cursor": ("", '+     "tallystick": {', "Write this? [y/N]"),
}  # fmt: skip
ANSWERS = {"n\n": (1, "nothing was "), "\n": (1, "nothing was "), "\x04": (130, ""), "y\n": (0, "")}


@pytest.mark.parametrize("typed", ANSWERS, ids=["no", "enter", "interrupt", "yes"])
@pytest.mark.parametrize("line", ASKED)
def test_what_would_be_done_is_shown_and_only_a_yes_does_it(terminal, tallystick, folder, home, line, typed):
    tallystick("remember", "a secret", "--key", "s", "--expires", "2020-05-01", "--about", "person-ana")
    tallystick("remember", "Eve is away", "--expires", "2020-05-02", "--about", "person-ana")
    tallystick("observe", "We met at the harbour")
    with Memory(folder) as memory:
        entry = memory.pages.append("person-bob", "Bob lives in Rome.", ["home"])
        memory.pages.supersede("person-bob", entry.id, "Bob lives in Oslo.", "he moved")
        memory.pages.flag_compact("person-bob", "too long")

    def written():
        return [path.read_bytes() for path in (folder / "events.wal", home / ".cursor/mcp.json") if path.exists()]

    before, (alone, *shown), (status, told) = written(), ASKED[line], ANSWERS[typed]
    for form in ([], ["--json"]) if alone else ():
        tallystick(*line.split(), *form).refused(alone)
    assert written() == before
    done = terminal(*line.split(), typed=typed)

    assert done.status == status
    assert [text for text in (*shown, told) if text not in plain(done.out)] == []
    assert "Eve is away" not in done.out, "what was not chosen is not shown"
    assert (written() == before) is (typed != "y\n")


def test_remember_without_text_on_a_terminal_does_not_wait_for_any(terminal, folder):
    done = terminal("remember")

    assert done.status == 2
    assert "say what to remember" in done.out
    assert not folder.exists()


def test_a_server_that_a_person_starts_says_that_it_speaks_to_programs(terminal):
    done = terminal("mcp", typed="\x04")

    assert done.status == 0
    assert "this is for programs; `tallystick connect` sets one up. Ctrl-C ends it" in done.out

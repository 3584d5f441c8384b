"""On a real terminal: colours, questions, a sign of life; and none of them anywhere else."""

import re

import pytest

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


def test_erasing_shows_what_would_go_and_takes_no_for_an_answer(terminal, process):
    process("remember", "a secret", "--key", "s")

    done = terminal("erase", "s", typed="n\n")

    assert done.status == 1
    assert "1 belief would lose its words:" in plain(done.out)
    assert "a secret" in done.out
    assert "Destroy these words for good? [y/N]" in done.out
    assert "nothing was erased" in done.out
    assert process("show", "s", "--json").json["text"] == "a secret"


def test_enter_alone_is_a_no_and_an_interrupt_too(terminal, process):
    process("remember", "a secret", "--key", "s")

    assert terminal("erase", "s", typed="\n").status == 1
    assert terminal("erase", "s", typed="\x04").status == 130
    assert process("show", "s").status == 0


def test_erasing_takes_yes_for_an_answer(terminal, process, folder):
    process("remember", "a secret", "--key", "s")

    assert terminal("erase", "s", typed="y\n").status == 0
    assert b"a secret" not in (folder / "events.wal").read_bytes()


def test_remember_without_text_on_a_terminal_does_not_wait_for_any(terminal, folder):
    done = terminal("remember")

    assert done.status == 2
    assert "say what to remember" in done.out
    assert not folder.exists()


def test_a_server_that_a_person_starts_says_that_it_speaks_to_programs(terminal):
    done = terminal("mcp", typed="\x04")

    assert done.status == 0
    assert "this is for programs; `tallystick connect` sets one up. Ctrl-C ends it" in done.out

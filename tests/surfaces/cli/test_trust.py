"""`tallystick trust`: who said what is held, and whom recall leaves out."""

import pytest

from tallystick import Memory


@pytest.fixture
def said(tallystick):
    tallystick("remember", "Tea is green")
    tallystick("remember", "Tea is blue", "--trust", "agent", "--agent", "Bob")
    return tallystick


def test_the_list_says_who_how_much_and_with_which_trust(said):
    out = said("trust").out
    assert "cli:local  agent   1 belief" in out
    assert "cli:local  human   1 belief" in out
    found = said("trust", "--json").json
    assert [(each["source"], each["trust"], each["beliefs"]) for each in found] == [
        ("cli:local", "agent", 1), ("cli:local", "human", 1),
    ]  # fmt: skip


def test_an_empty_memory_has_no_sources(tallystick):
    tallystick("init")
    assert "No sources." in tallystick("trust").out


def test_one_command_takes_a_source_out_of_recall_and_one_brings_it_back(said):
    assert "Excluded agent:Bob, which said 1 belief" in said("trust", "--none", "agent:Bob", "--reason", "a liar").out
    assert "blue" not in said("recall", "tea").out
    assert "excluded: a liar" in said("trust").out
    assert "agent:Bob is not trusted (a liar)" in said("log").out
    name = said("show", "--json").json[1]["id"]
    assert "hidden" in said("show", name).out

    assert "Trusted again: agent:Bob" in said("trust", "--usual", "agent:Bob").out
    assert "blue" in said("recall", "tea").out
    assert "agent:Bob is trusted again" in said("log").out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--none", "x"], "a source is named like"),
        (["--usual", "mcp:x"], "is not distrusted"),
        (["--none", "mcp:x", "--since", "2099-01-01"], "is in the future"),
    ],
)
def test_a_call_that_makes_no_sense_says_what_to_do_and_changes_nothing(said, options, says):
    before = len(list(Memory().log()))
    said("trust", *options).refused(says)
    assert len(list(Memory().log())) == before

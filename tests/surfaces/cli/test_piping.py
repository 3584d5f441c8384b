"""Text in through a pipe, an object a line out of one: how tallystick stands between two other programs."""

import json

import pytest

from tests.refusals import refuses


@pytest.fixture
def story(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "tea", "--about", "person-ana")
    tallystick("remember", "Bob prefers rum", "--key", "rum", "--about", "person-bob")
    tallystick("observe", "Let's ship on Friday.")
    tallystick("forget", "tea", "--trust", "agent")
    return tallystick


def objects(done) -> list[dict]:
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


LISTS = (
    "show", "recall prefers", "log", "log --audit", "pages", "pages --search prefers", "review", "trust", "check",
    "tidy", "show tea --history", "forget rum", "paths",
)  # fmt: skip


def test_with_jsonl_every_list_is_an_object_a_line(story):
    for line in LISTS:
        whole = story(*line.split(), "--json").json if not line.startswith("forget") else None
        told = objects(story(*line.split(), "--jsonl"))
        if isinstance(whole, list):
            assert told == whole, line
        elif whole is not None:
            assert told == [whole], line
        else:
            assert [each["key"] for each in told] == ["rum"]


def test_what_is_no_list_is_one_line_and_an_empty_list_is_none(story):
    assert [each["beliefs"] for each in objects(story("status", "--jsonl"))] == [2]
    assert [each["text"] for each in objects(story("show", "tea", "--jsonl"))] == ["Ana prefers tea"]
    assert story("recall", "quantum", "--floor", "1", "--jsonl").out == ""
    assert story("--jsonl", "show", "--user", "nobody").out == ""


def test_with_jsonl_nothing_is_said_beside_the_answer_and_nobody_is_asked(story):
    assert story("remember", "x", "--trust", "web", "--jsonl").err == ""
    story("erase", "tea", "--jsonl").refused("--yes")


def test_hostile_text_stays_on_its_line(tallystick):
    tallystick("remember", "one\ntwo\u2028three\x1b[2J", "--key", "k\n1")

    assert [each["text"] for each in objects(tallystick("show", "--jsonl"))] == ["one\ntwo\u2028three\x1b[2J"]
    assert not set(tallystick("show", "--jsonl").out) & {"\x1b", "\u2028"}


# -- in ----------------------------------------------------------------------------------------------------------------


def test_a_question_and_a_new_wording_may_be_piped_in_without_a_dash(story):
    assert story("recall", "--json", stdin="what does Ana prefer?\n").json == story(
        "recall", "what does Ana prefer?", "--json"
    ).json
    assert story("revise", "rum", stdin="Bob prefers\nwater\n").status == 0
    assert story("show", "rum", "--json").json["text"] == "Bob prefers\nwater"


def test_where_an_option_says_what_to_change_a_pipe_is_left_alone(story):
    assert story("revise", "rum", "--confidence", "0.9", stdin="not this").status == 0

    rum = story("show", "rum", "--json").json
    assert (rum["text"], rum["confidence"]) == ("Bob prefers rum", 0.9)


def test_several_lines_are_one_memory_and_with_lines_each_is_one(tallystick):
    tallystick("remember", stdin="one\ntwo\n")
    done = tallystick("remember", "--lines", "--tag", "notes", stdin="three\r\n\n  four  \n")

    assert done.out == "Remembered 2 beliefs in ~/.tallystick. On page topic-notes.md\n"
    found = tallystick("show", "--json").json
    assert [(each["text"], each["tags"]) for each in found] == [
        ("one\ntwo", []), ("three", ["notes"]), ("four", ["notes"]),
    ]  # fmt: skip


def test_of_lines_all_are_recorded_or_none(tallystick, folder):
    tallystick("remember", "first")
    before = (folder / "events.wal").read_bytes()

    for command in ("remember", "observe"):
        tallystick(command, "--lines", stdin="good\n" + "x" * 2_000_000).refused("too long")
        empty = tallystick(command, "--lines", stdin="\n \n")
        assert (empty.status, empty.err) == (1, "tallystick: every line is empty\n")
    assert (folder / "events.wal").read_bytes() == before


def test_each_line_may_be_an_episode(tallystick):
    done = tallystick("observe", "--lines", "--session", "chat", "--jsonl", stdin="hello\nhi\n")

    assert [(each["content"], each["session"]) for each in objects(done)] == [("hello", "chat"), ("hi", "chat")]
    assert tallystick("observe", "--lines", stdin="a\nb\nc").out == "Observed 3 episodes in ~/.tallystick.\n"


# -- the names that are printed ----------------------------------------------------------------------------------------


def test_a_short_name_that_two_episodes_share_names_neither(tallystick):
    from tallystick import Memory

    with Memory() as memory:
        memory.observe("one")
        state = memory._folder.state.episodes
        [source] = state.standing("me")
        state._short.set(("me", source[-6:], "0" * 20 + source[-6:]), "")
        with refuses("ambiguous", source[-6:], "2"):
            memory.episodes.find(source[-6:])


def test_a_belief_of_a_branch_or_one_that_waits_is_on_no_page(tallystick):
    tallystick("remember", "x")
    tallystick("paths", "branch", "b")
    there, web = tallystick("remember", "y", "--path", "b"), tallystick("remember", "z", "--trust", "web")
    hers = tallystick("remember", "w", "--user", "bea", "--about", "person-ana")

    assert "On page" not in there.out + web.out
    assert hers.out.endswith(". On page @bea/person-ana.md\n")

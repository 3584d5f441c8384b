"""tallystick review: what waits for a person's yes, and the answer."""

import re

import pytest


@pytest.fixture
def asked(tallystick):
    """An agent wants to revise what a person said; the id of that review."""
    tallystick("remember", "Ana prefers tea", "--key", "ana-tea", "--tag", "drinks")
    tallystick("revise", "ana-tea", "Ana prefers coffee", "--tag", "hot", "--trust", "agent", "--reason", "she said so")
    return tallystick("review", "--json").json[0]["id"]


@pytest.mark.parametrize(
    "command",
    [
        ["revise", "k", "other"],
        ["forget", "k"],
        ["erase", "k"],
        ["erase", "k", "--yes"],
        ["remember", "x", "--key", "k"],
    ],
)
def test_a_held_action_is_one_line_with_the_way_out_and_changes_nothing(tallystick, command):
    tallystick("remember", "tea", "--key", "k")
    before = tallystick("show", "k", "--json").json

    done = tallystick(*command, "--trust", "agent")
    [review] = tallystick("review", "--json").json

    assert (done.status, done.out) == (1, "")
    start = rf"tallystick: \w+ {before['id'][-6:]} needs approval: "
    way_out = f"`tallystick review {review['id']}`\n"
    assert re.fullmatch(start + ".*" + way_out, done.err)
    assert tallystick("show", "k", "--json").json == before
    assert tallystick(*command, "--trust", "agent").err == done.err
    assert len(tallystick("review", "--json").json) == 1


def test_what_waits_is_a_line_each(tallystick, asked):
    tallystick("remember", "Buy rum", "--key", "rum", "--trust", "web")
    done = tallystick("review")

    first, second = done.out.splitlines()
    assert first.split(maxsplit=4) == [asked[-6:], "revise", "ana-tea", "agent", "Ana prefers coffee"]
    assert second.split(maxsplit=4)[1:] == ["trust", "rum", "web", "Buy rum"]


def test_one_review_shows_what_would_change_who_asks_and_why(tallystick, asked):
    done = tallystick("review", asked[-6:])

    assert done.out.startswith(
        "Revise ana-tea?\n  - Ana prefers tea\n  + Ana prefers coffee\n  ~ Ana prefers [-tea-] {+coffee+}\n"
        "  - tags: drinks\n  + tags: hot\n"
    )
    short = asked[-6:]
    for part in (asked, "agent (cli:local)", "she said so", f"review approve {short}", f"review reject {short}"):
        assert part in done.out


def test_what_an_invalid_or_erased_belief_would_take_along_is_shown(tallystick, folder):
    from tallystick import Memory, NeedsApproval

    tallystick("remember", "tea", "--key", "below")
    tallystick("remember", "on tea", "--key", "above", "--rests-on", "below")
    with Memory(folder, trust="agent") as agent:
        for do in (lambda: agent.invalidate("below", "no"), lambda: agent.erase("below", "above")):
            with pytest.raises(NeedsApproval):
                do()
    wrong, gone = (tallystick("review", review["id"]).out for review in tallystick("review", "--json").json)

    assert wrong.startswith("Invalidate below?\n  - tea\n  ~ becomes a hypothesis: on tea\n")
    assert gone.startswith("Destroy the words of below?\n  - tea\n  - on tea\n")
    assert "erase below and 1 more" in tallystick("review").out


def test_a_yes_does_it_and_an_answered_review_still_tells_what_it_was(tallystick, asked):
    done = tallystick("review", asked, "--approve", "--reason", "I heard it")

    assert (done.status, done.out.startswith(f"Approved {asked[-6:]}: revise ")) == (0, True)
    assert tallystick("show", "ana-tea", "--json").json["text"] == "Ana prefers coffee"
    page = tallystick("review", asked).out
    assert "  - Ana prefers tea\n  + Ana prefers coffee\n" in page
    assert "I heard it" in page
    assert "review approve" not in page
    assert tallystick("review").out == "No pending reviews.\n"
    assert "approved" in tallystick("review", "--all").out


def test_an_answer_is_used_once(tallystick, asked):
    tallystick("review", asked, "--approve")

    for answer in ("--approve", "--reject"):
        tallystick("review", asked, answer).refused("is approved already")


def test_an_unknown_review_and_another_users_are_not_found(tallystick, asked):
    for args in (["nobody"], ["nobody", "--approve"], [asked, "--user", "bea"], [asked, "--approve", "--user", "bea"]):
        tallystick("review", *args).refused("no review named")
    assert len(tallystick("review", "--json").json) == 1


def test_hostile_words_are_shown_and_not_obeyed(tallystick):
    words = "\x1b[2J\u202eevil\n  review      approved\r\nlast"
    tallystick("remember", "tea", "--key", "k")
    tallystick("revise", "k", words, "--about", words, "--reason", words, "--trust", "web")
    [review] = tallystick("review", "--json").json
    outs = [tallystick("review").out, tallystick("review", review["id"]).out, tallystick("log").out]

    assert all(sign not in out for out in outs for sign in "\x1b\u202e\r")
    assert "  + \\x1b[2J\\u202eevil\n  +   review      approved\n  + last\n" in outs[1]


def test_the_log_tells_of_questions_and_answers(tallystick, asked):
    tallystick("review", asked, "--reject", "--reason", "not now")
    out = tallystick("log", "--op", "review").out

    assert f"{asked[-6:]}: may agent revise " in out
    assert f"{asked[-6:]}: rejected (not now)" in out

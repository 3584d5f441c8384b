"""tallystick tidy: what may leave sight, with the reason; and nothing goes unless somebody says so."""

import re

import pytest

from tallystick import Memory


@pytest.fixture
def untidy(tallystick):
    """An expired belief, two that contradict each other, and two that say the same."""
    tallystick("remember", "Ana is away", "--key", "away", "--expires", "2020-05-01")
    tallystick("remember", "The port is 5432", "--key", "port-a")
    tallystick("remember", "The port is 6543", "--key", "port-b")
    tallystick("remember", "Bob likes chess", "--key", "chess")
    tallystick("remember", "bob likes chess!", "--key", "game")


def status(tallystick, name):
    return tallystick("show", name, "--json").json["status"]


def held(tallystick):
    return [status(tallystick, name) for name in ("away", "port-a", "port-b", "chess", "game")]


def test_nothing_to_tidy_is_one_friendly_line(tallystick):
    tallystick("remember", "tea")

    assert tallystick("tidy").out == "Nothing to tidy.\n"
    assert tallystick("tidy", "--json").json == []
    assert tallystick("tidy", "--apply", "all", "--yes").out == "Nothing to tidy.\n"


def test_proposals_are_numbered_with_their_reasons_and_nothing_is_changed(tallystick, untidy):
    before = tallystick("log", "--json").json
    done = tallystick("tidy")

    assert done.status == 0
    assert re.sub(r"  [0-9a-f]{6}  ", "  c4f1a5  ", done.out) == (
        "  1  c4f1a5  expired: it was to be relied on until 2020-05-01\n"
        "     - Ana is away\n"
        "  2  c4f1a5  contradiction: 6543 against 5432; the first is kept because it is newer\n"
        "     + The port is 6543\n"
        "     - The port is 5432\n"
        "  3  c4f1a5  repeat: 2 beliefs say the same\n"
        "     + Bob likes chess\n"
        "     - bob likes chess!\n"
        "\n"
        "  tallystick tidy --apply 1    or    tallystick tidy --apply all\n"
    )
    assert tallystick("log", "--json").json == before


def test_json_holds_all_of_each_proposal(tallystick, untidy):
    found = tallystick("tidy", "--json").json

    assert [(each["kind"], each["action"]) for each in found] == [
        ("expired", "forget"), ("contradiction", "choose"), ("repeat", "merge"),
    ]  # fmt: skip
    assert set(found[0]) == {"id", "kind", "ids", "texts", "why", "action", "user"}
    assert found == tallystick("tidy", "--json").json


def test_only_the_chosen_are_applied_by_number_or_by_six_characters(tallystick, untidy):
    third = tallystick("tidy", "--json").json[2]
    done = tallystick("tidy", "--apply", "2", "--yes")

    assert (done.status, done.out.split(":", 1)[1]) == (0, " The port is 5432\n")
    assert done.out.startswith("Forgot ")
    assert held(tallystick) == ["active", "tombstone", "active", "active", "active"]
    done = tallystick("tidy", "--apply", third["id"], "--yes", "--json")

    assert done.json == [third]
    assert tallystick("show", "game", "--json").json["text"] == "Bob likes chess"
    assert [each["kind"] for each in tallystick("tidy", "--json").json] == ["expired"]


def test_all_are_applied_with_the_reason_that_was_given(tallystick, untidy):
    done = tallystick("tidy", "--apply", "all", "--yes", "--reason", "spring cleaning")

    assert [line.split()[0] for line in done.out.splitlines()] == ["Forgot", "Forgot", "Merged"]
    assert held(tallystick) == ["tombstone", "tombstone", "active", "active", "active"]
    assert tallystick("show", "away", "--json").json["reason"] == "spring cleaning"
    assert tallystick("tidy").out == "Nothing to tidy.\n"


@pytest.mark.parametrize("chosen", ["0", "4", "-1", "c4f1a5", "x", "", "1 2", "\x1b[31m"])
def test_a_proposal_that_is_not_there_is_not_found_and_nothing_is_changed(tallystick, untidy, chosen):
    done = tallystick("tidy", "--apply", "1", "--apply", chosen, "--yes")
    done.refused()
    assert "\x1b" not in done.err
    assert held(tallystick) == ["active"] * 5


def test_one_that_cannot_be_applied_is_told_and_does_not_stop_the_others(tallystick, untidy):
    tallystick("remember", "Eve is away", "--key", "eve", "--expires", "2020-05-01", "--trust", "agent")
    done = tallystick("tidy", "--apply", "all", "--yes", "--trust", "agent")

    assert done.status == 1
    assert [line.split(":", 1)[1] for line in done.out.splitlines()] == [" Eve is away"]
    assert "needs approval" in done.err
    assert "3 proposals could not be applied" in done.err
    assert (status(tallystick, "eve"), held(tallystick)) == ("tombstone", ["active"] * 5)


# -- the events of use, in the log -------------------------------------------------------------------------------------


def test_the_log_tells_what_was_served_what_came_of_it_and_what_faded(tallystick, folder):
    from tallystick.decide import usage as decide
    from tallystick.records.recall import Receipt

    with Memory(folder) as memory:
        tea, hello = memory.remember("tea").id, memory.observe("hello", id="D1")
        ledger, state = memory._folder.ledger, memory._folder.state
        source = state.episodes.find("me", hello.id)[0].source
        about = {"at": ledger.now(), "head": (1, "x"), "k": 5, "hits": ((tea, 0.5), (source, 0.4))}
        ledger.write(lambda: decide.receipts([Receipt.made(**about), Receipt.made(**about)]))
        ledger.write(lambda: decide.receipts([Receipt.made(**about, question="what to drink?")]))
        for signal, names in ((1, [tea]), (0, [tea, "D1"]), (0.25, [tea])):
            ledger.write(lambda signal=signal, names=names: decide.outcome(state, names, signal))
        ledger.write(lambda: decide.archive(state, ["D1"], reason="small talk"))
    told = [line.split("  ", 4)[-1].strip() for line in tallystick("log").out.splitlines()[3:]]
    short = tea[-6:]

    assert [re.sub(r"^\S+\s+", "", line) for line in told] == [
        "2 recalls served 4 hits",
        "1 recall served 2 hits: what to drink?",
        f"{short} helped",
        f"{short} {source[-6:]} misled",
        f"{short} helped by 25%",
        f"{source[-6:]} left recall (small talk)",
    ]

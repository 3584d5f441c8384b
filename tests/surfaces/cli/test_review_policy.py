"""tallystick review policy, answers in bulk, markers, and differences word by word."""

import re

import pytest
from hypothesis import given, strategies as st

from tallystick import Approval, Memory
from tallystick.surfaces.present.diff import word_diff
from tests.growth import assert_linear, seconds
from tests.refusals import not_approved

RULES = """
[policy]
approvers = ["cli:*"]
expires = "36h"
[[policy.rules]]
action = "archive"
trust = ["human", "agent"]
tag = "pinned"
confidence = [0.5, 1]
then = "review"
[[policy.rules]]
path = ""
source = "mcp:*"
then = "refuse"
"""


@pytest.fixture
def policy(tallystick, folder):
    tallystick("remember", "tea", "--key", "k", "--tag", "pinned")
    (folder / "tallystick.toml").write_text(RULES)


@pytest.fixture
def three(tallystick, folder):
    """Three reviews: an agent's about Ana, an agent's about Bob, the web's."""
    tallystick("remember", "Ana prefers tea", "--key", "ana", "--about", "person-ana")
    tallystick("remember", "Bob prefers rum", "--key", "bob", "--about", "person-bob")
    tallystick("forget", "ana", "--trust", "agent")
    tallystick("erase", "bob", "--trust", "agent")
    tallystick("remember", "Buy rum", "--key", "rum", "--trust", "web")
    return [review["id"] for review in tallystick("review", "--json").json]


def test_the_policy_in_force_is_printed_as_a_table(tallystick, policy):
    lines = tallystick("review", "policy").out.splitlines()

    assert lines[1] == "   1  review      action forget; trust human or agent; tag pinned; confidence 0.5 to 1"
    assert lines[2] == "   2  refuse      source mcp:*; path (none)"
    assert "  erase                 allow         review        review        review        review" in lines
    assert "  approvers   cli:*" in lines
    assert "  expires     an unused approval after 36 hours" in lines


def test_without_rules_the_table_says_so(tallystick):
    tallystick("remember", "tea")
    out = tallystick("review", "policy").out

    assert "none; tallystick.toml can have some under [[policy.rules]]" in out
    assert "anyone with the trust of a person" in out
    assert "expires     an unused approval after 1 week" in out


def test_the_policy_is_there_as_json(tallystick, policy):
    told = tallystick("review", "policy", "--json").json

    assert told["rules"][1] == {"then": "refuse", "source": ["mcp:*"], "path": [""]}
    assert (told["approvers"], told["expires_seconds"]) == (["cli:*"], 36 * 3600)
    assert told["defaults"]["review.answer"]["agent"] == "refuse"


@pytest.mark.parametrize(
    ("args", "then", "rule"),
    [
        (["archive", "--trust", "human", "--with", "tag=pinned"], "review", 1),
        (["forget", "--trust", "human"], "allow", 0),
        (["archive", "--trust", "human", "--with", "tag=pinned", "--with", "confidence=0.2"], "allow", 0),
        (["archive", "--with", "stated=agent"], "allow", 0),
        (["archive"], "review", 0),
        (["remember", "--trust", "web"], "quarantine", 0),
        (["remember", "--trust", "human", "--with", "source=mcp:9"], "refuse", 2),
        (["remember", "--trust", "human", "--with", "source=mcp:9", "--with", "path=p"], "allow", 0),
    ],
)
def test_the_policy_says_what_would_happen_and_which_rule_says_so(tallystick, policy, args, then, rule):
    told = tallystick("review", "policy", "--test", *args, "--json").json

    assert (told["then"], told["rule"]) == (then, rule)
    text = tallystick("review", "policy", "--test", *args).out
    assert text.startswith(f"{then}: {args[0]} by ")
    assert (f"rule {rule}" if rule else "by default") in text
    assert tallystick("log", "--op", "review", "--json").out.strip() in ("", "[]")


@pytest.mark.parametrize(
    ("field", "says"),
    [("colour=red", "FIELD one of source, user"), ("tag", "FIELD=VALUE"), ("confidence=2", "a number from 0 to 1"),
     ("stated=god", "stated must be one of human")],
)  # fmt: skip
def test_a_field_that_nothing_has_is_wrong_usage(tallystick, policy, field, says):
    tallystick("review", "policy", "--test", "erase", "--with", field).refused(says, status=2)


def test_an_action_that_nobody_knows_is_refused(tallystick, policy):
    tallystick("review", "policy", "--test", "bless").refused("action must be one of remember, revise", "not 'bless'")


def test_a_policy_with_a_slip_is_one_line_and_reading_goes_on(tallystick, folder):
    tallystick("remember", "tea", "--key", "k")
    (folder / "tallystick.toml").write_text("[[policy.rules]]\nthen = 'review'\nwho = 'x'\n")

    for args in (["remember", "x"], ["review", "policy"], ["forget", "k"]):
        tallystick(*args).refused("tallystick.toml: ", "policy.rules[1].who")
    assert tallystick("show", "k").status == tallystick("recall", "tea").status == tallystick("review").status == 0


# -- in bulk -----------------------------------------------------------------------------------------------------------


def test_what_waits_is_narrowed_by_kind_asker_and_entity(tallystick, three):
    def listed(*args):
        return [review["id"] for review in tallystick("review", *args, "--json").json]

    assert listed("--kind", "archive") == listed("--about", "person-ana") == three[:1]
    assert listed("--trust", "agent") == three[:2]
    assert listed("--kind", "erase", "--trust", "web") == []


def test_several_are_answered_by_name_or_by_what_they_have_in_common(tallystick, three):
    tallystick("review", "approve", three[0], three[1]).refused("--yes")
    done = tallystick("review", "approve", three[0][-6:], three[1], "--yes")
    assert [line.split()[0] for line in done.out.splitlines()] == ["Approved", "Approved"]
    done = tallystick("review", "reject", "--all", "--trust", "web", "--yes", "--json")

    assert [review["id"] for review in done.json] == three[2:]
    assert tallystick("review").out == "No pending reviews.\n"
    assert tallystick("show", "ana", "--json").json["status"] == "tombstone"


def test_one_that_cannot_be_answered_does_not_stop_the_others(tallystick, three):
    tallystick("revise", "ana", "Ana prefers milk")
    done = tallystick("review", "approve", "--all", "--trust", "agent", "--yes")

    assert done.status == 1
    assert done.out.count("Approved") == 1
    assert "stale and closed" in done.err
    assert "1 review failed" in done.err


@pytest.mark.parametrize("typed", ["y\n", "n\n"])
def test_several_are_shown_and_asked_about_once(tallystick, terminal, three, typed):
    done = terminal("review", "approve", three[0], three[2], typed=typed)

    assert done.out.count("?") == 1
    assert "Approve 2 reviews?" in done.out
    assert "Ana prefers tea" in done.out
    assert "Buy rum" in done.out
    assert len(tallystick("review", "--json").json) == (1 if typed == "y\n" else 3)


# -- markers -----------------------------------------------------------------------------------------------------------


def test_a_yes_is_given_as_a_marker_and_used_by_a_program(tallystick, folder, three):
    given = tallystick("review", "approve", three[0], "--grant", "--json").json
    assert Approval.from_dict(given).to_dict() == given
    assert tallystick("show", "ana", "--json").json["status"] == "active"
    assert three[0] not in [review["id"] for review in tallystick("review", "--json").json]
    assert "approved    by " in tallystick("review", three[0]).out

    with Memory(folder, trust="agent", by="cli:local") as agent:
        action = agent.reviews.get(three[0]).action
        agent.apply(action, Approval.from_dict(given))
        with not_approved("used", "forget"):
            agent.apply(action, Approval.from_dict(given))
    assert tallystick("show", "ana", "--json").json["status"] == "tombstone"
    log = tallystick("log", "--op", "review").out
    assert f"{three[0][-6:]}: approved for one use, until " in log
    assert f"{three[0][-6:]}: forget " in log
    assert "was refused: used" in log


def test_a_marker_is_printed_for_a_person_too(tallystick, three):
    done = tallystick("review", "approve", three[0], "--grant")
    marker = done.out.split()[2]

    assert done.out.startswith(f"Granted {three[0][-6:]}: ")
    assert len(marker) == 32
    assert "once, until" in done.out
    several = tallystick("review", "approve", "--all", "--grant", "--yes", "--json").json
    assert [each["review"] for each in several] == three[1:]


# -- pages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "names", "said", "shows"),
    [
        ("activate", ["gone"], {}, "Activate again gone?\n  + Ana was six\n"),
        ("promote", ["guess"], {"confidence": 0.9}, "Promote to a fact guess?\n  ~ Bob may come\n"),
        ("merge", ["ana", "bob"], {}, "Merge ana?\n  + Ana prefers tea\n"),
        ("compact", ["person-ana"], {}, "Compact the page about person-ana?\n"),
        ("remember", [], {"text": "new words", "key": "new", "tags": ["a"]}, "Remember new?\n  + new words\n"),
    ],
)
def test_every_kind_of_question_says_what_would_be_done(tallystick, folder, kind, names, said, shows):
    tallystick("remember", "Ana prefers tea", "--key", "ana", "--about", "person-ana")
    tallystick("remember", "Bob prefers rum", "--key", "bob")
    tallystick("remember", "Bob may come", "--key", "guess", "--hypothesis", "--confidence", "0.4")
    tallystick("remember", "Ana was six", "--key", "gone")
    tallystick("forget", "gone")
    (folder / "tallystick.toml").write_text("[[policy.rules]]\ntrust = 'agent'\nthen = 'review'\n")
    with Memory(folder, trust="agent", by="mcp:1") as agent:
        review = agent.propose(agent.action(kind, *names, **said))
    page = tallystick("review", review.id).out

    assert page.startswith(shows)
    assert tallystick("review").out.startswith(f"{review.id[-6:]}  {kind} ")
    assert tallystick("review", "approve", review.id).status == 0


def test_a_refused_statement_is_named_by_its_key_in_the_list(tallystick, folder):
    tallystick("remember", "tea")
    (folder / "tallystick.toml").write_text("[[policy.rules]]\naction = 'remember'\nthen = 'review'\n")
    done = tallystick("remember", "\x1b[2J hostile\nwords", "--trust", "agent")

    assert done.status == 1
    listed = tallystick("review").out
    assert "remember something" in listed
    assert "\x1b" not in listed + tallystick("review", tallystick("review", "--json").json[0]["id"]).out


def test_the_words_of_a_statement_that_was_never_approved_are_erased_by_its_review(tallystick, folder):
    tallystick("remember", "tea")
    (folder / "tallystick.toml").write_text("[[policy.rules]]\naction = 'remember'\nthen = 'review'\n")
    tallystick("remember", "a secret", "--trust", "agent")
    [asked] = tallystick("review", "--json").json

    assert tallystick("erase", asked["id"], "--dry-run").out.startswith("what needed approval would lose its words:")
    assert tallystick("erase", asked["id"], "--yes").out == "Erased what needed approval, 1 event of the ledger\n"
    assert [path for path in folder.rglob("*") if path.is_file() and b"a secret" in path.read_bytes()] == []
    assert tallystick("review").out == "No pending reviews.\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Ana prefers tea", "Ana prefers coffee", "Ana prefers [-tea-] {+coffee+}"),
        ("Ana prefers tea", "Ana no longer prefers tea", "Ana {+no longer +}prefers tea"),
        ("a b c", "a c", "a [-b -]c"),
        ("one", "two", ""),
        ("the port is 5432.", "the port is 6543.", "the port is [-5432-] {+6543+}."),
        ("same", "same", "same"),
    ],
)
def test_what_differs_is_marked_word_by_word(old, new, told):
    assert word_diff(old, new) == told


def test_of_a_long_text_only_what_is_near_the_difference_is_shown():
    words = [f"w{number}" for number in range(500)]
    told = word_diff(" ".join(words), " ".join([*words[:250], "new", *words[251:]]))

    assert told.startswith("… ")
    assert told.endswith(" …")
    assert "[-w250-] {+new+}" in told
    assert len(told) < 200


@given(st.lists(st.sampled_from("abc"), max_size=10), st.lists(st.sampled_from("abc"), max_size=10))
def test_both_texts_can_be_read_off_the_difference(before, after):
    old, new = " ".join(before), " ".join(after)
    told = word_diff(old, new).replace("-] {+", "-]{+")
    if told:
        assert re.sub(r"\[-(.*?)-\]", r"\1", re.sub(r"\{\+.*?\+\}", "", told)) == old
        assert re.sub(r"\{\+(.*?)\+\}", r"\1", re.sub(r"\[-.*?-\]", "", told)) == new


def test_long_texts_are_compared_in_time_that_grows_with_them():
    def took(size):
        return seconds(lambda: (word_diff("a b " * size, "b a c " * size), word_diff("x " * size, "x " * (size + 1))))

    assert_linear(took, 5_000, 50_000)

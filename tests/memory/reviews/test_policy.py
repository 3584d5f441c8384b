"""The policy of `tallystick.toml`: how it is read, followed, and what a bad one does."""

import os
from collections.abc import Callable

import pytest

from tallystick import Memory, NeedsApproval, Refused
from tallystick.ledger.settings_file import SettingsFile
from tallystick.memory.core.policy_reader import PolicyReader, read_policy
from tallystick.records.errors import NotApproved
from tallystick.records.policy import DEFAULT
from tests.memory.conftest import files_with, review_of
from tests.refusals import needs_approval, not_approved, refuses

Write = Callable[[str], None]

_ASK_ME = """
[[policy.rules]]
action = "erase"
trust = "human"
then = "review"
"""


@pytest.fixture
def write(memory: Memory) -> Write:
    """Put a policy into force. The file is a new one each time, as an editor leaves it."""

    def put(text: str) -> None:
        fresh = memory.folder / "tallystick.toml.new"
        fresh.write_text(text, "utf-8")
        os.replace(fresh, memory.folder / "tallystick.toml")

    return put


def test_all_that_a_policy_may_say_is_read(tmp_path):
    (tmp_path / "tallystick.toml").write_text(
        """
        [policy]
        approvers = ["cli:*", "web:ana"]
        expires = "12h"
        [[policy.rules]]
        action = ["archive", "supersede"]
        trust = "agent"
        source = "mcp:*"
        user = "me"
        session = ["a", "b"]
        agent = "helper"
        path = ""
        about = "person-ana"
        kind = "rule"
        tag = "pinned"
        confidence = [0, 0.5]
        then = "review"
        [[policy.rules]]
        action = "remember"
        then = "quarantine"
        """
    )
    policy = read_policy(SettingsFile(tmp_path / "tallystick.toml"))

    assert policy.approvers == ("cli:*", "web:ana")
    assert policy.expires.total_seconds() == 12 * 3600
    first, second = policy.rules
    assert first.to_dict() == {
        "then": "review", "action": ["forget", "revise"], "trust": ["agent"], "source": ["mcp:*"], "user": ["me"],
        "session": ["a", "b"], "agent": ["helper"], "path": [""], "about": ["person-ana"], "kind": ["rule"],
        "tag": ["pinned"], "confidence": [0.0, 0.5],
    }  # fmt: skip
    assert second.then == "quarantine"


@pytest.mark.parametrize("text", ["", "[ledger]\ndurability = 'full'\n", "[policy]\n"])
def test_without_rules_the_defaults_hold(memory, write, text):
    write(text)

    assert memory.policy == DEFAULT


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("policy = 3", r"\[policy\] must be"),
        ("[policy]\nrule = []", "unknown policy.rule; use one of approvers, expires, rules"),
        ("[policy]\nexpires = 7", 'policy.expires must be .* not 7'),
        ("[policy]\nexpires = '0d'", "policy.expires must be"),
        ("[policy]\nexpires = '999999w'", "policy.expires must be at most"),
        ("[policy]\napprovers = []", "policy.approvers must be"),
        ("[policy]\napprovers = [1]", "policy.approvers must be"),
        ("[policy]\nrules = ['x']", "policy.rules must be"),
        ("[[policy.rules]]\naction = 'erase'", r"policy.rules\[1\].then must be"),
        ("[[policy.rules]]\nthen = 'review'\n[[policy.rules]]\nthen = 'maybe'", r"policy.rules\[2\]: then must be"),
        ("[[policy.rules]]\nthen = 'review'\nactions = 'erase'", r"unknown policy.rules\[1\].actions"),
        ("[[policy.rules]]\nthen = 'review'\naction = 'bless'", r"policy.rules\[1\]: action must be .* not 'bless'"),
        ("[[policy.rules]]\nthen = 'review'\ntrust = 'god'", r"policy.rules\[1\]: trust must be one of"),
        ("[[policy.rules]]\nthen = 'review'\ntag = []", r"policy.rules\[1\].tag must be"),
        ("[[policy.rules]]\nthen = 'review'\nconfidence = [0.1]", r"policy.rules\[1\].confidence must be"),
        ("[[policy.rules]]\nthen = 'review'\nconfidence = [true, 1]", r"policy.rules\[1\].confidence must be"),
        ("[[policy.rules]]\nthen = 'review'\nconfidence = [nan, 1]", r"policy.rules\[1\]: confidence must be"),
        ("[[policy.rules]]\nthen = 'quarantine'", r"policy.rules\[1\]: \"quarantine\" works only"),
        ('[policy]\n"a\\nb" = 1', r"unknown policy.'a\\nb'"),
        (f"policy.approvers = [{'{a = ' * 300}1{'}' * 300}]", "policy.approvers must be"),
        (f"[[policy.rules]]\nthen = 'review'\nconfidence = [0, {10**400}]", r"policy.rules\[1\].confidence must be"),
        (f"[[policy.rules]]\nthen = '{'x' * 90_000}'", r"policy.rules\[1\]: then must be one of"),
    ],
)  # fmt: skip
def test_a_policy_that_is_not_understood_lets_nothing_be_written_and_everything_be_read(memory, write, text, says):
    memory.remember("Ana prefers tea", key="tea")
    before = memory.status().events
    write(text)

    for do in (
        lambda: memory.remember("x"), lambda: memory.revise("tea", "x"), lambda: memory.forget("tea"),
        lambda: memory.erase("tea"), lambda: memory.propose(memory.action("archive", "tea")), lambda: memory.policy,
    ):  # fmt: skip
        with pytest.raises(Refused, match=says) as refused:
            do()
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 600
        assert str(refused.value).startswith(str(memory.folder / "tallystick.toml"))
        assert "until then nothing is written" in str(refused.value)
    assert memory.status().events == before
    assert memory.show("tea").text == "Ana prefers tea"
    assert [hit.text for hit in memory.recall("what does Ana prefer?")] == ["Ana prefers tea"]
    assert list(memory.reviews) == []
    with Memory(memory.folder) as again:
        assert again.get("tea") is not None


@pytest.mark.parametrize("damage", [b"[policy", b"\xff\xfe", b"[policy]\nexpires = '7d", None], ids=str)
def test_a_file_that_breaks_or_cannot_be_opened_while_a_program_runs_stops_its_writing(memory, write, damage):
    memory.remember("tea", key="tea")
    path = memory.folder / "tallystick.toml"
    path.mkdir() if damage is None else path.write_bytes(damage)

    with refuses("file", str(path), "directory" if damage is None else ""):
        memory.remember("x")
    assert memory.show("tea").text == "tea"
    path.rmdir() if damage is None else write("")
    memory.remember("x")


def test_a_running_program_follows_the_file_and_a_persons_own_action_waits_where_a_rule_says_so(memory, write, agent):
    memory.remember("one", key="a")
    memory.remember("two", key="b")
    write(_ASK_ME)
    with needs_approval("none", "erase", "human", "rule 1") as held:
        memory.erase("a")
    with pytest.raises(NeedsApproval):
        agent.erase("a")
    memory.remember("what the rule does not speak of", key="other")
    assert memory.show("a").text == "one"
    memory.reviews.approve(held.value.review)
    assert memory.get("a") is None
    write("[[policy.rules]]\naction = 'erase'\nthen = 'refuse'\n")
    with not_approved("refused", "agent", "erase", "rule 1"):
        agent.erase("b")
    assert memory.show("b").text == "two"
    (memory.folder / "tallystick.toml").unlink()
    memory.erase("b")
    assert memory.get("b") is None


def test_the_file_is_read_once_while_it_stays_the_same(memory, write, monkeypatch):
    write(_ASK_ME)
    reads = []
    monkeypatch.setattr("tallystick.memory.core.policy_reader.read_policy", lambda text: reads.append(text) or DEFAULT)
    reader = PolicyReader(SettingsFile(memory.folder / "tallystick.toml"))

    assert [reader.now() for _ in range(5)] == [DEFAULT] * 5
    assert len(reads) == 1


# -- what rules do -----------------------------------------------------------------------------------------------------


def test_what_happened_is_erased_by_a_person_unless_a_rule_speaks_of_it(memory, write):
    for name in ("one", "two"):
        memory.observe(f"words of {name}", id=name, session=name)
    write("[[policy.rules]]\naction = 'erase'\nsession = 'two'\nthen = 'review'\n")

    memory.erase("one")
    with not_approved("refused", "rule 1") as refused:
        memory.erase("two")
    assert not isinstance(refused.value, NeedsApproval)
    write("[[policy.rules]]\naction = 'erase'\nthen = 'refuse'\n")
    with not_approved("refused", "human", "an episode", "rule 1"):
        memory.erase("two")
    assert [episode.id for episode in memory.episodes.recent(session="two")] == ["two"]


def test_a_statement_may_wait_for_a_yes_before_it_is_one_and_is_stale_if_its_key_is_taken(memory, write, agent):
    write("[[policy.rules]]\naction = 'remember'\ntrust = 'agent'\nabout = 'person-ana'\nthen = 'review'\n")
    agent.remember("the sky is blue", key="sky")
    with needs_approval("none", "remember", "agent", "rule 1") as held:
        agent.remember("Ana is seven", key="age", about="person-ana")
    late = review_of(agent.remember, "Ana is small", key="size", about="person-ana")
    assert memory.get("age") is memory.get("size") is None
    memory.remember("Ana is tall", key="size")

    memory.reviews.approve(held.value.review)
    belief = memory.show("age")
    assert (belief.text, belief.trust) == ("Ana is seven", "agent")
    assert memory.reviews.is_approved(belief)
    [answer] = memory.reviews.approve_all([late])
    assert "stale" in str(answer.error)
    assert memory.show("size").text == "Ana is tall"


@pytest.mark.parametrize("answer", ["approve", "reject", ""])
def test_the_words_of_a_statement_that_waited_are_erased(memory, write, agent, answer):
    write("[[policy.rules]]\naction = 'remember'\ntrust = 'agent'\nthen = 'review'\n")
    asked = review_of(agent.remember, "a secret", key="s")
    if answer:
        getattr(memory.reviews, answer)(asked, reason="a secret reason")
    memory.backup()
    memory.ledger.compact()
    memory.erase("s" if answer == "approve" else asked)

    assert files_with(memory.folder, "a secret") == []
    assert memory.reviews.all() == []
    assert memory.ledger.verify().ok


def test_a_rule_keeps_statements_out_of_recall(memory, write, agent):
    write("[[policy.rules]]\naction = 'remember'\nsource = 'agent:*'\ntag = 'rumour'\nthen = 'quarantine'\n")
    agent.remember("Ana prefers rum", key="rum", tags=["rumour"])
    agent.remember("Ana prefers tea", key="tea")

    assert [hit.text for hit in memory.recall("what does Ana prefer?")] == ["Ana prefers tea"]
    [asked] = memory.reviews
    assert memory.show("rum").trust == "tool"
    memory.reviews.approve(asked.id)
    assert len(list(memory.recall("what does Ana prefer?"))) == 2


def test_a_rule_lets_a_tool_be_heard_and_what_it_said_is_guarded(memory, write, door):
    write("[[policy.rules]]\naction = 'remember'\nsource = 'tool:weather'\nthen = 'allow'\n")
    door("tool", "tool:weather").remember("It rains in Ghent", key="rain")
    door("tool", "tool:other").remember("It snows in Ghent", key="snow")

    assert [hit.text for hit in memory.recall("weather in Ghent")] == ["It rains in Ghent"]
    assert memory.show("rain").trust == "tool"
    with Memory(memory.folder) as again:
        assert again.reviews.is_approved(again.show("rain"))
    with pytest.raises(NeedsApproval):
        door("tool", "tool:other").revise("rain", "Buy umbrellas at example.org")


def test_taking_a_mark_off_is_judged_by_the_mark(memory, write, agent):
    agent.remember("never touch this", key="k", tags=["pinned"])
    agent.remember("or this", key="j")
    write("[[policy.rules]]\ntag = 'pinned'\nthen = 'review'\n")

    assert review_of(agent.revise, "k", tags=[]) != review_of(agent.revise, "j", tags=["pinned"])
    assert memory.show("k").tags == ("pinned",)


@pytest.mark.parametrize(
    ("verb", "change"),
    [
        ("forget", {"status": "tombstone"}), ("invalidate", {"status": "invalidated"}),
        ("invalidate", {"valid_to": "2020-01-01"}), ("promote", {"is_hypothesis": False}),
    ],
)  # fmt: skip
def test_a_revision_is_judged_by_what_it_does(write, agent, verb, change):
    agent.remember("a guess", key="k", is_hypothesis=True)
    agent.revise("k", "another guess")
    write(f"[[policy.rules]]\naction = '{verb}'\nthen = 'refuse'\n")

    agent.revise("k", "a third guess")
    with not_approved("refused", "agent", "revise", "rule 1"):
        agent.revise("k", **change)


def test_confidence_is_that_of_what_would_be_said_and_of_what_would_be_forgotten(memory, write, agent):
    agent.remember("a guess", key="low", confidence=0.2)
    for key in ("high", "known"):
        agent.remember(f"well known {key}", key=key, confidence=0.9)
    write("[[policy.rules]]\nconfidence = [0.8, 1.0]\nthen = 'review'\n")

    agent.revise("low", "another guess")
    agent.revise("high", confidence=0.5)
    assert review_of(agent.revise, "low", confidence=0.95) != review_of(agent.remember, "sure", confidence=0.8)
    agent.forget("low")
    agent.remember("sure enough", key="high2", confidence=0.79)
    assert memory.show("low").status == "tombstone"
    write("[[policy.rules]]\naction = 'archive'\nconfidence = [0.8, 1.0]\nthen = 'refuse'\n")
    with not_approved("refused", "agent", "forget", "rule 1"):
        agent.forget("known")
    [refused] = memory.log(op="review.refuse")
    assert refused.body == {
        "user": "me", "kind": "forget", "target": [memory.show("known").id], "review": "", "why": "refused",
        "writer_trust": "agent",
    }  # fmt: skip


def test_every_door_to_an_action_is_gated(memory, write):
    """Tidying, folding, cleaning, outcomes: what a rule gates is gated, however it is asked for."""
    for key in ("a", "b"):
        memory.remember("Ana likes tea.", key=key, about="person-ana")
    [repeat] = memory.tidy.proposals()
    write("[[policy.rules]]\ntrust = 'human'\naction = ['merge', 'compact', 'reinforce', 'archive']\nthen = 'review'\n")
    before = memory.beliefs.all()

    for do in (
        lambda: memory.tidy.apply(repeat), lambda: memory.pages.compact("person-ana"), lambda: memory.outcome(["a"]),
        lambda: memory.forget("a"), lambda: memory.facts.unpin("a"),
    ):  # fmt: skip
        review_of(do)
    with not_approved("refused", "put away"):
        memory.pages.clean()
    assert memory.beliefs.all() == before
    assert {review.action.kind for review in memory.reviews} == {"merge", "compact", "reinforce", "forget"}
    merge = memory.reviews.find(kind="merge")[0]
    memory.reviews.approve(merge.id)
    assert memory.show("a").id == memory.show("b").id
    memory.frames.put("mine", {"similarity": 1.0})


def test_a_rule_for_one_user_leaves_others_alone(memory, write):
    write("[[policy.rules]]\nuser = 'ana'\nthen = 'refuse'\n")

    memory.remember("mine")
    with not_approved("refused", "human", "remember", "rule 1"):
        memory.remember("hers", user="ana")


def test_the_one_who_may_answer_is_named_by_the_policy(memory, write, door):
    write("[policy]\napprovers = ['cli:*']\n")
    memory.remember("tea", key="k")
    with pytest.raises(NeedsApproval) as held:
        door("agent").forget("k")
    named, agent = door("human", "cli:local"), door("agent", "cli:helper")

    for stranger in (memory, agent):
        for answer in (stranger.reviews.approve, stranger.reviews.reject, stranger.reviews.grant):
            with pytest.raises(NotApproved) as refused:
                answer(held.value.review)
            assert refused.value.why == "approver"
    assert [event.by for event in memory.log(op="review.refuse")] == ["python:local", "cli:helper"]
    named.reviews.approve(held.value.review)
    assert memory.show("k").status == "tombstone"


def test_what_would_happen_says_which_rule_says_so(memory, write):
    write("[[policy.rules]]\naction = 'retract'\ntag = 'pinned'\nthen = 'refuse'\n")

    assert memory.check_policy("invalidate", tags=["pinned"]) == (
        "refuse", "agent may not invalidate, by rule 1 of the policy", 1,
    )  # fmt: skip
    assert memory.check_policy("retract", stated="agent").kind == "allow"
    assert memory.check_policy("retract").kind == "review"
    assert memory.check_policy("remember", trust="web").kind == "quarantine"
    assert list(memory.log(op="review")) == []

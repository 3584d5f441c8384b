"""Paths and sources under the policy: a person ends one, reopens one, or judges one, or approves that it is done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick import Memory, Moved, NeedsApproval
from tests.memory.conftest import review_of
from tests.refusals import not_approved, refuses

RULE = '[policy]\napprovers = ["cli:ana"]\n\n[[policy.rules]]\naction = ["merge", "archive", "compact", "trust"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Memory(tmp_path) as memory:
        memory.paths.branch("b")
        memory.on("b").remember("Ana prefers tea")
    (tmp_path / "tallystick.toml").write_text(RULE + 'then = "review"\n')
    return tmp_path


ENDS = {
    "merge": lambda memory: memory.paths.merge("b"),
    "abandon": lambda memory: memory.paths.abandon("b", "it led nowhere"),
    "compact": lambda memory: memory.paths.compact("b", summary="tea it is"),
    "distrust": lambda memory: memory.distrust("mcp:*"),
}


@pytest.mark.parametrize("end", ["merge", "abandon", "compact"])
@pytest.mark.parametrize(("by", "trust"), [("mcp:x", "agent"), ("cli:bob", "human"), ("cli:ana", "human")])
def test_where_a_rule_asks_for_approval_a_person_that_the_policy_names_gives_it(folder, end, by, trust):
    with Memory(folder, by=by, trust=trust) as memory:
        last = memory.ledger.verify().events
        with pytest.raises(NeedsApproval, match="'b'") as held:
            ENDS[end](memory)
        assert [event.op for event in memory.log(last)] == ["review.ask/1"]
        assert memory.paths.get("b").is_active
    with Memory(folder, by="cli:bob") as bob, not_approved("approver"):
        bob.reviews.approve(held.value.review)
    with Memory(folder, by="cli:ana") as ana:
        ana.reviews.approve(held.value.review)
        assert not ana.paths.get("b").is_active


def test_where_a_rule_asks_for_approval_of_what_cannot_be_asked_only_a_person_that_it_names_does_it(folder):
    for by, trust in (("mcp:x", "agent"), ("cli:bob", "human")):
        with Memory(folder, by=by, trust=trust) as memory:
            last = memory.ledger.verify().events
            with not_approved("refused", "distrust a source"):
                memory.distrust("mcp:*")
            assert [event.op for event in memory.log(last)] == ["review.refuse/1"]
    with Memory(folder, by="cli:ana") as memory:
        memory.distrust("mcp:*")


@pytest.mark.parametrize("end", ENDS)
def test_what_a_rule_forbids_nobody_does(folder, end):
    (folder / "tallystick.toml").write_text(RULE + 'then = "refuse"\n')
    with Memory(folder, by="cli:ana") as memory:
        with not_approved("refused", "human", end, "rule 1"):
            ENDS[end](memory)
        assert memory.paths.get("b").is_active
        assert list(memory.recall("what does Ana prefer?", path="b"))


def test_what_is_brought_over_passes_the_rules_of_where_it_is_brought_to(folder):
    (folder / "tallystick.toml").write_text(
        '[[policy.rules]]\naction = "remember"\npath = ""\ntrust = "agent"\nthen = "review"\n'
    )
    with Memory(folder, by="mcp:x", trust="agent") as memory:
        memory.paths.branch("c")
        memory.on("c").remember("Bob prefers coffee", key="bob")
        memory.on("c").remember("Cleo prefers milk", key="cleo")
        merged = memory.paths.merge("c")
        assert memory.get("bob") is None
        assert len(merged.reviews) == 2, "each of the two is asked about"
    with Memory(folder, by="cli:ana") as memory:
        for review in merged.reviews:
            memory.reviews.approve(review)
        assert memory.show("bob").text == "Bob prefers coffee"


# -- without any rule --------------------------------------------------------------------------------------------------

PROGRAMS = ["web", "tool", "agent", "import"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m") as memory:
        memory.remember("Ana prefers tea", key="tea")
        memory.paths.branch("b")
        memory.on("b").observe("we talked about the harbour")
        memory.on("b").revise("tea", "Ana prefers coffee")
        yield memory


def heard(memory: Memory, **how: int) -> list[list[str]]:
    asked = ("what does Ana prefer?", "harbour")
    return [[hit.text for hit in memory.recall(question, path="b", **how)] for question in asked]


@pytest.mark.parametrize("end", ["merge", "abandon", "compact"])
def test_a_program_ends_a_persons_path_only_with_approval_and_the_question_is_all_that_it_leaves(memory, end):
    before = heard(memory)
    for trust in PROGRAMS:
        with Memory(memory.folder, by=f"{trust}:1", trust=trust) as program:
            for _ in range(2):  # the same thing asked again is no second question
                with pytest.raises(NeedsApproval, match=f"{end} path 'b'.*{trust}"):
                    ENDS[end](program)
    assert len(memory.reviews) == len(PROGRAMS)
    review = memory.reviews.waiting()[-1]
    assert (review.action.noun, review.action.path, review.action.cell) == ("path", "b", f"path.{end}")
    assert (heard(memory), memory.paths.get("b").state) == (before, "open")
    memory.reviews.approve(review.id, digest=review.digest)
    assert memory.paths.get("b").state == {"merge": "merged", "abandon": "abandoned", "compact": "closed"}[end]


def test_a_path_that_a_program_made_is_a_persons_as_soon_as_a_person_said_something_there(memory, agent):
    for name in ("own", "shared", "told", "above"):
        agent.paths.branch(name)
        agent.on(name).remember(f"{name} it is", key=name)
    agent.paths.branch("below", "above")
    memory.on("shared").remember("I agree")
    memory.on("told").observe("they met")
    memory.on("below").remember("me too")
    agent.paths.abandon("own", "no use")
    for name in ("shared", "told", "above"):
        review_of(agent.paths.abandon, name, "no use")


def test_what_a_path_was_when_it_was_asked_and_what_a_merge_would_meet_is_what_is_ended_or_it_is_stale(memory, agent):
    asked = review_of(agent.paths.abandon, "b", "no use")
    memory.on("b").remember("wait, there is more")
    with pytest.raises(Moved, match="'b'"):
        memory.reviews.approve(asked)
    asked = review_of(agent.paths.merge, "b", conflicts="branch")
    memory.revise("tea", "Ana prefers cocoa")
    with pytest.raises(Moved, match="'b'"):
        memory.reviews.approve(asked)
    assert (memory.show("tea").text, memory.paths.get("b").state) == ("Ana prefers cocoa", "open")


@pytest.mark.parametrize("end", ["abandon", "compact"])
def test_reopening_a_path_gives_back_what_it_gave_and_the_time_between_stays_as_it_was(memory, agent, end):
    before = heard(memory)
    memory.paths.abandon("b", "no use") if end == "abandon" else memory.paths.compact("b")
    ended, then = heard(memory), memory.ledger.size - 1
    assert ended != before
    asked = review_of(agent.paths.reopen, "b", "please")
    assert memory.paths.get("b").state == {"abandon": "abandoned", "compact": "closed"}[end], "a person gave it up"
    if end == "abandon":
        memory.reviews.approve(asked)
    path = memory.paths.get("b") if end == "abandon" else memory.paths.reopen("b", "it was of use")
    assert (path.state, path.is_active, heard(memory)) == ("open", True, before)
    assert heard(memory, believed_at=then) == ended
    memory.on("b").remember("and more is said")
    memory.rebuild_index()
    with Memory(memory.folder) as again:
        assert again.paths.get("b").state == "open"
        assert [line.action for line in again.audit()][-2:] == ["reopen path", "remember"]


def test_of_a_path_that_was_closed_and_then_abandoned_the_last_is_undone_first(memory):
    memory.paths.compact("b")
    memory.paths.abandon("b", "no use")
    assert memory.paths.reopen("b", "one").state == "closed"
    assert memory.paths.reopen("b", "two").state == "open"
    with refuses("state", "'b'", "open"):
        memory.paths.reopen("b", "three")
    memory.paths.branch("c", "b")
    memory.paths.abandon("b", "no use")
    with refuses("state", "'c'", "abandoned"):
        memory.paths.reopen("c", "four")
    memory.paths.branch("d")
    memory.paths.merge("d")
    with refuses("state", "'d'", "merged"):
        memory.paths.reopen("d", "five")
    with refuses("required", "'b'", "reason"):
        memory.paths.reopen("b", " ")


def test_an_approval_of_a_path_is_granted_and_carried_out_once_by_the_one_who_asked(memory, agent, door):
    review = agent.propose(agent.action("path.abandon", "b", reason="no use"))
    approval = memory.reviews.grant(review.id)
    with not_approved("name", "'b'"):
        door("agent", "mcp:2").apply(review.action, approval)
    assert memory.paths.get("b").state == "open"
    agent.apply(review.action, approval)
    assert memory.paths.get("b").state == "abandoned"
    memory.paths.reopen("b", "again")
    with not_approved("used", "'b'"):
        agent.apply(review.action, approval)

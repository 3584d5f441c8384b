"""Paths and sources under the policy: whoever ends one, or judges one, is a person that the policy names."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepsake import Memory, NeedsApproval, NotApproved

RULE = '[policy]\napprovers = ["cli:ana"]\n\n[[policy.rules]]\naction = ["merge", "archive", "compact", "trust"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Memory(tmp_path) as memory:
        memory.paths.branch("b")
        memory.on("b").remember("Ana prefers tea")
    (tmp_path / "keepsake.toml").write_text(RULE + 'then = "review"\n')
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
        with pytest.raises(NeedsApproval, match="rule 1 of the policy|the trust of human") as held:
            ENDS[end](memory)
        assert [event.op for event in memory.log(last)] == ["review.ask/1"]
        assert memory.paths.get("b").is_active
    with Memory(folder, by="cli:bob") as bob, pytest.raises(NotApproved):
        bob.reviews.approve(held.value.review)
    with Memory(folder, by="cli:ana") as ana:
        ana.reviews.approve(held.value.review)
        assert not ana.paths.get("b").is_active


def test_where_a_rule_asks_for_approval_of_what_cannot_be_asked_only_a_person_that_it_names_does_it(folder):
    for by, trust in (("mcp:x", "agent"), ("cli:bob", "human")):
        with Memory(folder, by=by, trust=trust) as memory:
            last = memory.ledger.verify().events
            with pytest.raises(NotApproved):
                memory.distrust("mcp:*")
            assert [event.op for event in memory.log(last)] == ["review.refuse/1"]
    with Memory(folder, by="cli:ana") as memory:
        memory.distrust("mcp:*")


@pytest.mark.parametrize("end", ENDS)
def test_what_a_rule_forbids_nobody_does(folder, end):
    (folder / "keepsake.toml").write_text(RULE + 'then = "refuse"\n')
    with Memory(folder, by="cli:ana") as memory:
        with pytest.raises(NotApproved, match="rule 1"):
            ENDS[end](memory)
        assert memory.paths.get("b").is_active
        assert list(memory.recall("what does Ana prefer?", path="b"))


def test_what_is_brought_over_passes_the_rules_of_where_it_is_brought_to(folder):
    (folder / "keepsake.toml").write_text(
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

"""Paths and sources under the policy: whoever ends one, or judges one, is a person that the policy names."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepsake import Memory, NotApproved

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


@pytest.mark.parametrize("end", ENDS)
def test_where_a_rule_asks_for_a_yes_only_a_person_that_it_names_does_it(folder, end):
    for by, trust in (("mcp:x", "agent"), ("cli:bob", "human")):
        if (end, trust) == ("distrust", "agent"):
            continue  # an agent may not in any case
        with Memory(folder, by=by, trust=trust) as memory:
            last = memory.ledger.verify().events
            with pytest.raises(NotApproved, match="policy"):
                ENDS[end](memory)
            assert [event.op for event in memory.log(last)] == ["review.refuse/1"]
            assert memory.paths.get("b").is_active
    with Memory(folder, by="cli:ana") as memory:
        ENDS[end](memory)
        assert memory.paths.get("b").is_active == (end == "distrust")


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
        memory.on("b").remember("Bob prefers coffee", key="bob")
        merged = memory.paths.merge("b")
        assert memory.get("bob") is None
        assert len(merged.reviews) == 2, "each of the two is asked about"
    with Memory(folder, by="cli:ana") as memory:
        for review in merged.reviews:
            memory.reviews.approve(review)
        assert memory.show("bob").text == "Bob prefers coffee"

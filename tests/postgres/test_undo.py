"""In a database: a change is undone by whoever made it, entities are merged and split, and a move keeps all of it."""

import pytest

from tallystick import Memory
from tests.refusals import needs_approval, refuses


@pytest.fixture(autouse=True)
def key(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))


def opened(address, **how):
    return Memory(address, embedder="none", notify=lambda _: None, **how)


def texts(memory):
    return {belief.key: (belief.text, belief.about) for belief in memory.beliefs.query()}


def test_changes_are_undone_in_reverse_and_all_is_as_before(address):
    with opened(address) as memory:
        memory.remember("Ana prefers tea", key="tea", about="person-ana")
        memory.remember("Maja likes rum", key="rum", about="person-maja")
        before = texts(memory)
        memory.revise("tea", "Ana prefers coffee", tags=["taste"])
        memory.forget("rum")
        with memory.batch():
            memory.remember("a third", key="third")
            memory.revise("tea", "Ana prefers water")

        with refuses("state"):
            memory.undo(3)
        assert [memory.undo().op for _ in range(3)] == ["belief.put/1", "belief.tombstone/1", "belief.supersede/1"]
        assert texts(memory) == before
        assert memory.ledger.verify().ok
        assert memory.diff(2) == []


def test_entities_are_merged_split_and_parted(address):
    with opened(address) as memory:
        memory.remember("Ana prefers tea", key="tea", about="person-ana")
        memory.remember("Anna likes rum", key="rum", about="person-anna")
        before = texts(memory)
        merged = memory.graph.merge("person-anna", "person-ana", sure=True)

        assert {about for _, about in texts(memory).values()} == {"person-ana"}
        assert memory.entities.called("Anna") == ["person-ana"]
        memory.undo(merged.filing.seq)
        assert texts(memory) == before
        memory.graph.split("Ana", ["tea"], "Ona")
        assert memory.show("tea").about == "person-ona"
        memory.undo()
        assert texts(memory) == before


def test_an_agent_undoes_its_own_and_asks_for_a_persons_from_another_connection(address):
    with opened(address) as memory, opened(address, by="mcp:1", trust="agent") as agent:
        memory.remember("Ana prefers tea", key="tea")
        agent.remember("Bob prefers milk", key="milk")

        assert agent.undo().changes[0].key == "milk"
        with needs_approval("none"):
            agent.undo("tea")
        [asked] = memory.reviews.waiting()
        memory.reviews.approve(asked.id)
        assert texts(memory) == {}

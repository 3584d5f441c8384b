"""A correction takes the place of what it corrects; whatever is less certain stands beside it."""

import pytest

from tallystick import Memory
from tallystick.projections.index.file import IndexFile


def held(memory: Memory) -> list[str]:
    return sorted(belief.text for belief in memory.beliefs.all())


def test_another_number_supersedes_and_is_never_dropped_as_a_repetition(memory):
    old = memory.remember("the port is 5432", tags=["db"], about="project-web")
    new = memory.remember("Actually, the port is now 6543.")

    assert held(memory) == ["Actually, the port is now 6543."]
    assert (new.key, new.reason, new.tags, new.about) == (old.key, f"corrects {old.id}", ("db",), "project-web")
    assert [version.belief.text for version in memory.history(old.id)] == ["the port is 5432", new.text]
    assert [hit.text for hit in memory.recall("which port?")] == [new.text]
    assert [hit.text for hit in memory.recall("which port?", believed_at=old.seq)] == ["the port is 5432"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana likes tea", "Ana likes coffee"), ("room 1 is free", "room 2 is free"),
        ("Ana's phone is 123", "Bob's phone is 456"), ("the port is 5432", "is the port 6543?"),
        ("the colour is red", "the colour is blue"),
    ],
)  # fmt: skip
def test_what_may_both_be_true_or_is_not_certain_stands_side_by_side(memory, one, other):
    memory.remember(one)
    memory.remember(other)

    assert held(memory) == sorted([one, other])


def test_nobody_corrects_who_is_trusted_less(memory, home):
    memory.remember("the port is 5432")
    with Memory(trust="agent") as agent:
        agent.remember("the port is 6543")
        agent.remember("the port is 7654", trust="web")

    assert "the port is 5432" in held(memory)
    assert len(held(memory)) == 3


def test_a_key_of_ones_own_another_user_another_session_and_a_batch_are_left_alone(memory):
    memory.remember("the port is 5432")
    memory.remember("the port is 6001", key="mine")
    memory.remember("the port is 6002", user="ana")
    memory.remember("the port is 6003", session="s1")
    memory.remember("the port is 6004", about="project-web")
    with memory.batch():
        memory.remember("the port is 6005")

    assert held(memory) == [f"the port is {port}" for port in (5432, 6001, 6003, 6004, 6005)]


def test_what_was_forgotten_or_has_expired_is_not_corrected(memory):
    memory.forget(memory.remember("the port is 5432").id)
    memory.remember("the code is 1", expires="2020-01-01")
    new = memory.remember("the port is 6543")
    code = memory.remember("the code is 2")

    assert (new.reason, code.reason) == ("", "")


def test_a_statement_is_recorded_though_the_index_cannot_be_had(memory, monkeypatch):
    memory.remember("the port is 5432")

    def refuse(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(IndexFile, "bookmark", refuse)
    said = memory.remember("the port is 6543")

    assert said.reason == ""
    assert len(held(memory)) == 2

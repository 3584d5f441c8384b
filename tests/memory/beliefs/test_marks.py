"""What a statement says otherwise than an older one is recorded with it, and shown on both while both are believed."""

from __future__ import annotations

import pytest

from tallystick import Memory
from tallystick.records.belief import Belief
from tallystick.text.attributes import VERSION

FEE = "The ferry fee is 4.50, dogs travel free on weekdays"
RAISED = "The ferry fee is now 5.20, says the office"
PRICES = "Ticket prices: ferry fee 4.50 for groups"


@pytest.fixture
def fee(memory: Memory) -> Belief:
    return memory.remember(FEE)


def marks(memory: Memory, name: str) -> list[str]:
    return [str(mark) for mark in memory.marks(name)]


def test_a_part_that_is_outdated_is_marked_and_the_rest_stays(memory, fee):
    new = memory.remember(RAISED)

    assert [each.text for each in memory.beliefs.query()] == [FEE, RAISED]
    assert marks(memory, fee.id) == [f"outdated: 4.50 is now 5.20 ({new.id[-6:]})"]
    assert marks(memory, new.id) == [f"corrects {fee.id[-6:]}: 5.20 instead of 4.50"]
    assert [str(mark) for mark in new.answer.marks] == marks(memory, new.id)


def test_the_newer_one_comes_first_for_that_part_and_both_hits_say_so(memory, fee):
    new = memory.remember(RAISED)

    hits = memory.recall("What is the ferry fee?")

    assert [hit.id for hit in hits[:2]] == [new.id, fee.id]
    assert [mark.kind for hit in hits[:2] for mark in hit.marks] == ["corrects", "outdated"]
    assert memory.recall("Do dogs travel free?")[0].id == fee.id
    assert "outdated: 4.50 is now 5.20" in str(memory.frame("task", "What is the ferry fee?"))


def test_what_says_nothing_else_is_replaced(memory):
    memory.remember("Ferry fee: 4.50")

    new = memory.remember("Ferry fee is now 5.20")

    assert (new.answer.what, new.answer.was) == ("corrected", "Ferry fee: 4.50")
    assert [each.text for each in memory.beliefs.query()] == ["Ferry fee is now 5.20"]
    assert marks(memory, new.id) == []


def test_where_it_is_not_certain_both_stay_as_a_possible_conflict(memory):
    old = memory.remember(PRICES)
    new = memory.remember("The ferry fee becomes 5.20")
    assert marks(memory, old.id) == [f"may conflict with {new.id[-6:]}: 4.50 or 5.20"]
    assert marks(memory, new.id) == [f"may conflict with {old.id[-6:]}: 5.20 or 4.50"]


def test_a_mark_ends_with_either_of_the_two_or_with_other_words(memory, fee):
    new = memory.remember(RAISED)
    tagged = memory.revise(fee.id, tags=["harbour"])
    assert len(marks(memory, tagged.id)) == 1, "the same words"
    reworded = memory.revise(fee.id, text="Dogs travel free on weekdays", reason="the fee is another")
    assert marks(memory, reworded.id) == marks(memory, new.id) == []


@pytest.mark.parametrize("which", ["old", "new"])
def test_a_mark_ends_when_either_is_forgotten(memory, fee, which):
    new = memory.remember(RAISED)
    memory.forget((fee if which == "old" else new).id)
    assert [*memory.marks(fee.id), *memory.marks(new.id)] == []


def test_what_is_less_trusted_makes_nothing_outdated(memory, agent, fee):
    new = agent.remember(RAISED)
    assert [mark.kind for mark in memory.marks(fee.id)] == ["conflict"]
    assert [mark.kind for mark in memory.marks(new.id)] == ["conflict"]


@pytest.mark.parametrize("trust", ["tool", "web"])
def test_what_tools_and_pages_say_marks_nothing(memory, door, fee, trust):
    door(trust).remember(RAISED)
    assert memory.marks(fee.id) == []


def test_the_mark_of_a_distrusted_source_is_gone(memory, agent, fee):
    agent.remember(RAISED)
    memory.distrust(agent.sources()[0].source)
    assert memory.marks(fee.id) == []


def test_another_user_another_speaker_and_another_time_mark_nothing(memory, fee):
    for more in ({"user": "bob"}, {"agent": "Wren"}, {"valid_from": "2027-01-01"}):
        new = memory.remember(RAISED, **more)
        assert memory.marks(new.id, user=new.user) == []


def test_a_branch_is_marked_there_alone(memory, fee):
    memory.paths.branch("idea")
    new = memory.remember(RAISED, path="idea")
    assert memory.marks(fee.id) == []
    assert [mark.other for mark in memory.marks(fee.id, path="idea")] == [new.id]


def test_what_was_found_is_recorded_without_words_and_survives_every_rebuild(memory, home, fee, monkeypatch):
    new = memory.remember(RAISED)
    [found] = [event.body["compared"] for event in memory.log() if "compared" in (event.body or {})]
    assert found == {
        "rules": VERSION, "marks": [{"id": fee.id, "kind": "outdated", "was": [17, 21], "now": [21, 25]}],
    }  # fmt: skip
    before = marks(memory, fee.id), marks(memory, new.id)
    memory.close()
    monkeypatch.setattr("tallystick.text.attributes.changed", lambda *_: None)  # newer rules
    (home / ".tallystick" / "state.db").unlink()
    with Memory() as again:
        assert (marks(again, fee.id), marks(again, new.id)) == before


def test_an_erased_belief_leaves_no_mark(memory, home, fee):
    new = memory.remember(RAISED)
    memory.erase(fee.id)
    assert memory.marks(new.id) == []
    assert list(memory._folder.state.comparisons._marks.under()) == []
    memory.erase(new.id)
    memory.close()
    files = [path for path in (home / ".tallystick").rglob("*") if path.is_file()]
    assert [path for path in files if b"5.20" in path.read_bytes()] == []


def test_what_was_marked_then_is_answered_then(memory, fee):
    new = memory.remember(RAISED)
    memory.forget(new.id)
    then = memory.recall("What is the ferry fee?", believed_at=new.seq)
    assert [mark.kind for hit in then[:2] for mark in hit.marks] == ["corrects", "outdated"]
    assert memory.recall("What is the ferry fee?", believed_at=new.seq - 1)[0].marks == ()


def test_a_secret_among_the_values_is_compared_with_nothing(memory):
    memory.remember("The door code is 4417, the bell is broken")
    new = memory.remember("The door code is now 5520, password: hunter2secret")
    assert memory.masked
    assert memory.marks(new.id) == []

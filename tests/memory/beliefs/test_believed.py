"""What was held then is read from the rows of then, and says nothing that the ledger does not say."""

import os

import pytest

from tallystick import Memory
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.records.errors import Missing


def last(memory):
    return memory.status().events - 1


def texts(memory, then, **which):
    return [belief.text for belief in memory.beliefs.query(believed_at=then, **which)]


def revised(memory):
    """A belief in three versions beside another; return the last event of each state."""
    memory.remember("tea at noon", key="tea")
    places = [last(memory)]
    for text in ("tea at one", "tea at two"):
        memory.revise("tea", text)
        places.append(last(memory))
    memory.remember("the port is 5432", key="port")
    memory.forget("tea")
    return [*places, last(memory)]


def test_the_past_is_read_without_a_line_of_the_ledger(memory, monkeypatch):
    one, two, three, now = revised(memory)
    monkeypatch.setattr(FolderLedger, "events", lambda *_, **__: pytest.fail("the ledger was read"))

    assert [memory.show("tea", believed_at=then).text[-4:] for then in (one, two, three)] == ["noon", " one", " two"]
    assert memory.get("port", believed_at=three) is None
    assert (texts(memory, three), texts(memory, now)) == (["tea at two"], ["the port is 5432"])
    assert texts(memory, -1) == []
    assert [change.after and change.after.text for change in memory.diff(two, three)] == ["tea at two"]
    monkeypatch.undo()  # whoever closes the memory may read it


def test_what_is_erased_was_never_held_and_leaves_no_row(memory):
    one, *_, now = revised(memory)
    memory.erase("tea")

    assert (texts(memory, one), texts(memory, now)) == ([], ["the port is 5432"])
    assert memory.get("tea", believed_at=one) is None
    memory.close()
    found = [path.name for path in memory.folder.glob("state.db*") if b"tea at" in path.read_bytes()]
    assert found == []


def test_after_a_prune_the_past_begins_with_the_lines_that_are_left(memory, tmp_path):
    one, *_, before = revised(memory)
    memory.ledger.compact()
    memory.ledger.prune(tmp_path / "away")
    after = last(memory)
    memory.remember("later", key="later")

    with pytest.raises(Missing, match=rf" 0 to {before} .*sealed.*ledger\.prune"):
        memory.get("tea", believed_at=one)
    assert texts(memory, before) == texts(memory, after) == ["the port is 5432"]
    memory.close()
    os.remove(memory.folder / "state.db")
    with Memory(memory.folder) as again:
        assert (texts(again, after), texts(again, last(again))) == (["the port is 5432"], ["the port is 5432", "later"])
        with pytest.raises(Missing, match=r"sealed.*ledger\.prune"):
            again.get("tea", believed_at=one)


def test_rows_that_began_with_a_snapshot_leave_what_was_before_to_the_lines(memory):
    one, two, *_ = revised(memory)
    memory.ledger.compact()
    memory.close()
    os.remove(memory.folder / "state.db")
    for _ in range(2):  # made from the snapshot, and kept
        with Memory(memory.folder) as again:
            assert (texts(again, one), texts(again, two)) == (["tea at noon"], ["tea at one"])
            again.remember("later", key="later")
            assert "later" in texts(again, last(again))


def test_a_fact_of_a_tool_was_not_served_before_it_was_approved(memory, door):
    tool = door("tool")
    tool.remember("Ana lives in Oslo", triple=("Ana", "lives_in", "Oslo"))
    before = last(memory)
    [waiting] = memory.reviews.waiting()
    memory.reviews.approve(waiting.id, digest=waiting.digest)

    assert len(memory.facts.query(subject="Ana")) == len(memory.facts.query(believed_at=last(memory))) == 1
    assert memory.facts.query(believed_at=before) == []
    assert len(memory.facts.query(believed_at=before, quarantined=True)) == 1

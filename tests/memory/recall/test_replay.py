"""Receipts of real recalls: what they keep, what use does to memory, and putting the question again."""

import pytest

from tallystick import Memory, NotFound


@pytest.fixture
def filled(memory):
    for number in range(12):
        memory.observe(f"turn {number} is about boats and tea", session=str(number // 4), agent="ana", id=f"D{number}")
    memory.remember("boats need paint", key="paint")
    return memory


def test_a_receipt_is_left_only_if_asked_for_and_keeps_the_question_only_if_told(filled):
    assert filled.recall("which boats?").receipt == ""
    without = filled.recall("which boats?", receipt=True)
    kept = filled.recall("which boats?", receipt=True, keep_question=True)

    assert filled.receipts.get(without.receipt).question == ""
    receipt = filled.receipts.get(kept.receipt)
    assert receipt.question == "which boats?"
    assert [score for _, score in receipt.hits] == [hit.score for hit in kept]
    assert receipt.head[0] == filled.status().events - 1
    (filled.folder / "tallystick.toml").write_text("[recall]\nreceipts = true\n")
    with Memory() as other:
        assert other.recall("which boats?").receipt
        assert other.recall("which boats?", receipt=False).receipt == ""


@pytest.mark.parametrize(
    "how", [{}, {"k": 3}, {"session": "1"}, {"frame": "attention"}, {"words": True}, {"without": "paint"}]
)  # fmt: skip
def test_put_again_the_answer_is_the_same(filled, how):
    found = filled.recall("what do boats need?", receipt=True, keep_question=True, **how)
    again = filled.replay(found.receipt)

    assert again.is_the_same, again.differs
    assert [hit.id for hit in again.again] == [hit.id for hit in found]
    assert [hit.text for hit in again.served] == [hit.text for hit in found]
    assert any("today's" in note for note in again.notes)


def test_a_frame_leaves_a_receipt_too_and_one_without_a_question_can_be_filled_again_though_none_was_kept(filled):
    framed = filled.frame("attention", "what do boats need?", budget=60, receipt=True, keep_question=True)
    again = filled.replay(framed.receipt)
    assert again.is_the_same, again.differs
    assert [hit.id for hit in again.again] == [hit.id for hit in framed.hits] != []

    filled.remember("I am a sailor", tags=["self/constitutional"])
    again = filled.replay(filled.frame("self", receipt=True).receipt)
    assert again.is_the_same
    assert [hit.text for hit in again.again] == ["I am a sailor"]


def test_what_was_said_since_does_not_count_and_what_was_erased_is_missed(filled):
    found = filled.recall("what do boats need?", receipt=True, keep_question=True)
    filled.remember("boats need paint every single year", key="more")
    filled.revise("paint", "boats need varnish")
    assert filled.replay(found.receipt).is_the_same

    served = filled.recall("what do boats need?", receipt=True)  # the question is not kept: an erasure would take it
    filled.erase(served[0].id)
    again = filled.replay(served.receipt, question="what do boats need?")
    assert not again.is_the_same
    assert any("its words are gone" in line for line in again.differs)


def test_a_question_that_was_not_kept_must_be_given_and_another_embedder_is_noted(filled):
    found = filled.recall("which boats?", receipt=True)
    blind = filled.replay(found.receipt)

    assert blind.question == ""
    assert not blind.is_the_same
    assert "was not kept" in blind.notes[0]
    assert [hit.id for hit in blind.served] == [hit.id for hit in found]
    assert filled.replay(found.receipt, question="which boats?").is_the_same
    for wrong in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", filled.recall("which boats?", receipt=True, user="ana").receipt):
        with pytest.raises(NotFound):
            filled.replay(wrong)
    filled.receipts.flush()
    with Memory(embedder="none") as other:
        notes = other.replay(found.receipt, question="which boats?").notes
    assert any("the vectors were made by wordllama" in note for note in notes)


def test_what_is_used_is_reinforced_when_its_receipt_is_written_and_reading_alone_changes_nothing(filled):
    before = filled.status().events
    for _ in range(5):
        filled.recall("what do boats need?")
    assert filled.status().events == before

    found = filled.recall("what do boats need?", k=1, receipt=True, explain=True)
    filled.receipts.flush()
    again = filled.recall("what do boats need?", k=1, explain=True)
    assert found[0].signals["reinforcement"] == 0
    assert again[0].signals["reinforcement"] == 1


def test_an_outcome_moves_confidence_as_evidence_does(filled):
    name = filled.recall("what do boats need?", k=1)[0].id
    start = filled.recall("what do boats need?", k=1)[0].signals["confidence"]
    filled.outcome([name], 1.0)
    better = filled.recall("what do boats need?", k=1)[0].signals["confidence"]
    filled.outcome([name], 0.0, weight=5)
    worse = filled.recall("what do boats need?", k=1)[0].signals["confidence"]

    assert start == 0.7
    assert better == pytest.approx((0.7 * 4 + 1) / 5)
    assert worse == pytest.approx((0.7 * 4 + 1) / 10)
    assert filled.get(name).confidence == 0.7  # as it was stated

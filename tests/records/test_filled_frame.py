"""A frame that was filled: what it promises by itself."""

from __future__ import annotations

import orjson

from tallystick.records.recall import Dropped, FilledFrame, Hit
from tests.refusals import refuses

HIT = Hit("b1", "tea", 0.5, "says tea", "belief", "fact", "human", "", 0.7, "2026-05-03", 1, ("b1",), {"words": 1.0})


def test_a_frame_reads_as_its_text_and_tells_all_of_itself() -> None:
    dropped = Dropped("b2", "ale", "the budget is used up")
    framed = FilledFrame("task", "what?", "- [x] tea\n", (HIT,), (dropped,), 4, 10)

    assert str(framed) == "- [x] tea\n"
    assert repr(framed) == "<FilledFrame task: 1 shown, 1 dropped, 4 of 10 tokens>"
    assert repr(framed.dropped[0]) == "<Dropped b2 'ale': the budget is used up>"
    told = orjson.loads(orjson.dumps(framed.to_dict()))
    assert (told["hits"][0]["text"], told["dropped"][0]["id"], told["is_whole"]) == ("tea", "b2", True)
    assert set(told) == {
        "frame", "question", "text", "hits", "dropped", "used", "budget", "is_whole", "receipt", "more",
    }  # fmt: skip


def test_a_frame_is_whole_unless_something_guaranteed_is_said_by_nobody() -> None:
    twin = Dropped("b2", "tea", "says the same as b1", guaranteed=True, said_by="b1")
    lost = Dropped("b3", "ale", "guaranteed, and …", guaranteed=True)

    assert FilledFrame("task", "", "", (), (twin, Dropped("b4", "x", "y"))).is_whole
    assert not FilledFrame("task", "", "", (), (twin, lost)).is_whole
    assert "not all that is guaranteed" in repr(FilledFrame("task", "", "", (), (lost,)))


def test_a_text_over_its_budget_cannot_be_a_frame() -> None:
    with refuses("value", "11", "10"):
        FilledFrame("task", "", "words", used=11, budget=10)

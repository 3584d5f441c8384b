"""Asking and answering, as decisions: pure, each one group of drafts."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.decide import beliefs as belief, reviews as review
from tallystick.decide.actions import targets
from tallystick.records.event import Draft
from tallystick.records.policy import DEFAULT
from tallystick.records.review import Action
from tests.decide.desk import Desk, ops
from tests.refusals import refuses


class ReviewDesk(Desk):
    """A desk at which actions are held and approved."""

    def hold(self, kind: str, drafts: list[Draft], trust: str = "agent", **more: Any) -> str:
        action = Action(kind=kind, target=targets(drafts), trust=trust, by="mcp:1", **more)
        [asked] = self.record(review.judged(self.known, DEFAULT, action, drafts, self.draw))
        assert asked.op == "review.ask/1"
        return str(asked.body["review"])

    def approve(self, name: str, digest: str = "") -> list[Draft]:
        shown = digest or self.known.reviews.get(name).digest
        return self.record(review.approve(self.known, DEFAULT, name, shown, self.draw, reason="fine"))


@pytest.fixture
def desk() -> ReviewDesk:
    return ReviewDesk()


def test_a_yes_and_what_it_allows_are_one_group(desk: ReviewDesk) -> None:
    desk.put(key="k", text="tea")
    changes = {"text": "coffee", "tags": ("a",)}
    name = desk.hold("revise", belief.revise(desk.known, "k", changes, desk.draw), changes=changes)
    drafts = desk.approve(name)

    assert ops(drafts) == ["review.answer/1", "belief.supersede/1"]
    now = desk.known.get("k").belief()
    assert (now.text, now.tags, now.trust) == ("coffee", ("a",), "agent")
    assert desk.known.reviews.is_approved(now.id)


def test_an_answer_is_used_once(desk: ReviewDesk) -> None:
    desk.put(key="k", text="tea")
    name = desk.hold("forget", belief.tombstone(desk.known, "k"))
    desk.approve(name)
    desk.put(key="k", text="tea again")

    for again in (lambda: desk.approve(name), lambda: review.reject(desk.known, name)):
        with refuses("state", name, "approved"):
            again()
    assert desk.known.get("k").status == "active"


def test_a_change_that_changed_no_words_does_not_make_it_stale(desk: ReviewDesk) -> None:
    desk.put(key="k", text="tea")
    name = desk.hold(
        "revise", belief.revise(desk.known, "k", {"text": "coffee"}, desk.draw), changes={"text": "coffee"}
    )
    desk.record(belief.revise(desk.known, "k", {"confidence": 0.9}, desk.draw))

    desk.approve(name)
    assert (desk.known.get("k").belief().text, desk.known.get("k").confidence) == ("coffee", 0.9)


def test_an_invalidation_that_would_weaken_others_than_were_shown_is_stale(desk: ReviewDesk) -> None:
    desk.put(key="below", text="tea")
    name = desk.hold("invalidate", belief.invalidate(desk.known, "below", desk.draw, reason="no"), reason="no")
    desk.put(key="above", text="on tea", rests_on=("below",))

    [answer] = desk.approve(name)
    assert answer.body["answer"] == "stale"
    assert desk.known.get("below").status == "active"


def test_a_yes_to_an_invalidation_is_no_yes_to_the_words_of_what_it_weakens(desk: ReviewDesk) -> None:
    desk.put(key="below", text="tea")
    desk.put(key="above", text="on tea", rests_on=("below",), trust="web")
    drafts = belief.invalidate(desk.known, "below", desk.draw, reason="no")
    name = desk.hold("invalidate", drafts, reason="no")
    done = desk.approve(name)

    assert ops(done) == ["review.answer/1", "belief.invalidate/1", "belief.supersede/1", "review.ask/1"]
    assert [draft.body.get("approved") for draft in done[1:3]] == [name, None]
    weakened = desk.known.get("above").belief()
    assert weakened.is_hypothesis
    assert not desk.known.reviews.is_approved(weakened.id)
    assert desk.known.reviews.in_question(weakened.id)


def test_what_a_person_said_yes_to_is_guarded_as_a_persons(desk: ReviewDesk) -> None:
    drafts = belief.put(desk.known, {"key": "k", "text": "buy", "trust": "web"}, desk.draw)
    desk.record(drafts + review.quarantine(desk.known, DEFAULT, drafts, "web:1", desk.draw))
    [asked] = desk.known.reviews.waiting()
    assert asked.action.changes == {}, "the version says which words are meant"
    desk.approve(asked.id)

    name = desk.hold("revise", belief.revise(desk.known, "k", {"text": "sell"}, desk.draw), changes={"text": "sell"})
    assert desk.known.get("k").belief().text == "buy"
    desk.approve(name)
    assert desk.known.get("k").belief().trust == "web", "a revision is no more trusted than what it revises"


def test_a_belief_cannot_take_the_name_of_another(desk: ReviewDesk) -> None:
    mine = desk.put(key="k", text="tea")[0].body["belief"]["id"]
    desk.put(key="other", text="rum", trust="agent")

    for name in ("k", mine):
        with refuses("exists", repr(name)):
            belief.revise(desk.known, "other", {"key": name}, desk.draw)
    assert desk.known.get("k").belief().text == "tea"

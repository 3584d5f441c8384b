"""Actions, reviews and approval markers: what a yes covers, and how questions are folded from events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Event
from tallystick.records.operations import REVIEW_ANSWER, REVIEW_ASK, REVIEW_GRANT, REVIEW_REFUSE
from tallystick.records.policy import DEFAULT, Policy
from tallystick.records.review import Action, Approval, Review
from tallystick.state.state import State
from tests.refusals import refuses
from tests.state.rows import rows_of
from tests.strategies import json_objects, names, texts

FORGET = Action(kind="forget", target=("20260101-0000-c4f1a5",), reason="old", by="mcp:1", trust="agent")

actions = st.builds(
    Action,
    kind=st.sampled_from(["remember", "revise", "forget", "invalidate", "erase", "trust"]),
    user=names,
    path=texts,
    target=st.lists(names, min_size=1, max_size=3).map(tuple),
    changes=json_objects,
    reason=texts,
    by=texts,
    trust=st.sampled_from(["human", "agent", "tool", "web", "import"]),
    idempotency_key=texts,
)


class Ledger:
    """Events as they come, and the book that follows them."""

    def __init__(self) -> None:
        self.state, self.events = State(), list[Event]()

    def record(self, op: str, **body: Any) -> None:
        at = f"2026-01-01T00:00:{len(self.events):02d}.000000Z"
        self.events.append(Event(len(self.events) + 1, at, op, "", "cli:local", "", orjson.loads(orjson.dumps(body))))
        self.state.apply(self.events[-1])

    def ask(self, name: str, action: Action = FORGET) -> None:
        body = action.to_body()
        self.record(REVIEW_ASK, review=name, user=action.user, action=body, digest=action.digest, why="because")

    def rebuilt(self) -> State:
        state = State()
        for event in self.events:
            state.apply(event)
        return state


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def test_an_action_that_makes_no_sense_cannot_be_made() -> None:
    for wrong in ({"kind": "bless"}, {"kind": "forget"}, {"kind": "remember", "trust": "god"}):
        with pytest.raises(Refused):
            Action(**wrong)
    with refuses("json", "changes.data"):
        Action(kind="remember", changes={"data": {1, 2}})


@given(actions, actions)
def test_two_actions_have_the_same_digest_only_if_they_are_the_same(one: Action, other: Action) -> None:
    as_json = [orjson.dumps(each.to_body(), option=orjson.OPT_SORT_KEYS) for each in (one, other)]

    assert (one.digest == other.digest) == (as_json[0] == as_json[1])
    assert Action.from_body(orjson.loads(as_json[0])) == one


@pytest.mark.parametrize(
    "change",
    [{"kind": "erase"}, {"user": "ana"}, {"path": "p"}, {"target": ("x",)}, {"changes": {"text": "x"}}, {"reason": "x"},
     {"by": "mcp:2"}, {"trust": "tool"}, {"idempotency_key": "x"}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_a_yes_covers_one_action_and_no_other(change: dict[str, Any]) -> None:
    approval = Approval("r-1", FORGET.digest, "cli:local", "2026-01-01")

    assert approval.covers(FORGET)
    assert not approval.covers(replace(FORGET, **change))


def test_a_review_reads_well_and_tells_all_of_itself() -> None:
    review = Review(id="r-20260101-0000-aaaaaa", action=FORGET, why="because")

    assert repr(review) == "<Review r-20260101-0000-aaaaaa forget c4f1a5 by agent waiting>"
    assert review.to_dict()["action"]["target"] == ["20260101-0000-c4f1a5"]
    assert review.to_dict()["digest"] == FORGET.digest
    assert (review.approval, replace(review, status="approved").approval is not None) == (None, True)


def test_a_question_waits_until_it_is_answered_once(ledger: Ledger) -> None:
    ledger.ask("r-20260101-0000-aaaaaa")
    assert [review.status for review in ledger.state.reviews.waiting()] == ["waiting"]
    ledger.record(REVIEW_ANSWER, review="r-20260101-0000-aaaaaa", user="me", answer="approve", reason="fine")
    ledger.record(REVIEW_ANSWER, review="r-20260101-0000-aaaaaa", user="me", answer="reject")
    ledger.record(REVIEW_ANSWER, review="r-20260101-0000-bbbbbb", user="me", answer="approve")

    [review] = ledger.state.reviews.all()
    assert (review.status, review.reason, review.answered_by) == ("approved", "fine", "cli:local")
    assert review.approval is not None
    assert review.approval.covers(FORGET)
    assert ledger.state.reviews.waiting() == []


def test_a_review_answers_to_its_id_and_the_end_of_it_for_its_own_user_only(ledger: Ledger) -> None:
    ledger.ask("r-20260101-0000-aaaaaa")
    ledger.ask("r-20260101-0001-aaaaaa", replace(FORGET, user="ana"))
    reviews = ledger.state.reviews

    for name in ("r-20260101-0000-aaaaaa", "aaaaaa", "r-aaaaaa"):
        assert reviews.get(name).id == "r-20260101-0000-aaaaaa"
    for name in ("r-20260101-0001-aaaaaa", "bbbbbb", "", "r-"):
        with pytest.raises(NotFound):
            reviews.get(name)
    ledger.ask("r-20260101-0002-aaaaaa", replace(FORGET, reason="other"))
    with refuses("ambiguous", "aaaaaa", "2"):
        reviews.get("aaaaaa")


def test_what_is_handed_out_is_a_copy_and_a_rollback_takes_a_change_back(ledger: Ledger) -> None:
    ledger.ask("r-20260101-0000-aaaaaa", replace(FORGET, changes={"data": {"a": [1]}}))
    ledger.ask("r-20260101-0000-bbbbbb", Action(kind="trust", target=("v1",), trust="web"))
    ledger.state.reviews.waiting()[0].action.changes["data"]["a"].append(2)
    assert ledger.state.reviews.waiting()[0].action.changes == {"data": {"a": [1]}}
    ledger.ask("r-20260101-0000-dddddd")
    ledger.record(REVIEW_ANSWER, review="r-20260101-0000-bbbbbb", user="me", answer="approve")
    assert ledger.state.reviews.is_approved("v1")
    before = list(ledger.state.dump())
    ledger.state.begin()
    ledger.record(REVIEW_ANSWER, review="r-20260101-0000-aaaaaa", user="me", answer="reject")
    ledger.ask("r-20260101-0000-cccccc", replace(FORGET, reason="other"))
    ledger.record("erase/1", ids=["v1", "20260101-0000-c4f1a5"], lines=[])
    assert list(ledger.state.dump()) != before
    ledger.state.rollback()
    assert list(ledger.state.dump()) == before
    assert ledger.state.reviews.asked(FORGET)


def test_erasing_a_belief_takes_its_reviews_along_and_reading_anew_gives_the_same(ledger: Ledger) -> None:
    ledger.ask("r-20260101-0000-aaaaaa", Action(kind="revise", target=("v1",), changes={"text": "secret"}))
    ledger.ask("r-20260101-0000-bbbbbb", Action(kind="forget", target=("v2",)))
    ledger.record(REVIEW_ANSWER, review="r-20260101-0000-aaaaaa", user="me", answer="reject", reason="secret")
    ledger.record("erase/1", ids=["v0", "v1"], lines=[])
    assert b"secret" not in b"".join(ledger.state.dump())
    assert [review.id for review in ledger.state.reviews.all()] == ["r-20260101-0000-bbbbbb"]

    ledger.events[0] = ledger.events[0]._replace(body=None)
    ledger.events[2] = ledger.events[2]._replace(body=None)
    assert list(ledger.rebuilt().dump()) == list(ledger.state.dump())


def test_a_question_about_a_version_that_was_replaced_is_stale_and_a_yes_goes_on_to_the_next(ledger: Ledger) -> None:
    ledger.ask("r-20260101-0000-aaaaaa", Action(kind="trust", target=("v1",), trust="web"))
    ledger.record("belief.put/1", belief={"id": "v1", "key": "k", "confidence": 0.7})
    ledger.record("belief.supersede/1", belief={"id": "v2", "key": "k", "confidence": 0.7}, replaces=["v1"])
    assert ledger.state.reviews.get("r-20260101-0000-aaaaaa").status == "stale"
    assert not ledger.state.reviews.is_approved("v2")

    ledger.ask("r-20260101-0000-bbbbbb", Action(kind="trust", target=("v2",), trust="web"))
    ledger.record(REVIEW_ANSWER, review="r-20260101-0000-bbbbbb", user="me", answer="approve")
    ledger.record("belief.supersede/1", belief={"id": "v3", "key": "k", "confidence": 0.5}, replaces=["v2"])
    assert ledger.state.reviews.is_approved("v3")


def test_a_policy_with_a_hole_or_a_rule_that_is_none_cannot_be_made() -> None:
    rules = DEFAULT.table
    for wrong in (
        {}, {**rules, "erase": {"human": "allow"}}, {**rules, "erase": {**rules["erase"], "web": "quarantine"}},
        {**rules, "review.answer": {**rules["review.answer"], "agent": "review"}},
        {**rules, "config.set": {**rules["config.set"], "agent": "review-above"}},
    ):  # fmt: skip
        with refuses("value", "policy"):
            Policy(wrong)
    assert DEFAULT.free == {"human"}
    assert DEFAULT.quarantined == {"tool", "web"}


# -- a yes that is still to be carried out, and attempts that failed ---------------------------------------------------


def refusal(ledger: Ledger, why: str, review: str = "r-1") -> None:
    ledger.record(REVIEW_REFUSE, user="me", kind="forget", target=list(FORGET.target), review=review, why=why)


def test_a_yes_to_come_stands_with_its_review_until_it_ends(ledger: Ledger) -> None:
    ledger.ask("r-1")
    ledger.record(REVIEW_GRANT, review="r-1", user="me", marker="m", expires="2026-01-02")
    [review] = ledger.state.reviews.waiting()

    said_at = "2026-01-01T00:00:01.000000Z"
    assert review.approval == Approval("r-1", FORGET.digest, "cli:local", said_at, "2026-01-02", "m")
    assert ledger.state.reviews.waiting("me", "2026-01-01T12") == []
    assert ledger.state.reviews.waiting("me", "2026-01-02") == [review]
    assert Review.from_body(orjson.loads(orjson.dumps(review.to_body()))) == review
    ledger.record(REVIEW_ANSWER, review="r-1", user="me", answer="reject")
    for name in ("r-1", "r-9"):  # answered, and unknown
        ledger.record(REVIEW_GRANT, review=name, user="me", marker="late", expires="2026-01-02")
    assert ledger.state.reviews.get("r-1").marker == "m"


def test_only_a_refusal_that_says_stale_closes_a_review(ledger: Ledger) -> None:
    ledger.ask("r-1")
    for why in ("forged", "used", "expired"):
        refusal(ledger, why)
    assert ledger.state.reviews.get("r-1").status == "waiting"
    refusal(ledger, "stale")
    refusal(ledger, "stale", review="r-9")

    assert ledger.state.reviews.get("r-1").status == "stale"


def test_a_refusal_is_known_for_an_hour_and_then_forgotten(ledger: Ledger) -> None:
    refusal(ledger, "forged", review="")
    known = ("cli:local", "me", "forget", FORGET.target, "", "forged")
    reviews = ledger.state.reviews

    assert reviews.was_refused(known, "2026-01-01T00:59:59.000000Z")
    assert not reviews.was_refused(known, "2026-01-01T01:00:00.000000Z")
    assert not reviews.was_refused(("mcp:2", *known[1:]), "2026-01-01T00:00:01.000000Z")
    assert [reviews.refusals(by, "2026-01-01T00:10:00Z") for by in ("cli:local", "mcp:2")] == [1, 0]
    late = ledger.events[-1]._replace(ts="2026-01-02T00:00:00.000000Z", by="mcp:2", seq=9)
    ledger.state.apply(late)
    assert len(rows_of(ledger.state, "review.refused")) == 1


@given(st.lists(st.sampled_from(["ask", "grant", "answer", "forged", "stale", "erase"]), max_size=12))
def test_a_snapshot_holds_all_that_is_known_of_reviews(steps: list[str]) -> None:
    ledger = Ledger()
    for number, step in enumerate(steps):
        if step == "ask":
            ledger.ask(f"r-{number}", replace(FORGET, reason=str(number)))
        elif step == "grant":
            ledger.record(REVIEW_GRANT, review=f"r-{number - 1}", user="me", marker="m", expires="2026-01-02")
        elif step == "answer":
            ledger.record(REVIEW_ANSWER, review=f"r-{number - 2}", user="me", answer="approve", marker="m")
        elif step == "erase":
            ledger.record("erase/1", ids=[f"r-{number - 1}"])
        else:
            refusal(ledger, step, review=f"r-{number - 2}")
    loaded = State()
    loaded.load(ledger.state.dump())

    assert list(loaded.dump()) == list(ledger.state.dump())
    assert loaded.reviews.all() == ledger.state.reviews.all() == ledger.rebuilt().reviews.all()

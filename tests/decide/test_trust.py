"""What a statement is worth because of what it rests on, and what bears out what is in doubt."""

import pytest

from tallystick.decide import trust as decide
from tallystick.records.errors import NotFound
from tallystick.records.event import Draft, Event
from tallystick.records.operations import BELIEF_PUT
from tallystick.state.state import State


def known(*beliefs: tuple[str, str, str]) -> State:
    """A book of (id, trust, by), each saying "Tea is green."."""
    state = State()
    for seq, (name, trust, by) in enumerate(beliefs):
        body = {"belief": {"id": name, "key": name, "confidence": 0.7, "text": "Tea is green.", "trust": trust}}
        state.apply(Event(seq, f"2026-05-20T12:00:{seq:02}.000000Z", BELIEF_PUT, f"e{seq}", by, f"{seq:064x}", body))
    return state


def said(trust: str, text: str = "Tea is green.", **body) -> list[Draft]:
    belief = {"id": "n", "key": "n", "confidence": 0.7, "text": text, "trust": trust}
    return [Draft(BELIEF_PUT, {"belief": belief, **body})]


@pytest.mark.parametrize(
    ("ground", "asker", "worth"),
    [
        ("human", "human", "human"), ("agent", "human", "human"), ("import", "human", "human"),
        ("tool", "human", "tool"), ("web", "human", "web"), ("web", "agent", "web"), ("tool", "agent", "tool"),
        ("web", "tool", "web"), ("tool", "web", "web"), ("human", "web", "web"), ("human", "agent", "agent"),
    ],
)  # fmt: skip
def test_what_is_kept_out_of_recall_weighs_down_what_rests_on_it(ground, asker, worth):
    drafts = said(asker)
    drafts[0].body["belief"]["rests_on"] = ("a", "b")
    decide.lowered(known(("a", "human", "cli:me"), ("b", ground, "x:y")), drafts)
    assert drafts[0].body["belief"]["trust"] == worth


def test_a_ground_that_nobody_knows_weighs_nothing():
    assert decide.weakest(known(), ["gone"], "me") == ("human", "gone")


@pytest.mark.parametrize(
    ("trust", "by", "needed", "body", "is_borne_out"),
    [
        ("human", "cli:me", 1, {}, True), ("agent", "mcp:a", 1, {}, True), ("import", "mcp:a", 1, {}, True),
        ("human", "web:1", 1, {}, True), ("agent", "web:1", 1, {}, False), ("tool", "tool:1", 1, {}, False),
        ("web", "web:2", 1, {}, False), ("agent", "mcp:a", 0, {}, False), ("agent", "mcp:a", 2, {}, False),
        ("agent", "mcp:a", 1, {"echo": ["x"]}, False),
    ],
)  # fmt: skip
def test_who_bears_out_what_is_in_doubt(trust, by, needed, body, is_borne_out):
    state = known(("20260520-1200-000001", "web", "web:1"))
    found = decide.borne_out(state, said(trust, **body), by, lambda: needed)
    assert [draft.op for draft in found] == (["trust.corroborate/1"] if is_borne_out else [])


def test_other_words_bear_out_nothing_and_nobody_is_asked_how_many_are_needed_in_vain():
    def asked() -> int:
        raise AssertionError("nothing is in doubt")

    assert decide.borne_out(known(), said("human"), "cli:me", asked) == []
    assert decide.borne_out(known(("a", "web", "web:1")), said("human", "tea is green."), "cli:me", asked) == []


def test_saying_so_again_is_no_event_and_trusting_whom_nobody_doubts_is_refused():
    state = known()
    given = {"user": "me", "since": "", "first": 0, "reason": "r"}
    [draft] = decide.distrust(state, "mcp:a", **given)
    state.apply(Event(9, "t", draft.op, "e9", "cli:me", "", draft.body))
    assert decide.distrust(state, "mcp:a", **given) == []
    assert decide.distrust(state, "mcp:a", **{**given, "first": 3}) != []
    with pytest.raises(NotFound):
        decide.restore_trust(state, "mcp:b", user="me")
    with pytest.raises(NotFound):
        decide.restore_trust(state, "mcp:a", user="bob")

"""What may be said of the use of memories: pure decisions, each with its reason."""

from __future__ import annotations

import math

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.decide import beliefs as decide_belief, usage as decide
from tallystick.records.errors import NotFound
from tallystick.records.operations import EPISODE_FADE, OUTCOME_PUT, RECEIPT_PUT
from tallystick.records.recall import Receipt
from tests.projections.index.ledgers import MadeUp
from tests.refusals import refuses

AT = "2026-05-03T14:00:00.000000Z"


@pytest.fixture
def made() -> MadeUp:
    """A belief with two versions, told under the key `key-7`; two episodes called D1, and one of Ana's."""
    made = MadeUp()
    for step in (
        ("put", 0, "tea", "me", "human", [], 7, "cli:local", "", ""),
        ("revise", 0, "coffee", "me", 0, "active"),
        ("observe", 0, "hello", "me", "human", 1, "cli:local", "", "s1"),
        ("observe", 0, "hello again", "me", "human", 1, "cli:local", "", "s2"),
        ("observe", 0, "hers", "ana", "human", 1, "cli:local", "", ""),
    ):
        made.say(step)
    return made


def receipt(number: int, **more) -> Receipt:
    return Receipt(**{"id": f"R{number}", "at": AT, "head": (1, "x"), "hits": (("a", 0.5),), "k": 5, **more})


def versions(made: MadeUp) -> list[str]:
    return made.state.ids_of(made.state.get("key-7"))


def told(made: MadeUp, user: str = "me") -> list[str]:
    return [each.source for each in made.state.episodes.find(user, "D1")]


# -- receipts ----------------------------------------------------------------------------------------------------------


def test_receipts_without_words_are_written_together_a_user_an_event():
    drafts = decide.receipts([receipt(1), receipt(2, user="ana"), receipt(3)])

    assert [draft.op for draft in drafts] == [RECEIPT_PUT, RECEIPT_PUT]
    assert [[each["id"] for each in draft.body["receipts"]] for draft in drafts] == [["R1", "R3"], ["R2"]]
    assert decide.receipts([]) == []


def test_a_question_that_is_kept_stands_by_itself():
    drafts = decide.receipts([receipt(1), receipt(2, question="tea?"), receipt(3)])

    assert [[each["id"] for each in draft.body["receipts"]] for draft in drafts] == [["R1", "R3"], ["R2"]]


def test_no_event_grows_longer_than_a_line_of_the_ledger_holds():
    many = tuple((f"20260101-0000-{number:06x}", 0.5) for number in range(6000))
    more = tuple((f"20260101-0000-{number:06x}", 0.5) for number in range(40_000))
    drafts = decide.receipts([receipt(1, hits=many), receipt(2, hits=many), receipt(3, hits=more), receipt(4)])

    assert [[each["id"] for each in draft.body["receipts"]] for draft in drafts] == [["R1"], ["R2", "R4"]]
    assert max(len(orjson.dumps(draft.body)) for draft in drafts) < 1 << 19


# -- outcomes ----------------------------------------------------------------------------------------------------------


def test_an_outcome_counts_for_the_version_that_is_held_and_for_every_episode_of_a_name(made):
    [draft] = decide.outcome(made.state, ["key-7", "D1", versions(made)[1][-6:]], 1)

    assert draft.op == OUTCOME_PUT
    assert draft.body == {"ids": [versions(made)[1], *told(made)], "signal": 1.0, "weight": 1.0, "user": "me"}


def test_an_outcome_of_words_that_have_changed_since_says_nothing_of_the_new_ones(made):
    [draft] = decide.outcome(made.state, [versions(made)[0]], 0)

    assert draft.body["ids"] == [versions(made)[0]]


def test_an_episode_can_be_named_by_its_event(made):
    [draft] = decide.outcome(made.state, [told(made)[1]], 0.5)

    assert draft.body["ids"] == [told(made)[1]]


@pytest.mark.parametrize("name", ["nobody", "", "000000", "D2", "🫖", "\ud800"])
def test_an_outcome_of_what_is_not_known_is_refused_in_one_line(made, name):
    with pytest.raises(NotFound) as error:
        decide.outcome(made.state, ["key-7", name], 1)

    assert "\n" not in str(error.value)


def test_what_is_anothers_is_not_known(made):
    known = made.state
    for decision in (lambda name: decide.outcome(known, [name], 1), lambda name: decide.archive(known, [name])):
        with pytest.raises(NotFound):
            decision(told(made, "ana")[0])


@pytest.mark.parametrize("signal", [-0.1, 1.1, math.nan, math.inf, True, "1", None])
def test_a_signal_is_from_0_to_1(made, signal):
    with refuses("value", "signal"):
        decide.outcome(made.state, ["key-7"], signal)


@pytest.mark.parametrize("weight", [0, -1, 10.1, math.nan, math.inf, False, "1", None])
def test_a_weight_is_above_0_and_at_most_10(made, weight):
    with refuses("value", "weight"):
        decide.outcome(made.state, ["key-7"], 1, weight)


@given(st.floats(0, 1), st.floats(0, 10, exclude_min=True))
def test_every_signal_and_weight_in_bounds_is_recorded_as_it_is(signal, weight):
    made = MadeUp()
    made.say(("put", 0, "tea", "me", "human", [], 7, "cli:local", "", ""))
    [draft] = decide.outcome(made.state, ["key-7"], signal, weight)

    assert (draft.body["signal"], draft.body["weight"]) == (signal, weight)


def test_nothing_named_is_refused(made):
    with refuses("required"):
        decide.outcome(made.state, [], 1)
    with refuses("required"):
        decide.archive(made.state, [])


def test_with_a_reason_each_stands_by_itself_so_that_an_erasure_takes_no_other_along(made):
    for drafts in (
        decide.outcome(made.state, ["key-7", "D1"], 1, reason="it was right"),
        decide.archive(made.state, ["D1"], reason="small talk"),
    ):
        assert [len(draft.body["ids"]) for draft in drafts] == [1] * len(drafts)
        assert len(drafts) > 1


# -- fading ------------------------------------------------------------------------------------------------------------


def test_an_episode_fades_once(made):
    drafts = decide.archive(made.state, ["D1", told(made)[0]])
    made.record(drafts)

    assert [(draft.op, draft.body) for draft in drafts] == [(EPISODE_FADE, {"ids": told(made), "user": "me"})]
    assert decide.archive(made.state, ["D1"]) == decide.archive(made.state, [told(made)[1]]) == []


def test_a_belief_does_not_fade_but_is_forgotten(made):
    with refuses("permission", "'key-7'", "tallystick forget"):
        decide.archive(made.state, ["key-7"])


# -- erasing -----------------------------------------------------------------------------------------------------------


def emptied(made: MadeUp, *names: str) -> list[int]:
    _, speaks = decide_belief.erase(made.state, names)
    ops = (RECEIPT_PUT, OUTCOME_PUT, EPISODE_FADE)
    return [event.seq for event in made.events if speaks(event) and event.op in ops]


def test_an_erasure_empties_the_receipt_whose_question_was_kept_if_it_served_what_goes(made):
    first, last, start = versions(made)[0], told(made)[1], len(made.events)
    made.record(decide.receipts([receipt(1, question="what does she drink?", hits=(("other", 0.9), (first, 0.5)))]))
    made.record(decide.receipts([receipt(2, question="what was said?", hits=((last, 0.5),))]))
    made.record(decide.receipts([receipt(3, hits=((first, 0.5), (last, 0.4)))]))  # ids are no words

    assert emptied(made, "key-7") == [start]
    assert emptied(made, "D1") == [start + 1]


def test_an_erasure_empties_the_reasons_that_speak_of_what_goes_and_no_other(made):
    start = len(made.events)
    made.record(decide.outcome(made.state, ["key-7", "D1"], 0, reason="she drinks rum"))  # three events
    made.record(decide.outcome(made.state, ["key-7"], 0))
    made.record(decide.archive(made.state, ["D1"], reason="small talk of hers"))  # two

    assert emptied(made, "key-7") == [start]
    assert emptied(made, "D1") == [start + 1, start + 2, start + 4, start + 5]

"""What is worth promoting: what is fresh, used, or asked for by a rule; not what misled."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick.consolidate import scoring as salience
from tallystick.consolidate.scoring import WORTH, Candidate, SalienceScorer, UsualSalience, is_worth
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tests.refusals import refuses

EPISODE = Episode(content="Ana likes tea", timestamp=datetime(2026, 11, 14, tzinfo=UTC))
OLD = 24.0 * 365 * 10

counts = st.integers(0, 30) | st.integers(0, 10**30)
hours = st.floats(allow_nan=False) | st.floats(0, 1000)
candidates = st.builds(
    Candidate, episode=st.just(EPISODE), hours_ago=hours, uses=counts, good=counts, bad=counts, matches=counts,
    rules=counts,
)  # fmt: skip
scorers = st.builds(UsualSalience, floor=st.floats(0, 1), half_life=st.floats(0.001, 1e9))


def score(**known: Any) -> float:
    return UsualSalience().score(Candidate(episode=EPISODE, **known))


@given(scorers, candidates)
def test_a_score_is_a_number_from_0_to_1(scorer: UsualSalience, candidate: Candidate) -> None:
    assert 0 <= scorer.score(candidate) <= 1


@given(scorers, candidates, st.data())
def test_each_part_pulls_one_way(scorer: UsualSalience, candidate: Candidate, data: st.DataObject) -> None:
    for name, values, more_is_better in [
        ("hours_ago", hours, False), ("uses", counts, True), ("good", counts, True), ("bad", counts, False),
        ("matches", counts, True), ("rules", counts, False),
    ]:  # fmt: skip
        low, high = sorted((getattr(candidate, name), data.draw(values)))
        less, more = (scorer.score(replace(candidate, **{name: value})) for value in (low, high))
        assert less <= more * (1 + 1e-12) if more_is_better else more <= less * (1 + 1e-12)


def test_each_part_counts() -> None:
    said = {"hours_ago": 24, "uses": 2, "good": 1, "bad": 1, "matches": 1, "rules": 3}
    for better in ({"hours_ago": 0}, {"uses": 3}, {"good": 2}, {"bad": 0}, {"matches": 2}, {"rules": 2}):
        assert score(**said | better) > score(**said)


@given(rules=st.integers(1, 10**6), hours_ago=st.floats(0, 24))
def test_what_is_fresh_and_selected_by_a_rule_is_promoted(rules: int, hours_ago: float) -> None:
    assert is_worth(score(hours_ago=hours_ago, matches=1, rules=rules))


@given(rules=st.integers(0, 10**6), hours_ago=st.floats(24 * 30, 1e9))
def test_what_is_old_never_used_and_selected_by_none_is_not(rules: int, hours_ago: float) -> None:
    assert not is_worth(score(hours_ago=hours_ago, rules=rules))


def test_what_misled_again_and_again_loses_even_the_vote_of_a_rule() -> None:
    assert not is_worth(score(hours_ago=OLD, uses=5, bad=5, matches=1, rules=1))
    assert is_worth(score(hours_ago=OLD, uses=5, good=5, matches=1, rules=1))


def test_what_is_dated_ahead_is_as_fresh_as_what_is_now() -> None:
    assert score(hours_ago=-1e300) == score(hours_ago=float("-inf")) == score(hours_ago=0)


def test_a_rule_that_is_not_among_the_known_ones_counts_as_one_of_them() -> None:
    assert score(hours_ago=0, matches=1, rules=0) == score(hours_ago=0, matches=1, rules=1)


def test_the_half_life_is_when_half_of_what_can_fade_has_faded() -> None:
    scorer = UsualSalience(floor=0, half_life=10)
    fresh, later = (Candidate(episode=EPISODE, hours_ago=age, uses=3, matches=1, rules=1) for age in (0, 10))

    assert scorer.score(later) == scorer.score(fresh) / 2 == 0.25


def test_the_table_in_the_text_is_what_the_formula_gives() -> None:
    rows = re.findall(r" {2,}(0\.\d+) +(yes|no)$", salience.__doc__ or "", re.MULTILINE)
    found = [
        score(hours_ago=0, matches=1, rules=1),
        score(hours_ago=0, matches=1, rules=10**6),
        score(hours_ago=0, rules=10**6),
        score(hours_ago=OLD, matches=1, rules=10**6),
        score(hours_ago=OLD, uses=10, rules=10**6),
        score(hours_ago=OLD, rules=10**6),
        score(hours_ago=720, uses=3, bad=3, matches=1, rules=10**6),
    ]

    assert [round(each, 3) for each in found] == pytest.approx([float(number) for number, _ in rows], abs=0.00051)
    assert ["yes" if is_worth(each) else "no" for each in found] == [verdict for _, verdict in rows]


def test_a_scorer_of_ones_own_takes_the_place_of_the_usual_one() -> None:
    class Keen:
        def score(self, candidate: Candidate) -> float:
            return 1.0 if "tea" in candidate.episode.content else 0.0

    for scorer in (Keen(), UsualSalience()):
        assert isinstance(scorer, SalienceScorer)
    assert is_worth(Keen().score(Candidate(episode=EPISODE, hours_ago=OLD)))
    assert not isinstance(object(), SalienceScorer)


def test_the_threshold_is_the_least_that_is_worth_it() -> None:
    assert is_worth(WORTH)
    assert not is_worth(WORTH - 1e-9)
    assert is_worth(0.5, threshold=0.5)
    assert not is_worth(0.4, threshold=0.5)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_score_that_is_none_is_refused(wrong: float) -> None:
    with refuses("value", f"not {wrong}"):
        is_worth(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"uses": -1}, {"good": 1.5}, {"bad": True}, {"matches": "1"}, {"rules": None}, {"hours_ago": float("nan")},
     {"hours_ago": "1"}, {"hours_ago": True}],
)  # fmt: skip
def test_a_candidate_cannot_be_wrong(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=next(iter(wrong))):
        Candidate(**{"episode": EPISODE, "hours_ago": 1.0} | wrong)


@pytest.mark.parametrize(
    "wrong", [{"floor": -0.1}, {"floor": 1.1}, {"floor": float("nan")}, {"half_life": 0}, {"half_life": float("nan")}]
)
def test_a_scorer_cannot_be_wrong(wrong: dict[str, float]) -> None:
    with pytest.raises(Refused, match=next(iter(wrong))):
        UsualSalience(**wrong)

"""Confidence is earned: more trust, more witnesses, more firmness never make it less, and nothing makes it certain."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick.consolidate import confidence
from tallystick.consolidate.confidence import earned
from tallystick.records.errors import Refused
from tallystick.records.policy import RANK
from tests.strategies import confidences

trusts = st.sampled_from(sorted(RANK))
crowds = st.integers(1, 10**9) | st.integers(1, 20)
parts = st.none() | confidences
cases = st.fixed_dictionaries(
    {"trust": trusts, "witnesses": crowds, "hedged": st.booleans(), "extractor": parts, "stated": parts}
)


@given(cases)
def test_it_is_a_part_of_one_and_never_certain(case: dict[str, Any]) -> None:
    assert 0 <= earned(**case) <= 0.9


@given(cases, trusts)
def test_a_more_trusted_source_is_never_believed_less(case: dict[str, Any], other: str) -> None:
    low, high = sorted((case["trust"], other), key=RANK.__getitem__)

    assert earned(**case | {"trust": low}) <= earned(**case | {"trust": high})


@given(cases, crowds)
def test_another_witness_never_makes_it_less(case: dict[str, Any], other: int) -> None:
    few, many = sorted((case["witnesses"], other))

    assert earned(**case | {"witnesses": few}) <= earned(**case | {"witnesses": many})


@given(cases)
def test_what_is_hedged_is_never_believed_more(case: dict[str, Any]) -> None:
    assert earned(**case | {"hedged": True}) <= earned(**case | {"hedged": False})


@given(cases, confidences, st.sampled_from(["extractor", "stated"]))
def test_a_surer_reader_or_teller_never_makes_it_less(case: dict[str, Any], other: float, name: str) -> None:
    low, high = sorted((1.0 if case[name] is None else case[name], other))

    assert earned(**case | {name: low}) <= earned(**case | {name: high}) <= earned(**case | {name: None})


@pytest.mark.parametrize("trust", sorted(RANK))
def test_each_argument_counts(trust: str) -> None:
    said = earned(trust=trust, witnesses=2)

    assert earned(trust=trust, witnesses=1) < said < earned(trust=trust, witnesses=3)
    assert earned(trust=trust, witnesses=2, hedged=True) < said
    assert earned(trust=trust, witnesses=2, extractor=0.9) < said
    assert earned(trust=trust, witnesses=2, stated=0.2) < said


@pytest.mark.parametrize("trust", sorted(RANK))
def test_each_further_witness_counts_less_than_the_one_before(trust: str) -> None:
    rising = [earned(trust=trust, witnesses=count) for count in range(1, 12)]
    steps = [after - before for before, after in pairwise(rising)]

    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 4 * steps[4]


def test_the_ranks_of_trust_are_told_apart() -> None:
    human, agent, brought, tool, web = (
        earned(trust=trust, witnesses=1) for trust in ("human", "agent", "import", "tool", "web")
    )

    assert human > agent == brought > tool > web


@given(st.sampled_from(["agent", "import", "tool", "web"]), crowds)
def test_no_crowd_outweighs_one_person(trust: str, crowd: int) -> None:
    assert earned(trust=trust, witnesses=crowd) <= earned(trust="human", witnesses=1)


@given(trusts, crowds, confidences)
def test_a_teller_may_lower_its_word_and_cannot_raise_it(trust: str, crowd: int, stated: float) -> None:
    assert earned(trust=trust, witnesses=crowd, stated=stated) <= earned(trust=trust, witnesses=crowd)
    assert earned(trust=trust, witnesses=crowd, stated=1.0) == earned(trust=trust, witnesses=crowd)
    assert earned(trust=trust, witnesses=1, stated=stated) <= round(stated, 4)


def test_what_is_supposed_or_read_by_a_model_stays_where_recall_calls_it_unsure() -> None:
    assert earned(trust="human", witnesses=1, hedged=True) < 0.5
    assert earned(trust="human", witnesses=1, extractor=0.6) < 0.5
    assert earned(trust="human", witnesses=1) > 0.5


def test_the_table_in_the_text_is_what_the_formula_gives() -> None:
    rows = re.findall(r"^    (human|agent, import|tool|web) +([0-9. ]+)$", confidence.__doc__ or "", re.MULTILINE)
    assert len(rows) == 4

    for name, numbers in rows:
        trust = name.partition(",")[0]
        found = [earned(trust=trust, witnesses=count) for count in (1, 2, 3, 10, 10**12)]
        found += [earned(trust=trust, witnesses=1, hedged=True), earned(trust=trust, witnesses=1, extractor=0.6)]
        assert found == pytest.approx([float(number) for number in numbers.split()], abs=0.00051)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"trust": "god"}, "trust 'god' is not known"),
        ({"witnesses": 0}, "witnesses must be a whole number from 1 on"),
        ({"witnesses": -(10**5000)}, "witnesses must be a whole number from 1 on"),
        ({"witnesses": True}, "witnesses must be a whole number from 1 on"),
        ({"witnesses": 1.5}, "witnesses must be a whole number from 1 on"),
        ({"extractor": 1.01}, "extractor is a confidence and must be a number from 0 to 1, not 1.01"),
        ({"extractor": float("nan")}, "not float"),
        ({"stated": -0.1}, "stated is a confidence and must be a number from 0 to 1, not -0.1"),
        ({"stated": True}, "not True"),
        ({"stated": "high\n"}, "not str"),
        ({"stated": {"a": []}}, "not dict"),
        ({"stated": 10**5000}, "not int"),
        ({"stated": float("inf")}, "not float"),
    ],
)
def test_what_is_no_confidence_is_refused_in_one_line(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason) as refusal:
        earned(**{"trust": "human", "witnesses": 1} | wrong)

    assert "\n" not in str(refusal.value)

"""Confidence is earned: more trust, more witnesses, more firmness never make it less, and nothing makes it certain."""

from __future__ import annotations

import re
from collections.abc import Callable
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

ORDER: dict[str, Callable[[Any], float]] = {
    "trust": RANK.__getitem__, "witnesses": float, "hedged": lambda hedged: not hedged,
    "extractor": lambda sure: 2 if sure is None else sure, "stated": lambda sure: 2 if sure is None else sure,
}  # fmt: skip


@given(cases)
def test_it_is_a_part_of_one_and_never_certain(case: dict[str, Any]) -> None:
    assert 0 <= earned(**case) <= 0.9


@given(cases, cases, st.sampled_from(["trust", "witnesses", "hedged", "extractor", "stated"]))
def test_more_trust_witnesses_or_firmness_never_make_it_less(
    case: dict[str, Any], other: dict[str, Any], name: str
) -> None:
    less, more = sorted((case[name], other[name]), key=ORDER[name])

    assert earned(**case | {name: less}) <= earned(**case | {name: more})


@given(trusts, crowds, confidences)
def test_a_teller_may_lower_its_word_and_cannot_raise_it(trust: str, crowd: int, stated: float) -> None:
    assert earned(trust=trust, witnesses=crowd, stated=stated) <= earned(trust=trust, witnesses=crowd)
    assert earned(trust=trust, witnesses=crowd, stated=1.0) == earned(trust=trust, witnesses=crowd)
    assert earned(trust=trust, witnesses=1, stated=stated) <= round(stated, 4)


def test_the_table_in_the_text_is_what_the_formula_gives() -> None:
    rows = re.findall(r"^    (human|agent, import|tool|web) +([0-9. ]+)$", confidence.__doc__ or "", re.MULTILINE)
    assert len(rows) == 4

    for name, numbers in rows:
        for trust in name.split(", "):
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

"""Confidence is earned: more trust, more witnesses, more firmness never make it less, and nothing makes it certain."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick.consolidate import confidence
from tallystick.consolidate.confidence import earned
from tallystick.records.policy import RANK
from tests.strategies import confidences

trusts = st.sampled_from(sorted(RANK))
crowds = st.integers(1, 10**9) | st.integers(1, 20)
cases = st.fixed_dictionaries(
    {"trust": trusts, "witnesses": crowds, "hedged": st.booleans(), "extractor": confidences, "stated": confidences}
)

ORDER: dict[str, Callable[[Any], float]] = {
    "trust": RANK.__getitem__, "witnesses": float, "hedged": lambda hedged: not hedged,
    "extractor": float, "stated": float,
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

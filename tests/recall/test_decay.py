"""Use and disuse count from 0 to 1, whatever the rows say."""

import math

from hypothesis import given, strategies as st

from tallystick import Memory
from tallystick.recall.decay import recency, share

numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)


@given(numbers, numbers)
def test_nothing_is_fresher_than_fresh(decay, hours):
    assert 0.0 <= recency(decay, hours) <= 1.0


@given(st.floats(0, 1), st.floats(0, 1e6), st.floats(0, 1e6))
def test_more_hours_never_make_it_fresher(decay, some, more):
    assert recency(decay, some + more) <= recency(decay, some)


def test_a_block_fades_by_its_own_rate():
    assert recency(0.01, 0.0) == 1.0
    assert recency(0.01, 100.0) == math.exp(-1)


@given(st.integers(-5, 10**9), st.integers(-5, 10**9))
def test_a_share_is_from_0_to_1_and_nothing_of_nothing_is_nothing(count, most):
    assert 0.0 <= share(count, most) <= 1.0
    assert share(count, 0) == share(0, most) == 0.0


def test_what_was_said_again_is_told_apart_from_what_was_said_once(tmp_path):
    with Memory(tmp_path / "m") as m:
        m.remember("tea is hot")
        m.remember("tea is hot")
        m.remember("tea is green")
        signals = {hit.text: hit.signals["reinforcement"] for hit in m.recall("tea")}

    assert signals == {"tea is hot": 1.0, "tea is green": 0.0}

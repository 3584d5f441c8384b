"""What a question is narrowed to."""

import pytest
from hypothesis import given, strategies as st

from tallystick.recall.filters import Filters, bears
from tallystick.records.errors import Refused


@pytest.mark.parametrize(
    ("tag", "pattern", "is_one"),
    [
        ("self/goal", "self/%", True), ("self/goal", "self/goal", True), ("SELF/Goal", "self/%", True),
        ("myself/goal", "self/%", False), ("self/goal", "self/", False), ("a.b", "a_b", True), ("ab", "a_b", False),
        ("a(b", "a(%", True), ("", "%", True), ("x\ny", "x%", True),
    ],
)  # fmt: skip
def test_a_pattern_is_read_as_sql_reads_it(tag, pattern, is_one):
    assert bears([tag], [pattern]) is is_one


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_pattern_raises(tag, pattern):
    assert bears([tag], [pattern]) in (True, False)
    assert bears([tag], ["%"])


def test_nothing_given_passes_everything():
    assert Filters.of(None).is_empty()
    assert Filters.of({}, ()).is_empty()
    assert not Filters.of({"tags": "x"}).is_empty()
    assert not Filters.of(None, ["id"]).is_empty()


def test_moments_are_compared_as_moments():
    assert Filters.of({"since": "2026-05-03T10:00:00+02:00"}).since == "2026-05-03T08:00:00.000000Z"
    assert Filters.of({"until": "2026-05-03"}).until == "2026-05-03T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"colour": 1}, "recall filters by about, kinds"), ({"what": "facts"}, 'what is "belief"'),
        ({"trust": "god"}, "unknown trust 'god'"), ({"tags": [1]}, "tags is a text or a list"),
        ({"kinds": 5}, "kinds is a text or a list"), ({"without": "x"}, "not by 'without'"),
        ({"since": "yesterday"}, "not a time"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_one_line(given_, says):
    with pytest.raises(Refused, match=says):
        Filters.of(given_)

"""How well a moment fits what was named: in it, a little after it, or just before."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from tallystick.text.dates.find import Span, fit, spans_in

NOW = datetime(2023, 7, 20, 20, 56, tzinfo=UTC)  # a Thursday
MAY_3 = "3 May 2023"


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "moment", "value"),
    [
        (MAY_3, "2023-05-03T23:59", 1.0),
        (MAY_3, "2023-05-04", 0.8),
        (MAY_3, "2023-05-13T23:59", 0.8),
        (MAY_3, "2023-05-14", 0.3),
        (MAY_3, "2023-06-03T23:59", 0.3),
        (MAY_3, "2023-06-04", 0.0),
        (MAY_3, "2023-05-02", 0.5),
        (MAY_3, "2023-04-26", 0.5),
        (MAY_3, "2023-04-25", 0.0),
        (MAY_3, "2022-05-03", 0.0),
        ("May 2023", "2023-05-31T23:59", 1.0),
        ("May 2023", "2023-06-10", 0.4),
        ("May 2023", "2023-06-11", 0.0),
        ("May 2023", "2023-04-30", 0.0),
        ("last week", "2023-07-12", 1.0),
        ("last week", "2023-07-18", 0.7),
        ("last week", "2023-07-08", 0.4),
        ("summer 2023", "2023-07-01", 0.6),
        ("in 2023", "2023-07-01", 0.3),
        ("in 2023", "2024-01-01", 0.0),
        ("before 2023", "2019-07-01", 0.15),
        ("since Monday", "2023-07-18", 1.0),
    ],
)
def test_a_moment_fits_in_the_span_a_little_after_it_or_just_before(words, moment, value):
    assert fit(spans_in(words, NOW), at(moment)) == value


@pytest.mark.parametrize(
    ("words", "moment", "value"),
    [
        ("in May", "1999-05-20", 1.0),
        ("in May", "2031-06-05", 0.4),
        ("on 3 May", "2019-04-28", 0.5),
        ("on 31 December", "2020-01-04", 0.8),
        ("on 1 January", "2019-12-28", 0.5),
        ("in the winter", "2020-02-10", 0.6),
        ("in the winter", "2019-12-10", 0.6),
        ("on 29 February", "2021-02-28", 1.0),
        ("on 28 February", "2012-02-29", 0.8),
        ("in February", "2012-02-29", 1.0),
        ("last May", "1999-05-20", 0.0),
    ],
)
def test_where_no_year_was_said_the_same_days_of_another_year_fit(words, moment, value):
    assert fit(spans_in(words, NOW), at(moment)) == value


@given(st.integers(1, 12), st.integers(1, 28), st.integers(-9, 40), st.integers(1950, 2090))
def test_a_day_of_no_year_fits_as_the_day_of_that_year_would(month, day, away, year):
    dated = datetime(year, month, day, 12, tzinfo=UTC)
    moment, name = dated + timedelta(away), f"{dated:%B}"

    assert fit(spans_in(f"on {day} {name}", NOW), moment) == fit(spans_in(f"on {day} {name} {year}", NOW), moment)


def test_the_best_of_several_spans_counts_and_none_fit_nothing():
    assert fit(spans_in("in 2023, and on 3 May 2023", NOW), at("2023-05-03")) == 1.0
    assert fit([], NOW) == 0.0


moments = st.datetimes(timezones=st.just(UTC))
starts = st.datetimes(max_value=datetime(9900, 1, 1), timezones=st.just(UTC))


@given(starts, st.integers(1, 5_000_000), st.booleans(), moments)
def test_a_fit_is_from_0_to_1_and_the_longer_the_span_the_less_it_tells(start, minutes, any_year, moment):
    spans = [Span(start, start + timedelta(minutes=minutes * times), "between", any_year) for times in (1, 2)]

    assert all(0.0 <= fit([span], moment) <= 1.0 for span in spans)
    assert fit(spans[1:], start) <= fit(spans[:1], start)

"""The times that a text names, read from the moment it was said; and how well a moment fits them."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, strategies as st

from tallystick.text.dates.find import Span, fit, spans_in, wants_a_time
from tests.growth import assert_text_linear

NOW = datetime(2023, 7, 20, 20, 56, tzinfo=UTC)  # a Thursday

NAMED = """
today                                      2023-07-20 2023-07-21 day
yesterday                                  2023-07-19 2023-07-20 day
tomorrow                                   2023-07-21 2023-07-22 day
the day before yesterday                   2023-07-18 2023-07-19 day
the day after tomorrow                     2023-07-22 2023-07-23 day
tonight                                    2023-07-20T18 2023-07-21T06 night
this morning                               2023-07-20T00 2023-07-20T12 morning
this afternoon                             2023-07-20T12 2023-07-20T18 afternoon
last night                                 2023-07-19T18 2023-07-20T06 night
yesterday evening                          2023-07-19T18 2023-07-20T00 evening
Friday night                               2023-07-14T18 2023-07-15T06 night
the night of 3 May 2023                    2023-05-03T18 2023-05-04T06 night
3 days ago                                 2023-07-17 2023-07-18 day
a couple of days ago                       2023-07-18 2023-07-19 day
a few days ago                             2023-07-15 2023-07-19 days
the other day                              2023-07-13 2023-07-20 days
a week ago                                 2023-07-10 2023-07-17 week
two weeks ago                              2023-07-03 2023-07-10 week
two weekends ago                           2023-07-08 2023-07-10 weekend
a month ago                                2023-06-05 2023-07-06 month
one year ago                               2022-01-01 2023-01-01 year
ten years ago                              2013-01-01 2014-01-01 year
a few years back                           2018-01-01 2022-01-01 years
two hours ago                              2023-07-20T18:26 2023-07-20T19:26 hour
in two weeks                               2023-07-31 2023-08-07 week
3 days from now                            2023-07-23 2023-07-24 day
last week                                  2023-07-10 2023-07-17 week
this week                                  2023-07-17 2023-07-24 week
next week                                  2023-07-24 2023-07-31 week
the week before last                       2023-07-03 2023-07-10 week
last weekend                               2023-07-15 2023-07-17 weekend
this past weekend                          2023-07-15 2023-07-17 weekend
over the weekend                           2023-07-15 2023-07-17 weekend
Any plans for the weekend?                 2023-07-22 2023-07-24 weekend
this weekend                               2023-07-22 2023-07-24 weekend
next weekend                               2023-07-29 2023-07-31 weekend
last month                                 2023-06-01 2023-07-01 month
next month                                 2023-08-01 2023-09-01 month
last quarter                               2023-04-01 2023-07-01 quarter
last year                                  2022-01-01 2023-01-01 year
last Friday                                2023-07-14 2023-07-15 day
last Fri                                   2023-07-14 2023-07-15 day
last tues                                  2023-07-18 2023-07-19 day
on Friday                                  2023-07-14 2023-07-15 day
on Thursday                                2023-07-20 2023-07-21 day
last Thursday                              2023-07-13 2023-07-14 day
next Friday                                2023-07-21 2023-07-22 day
next Thursday                              2023-07-27 2023-07-28 day
this coming Monday                         2023-07-24 2023-07-25 day
this Friday                                2023-07-21 2023-07-22 day
I'll see you on Friday                     2023-07-21 2023-07-22 day
On Sunday I am going out                   2023-07-23 2023-07-24 day
the Friday before last                     2023-07-07 2023-07-08 day
Friday of last week                        2023-07-14 2023-07-15 day
last week on Tuesday                       2023-07-11 2023-07-12 day
last Friday on 23 January, 2022            2022-01-23 2022-01-24 day
last summer                                2022-06-01 2022-09-01 season
last spring                                2023-03-01 2023-06-01 season
this winter                                2023-12-01 2024-03-01 season
next summer                                2024-06-01 2024-09-01 season
summer 2021                                2021-06-01 2021-09-01 season
in the summer                              2023-06-01 2023-09-01 season any
in the fall                                2022-09-01 2022-12-01 season any
in May                                     2023-05-01 2023-06-01 month any
in may we left                             2023-05-01 2023-06-01 month any
December was cold                          2022-12-01 2023-01-01 month any
last May                                   2023-05-01 2023-06-01 month
last July                                  2022-07-01 2022-08-01 month
next May                                   2024-05-01 2024-06-01 month
May 2023                                   2023-05-01 2023-06-01 month
in May last year                           2022-05-01 2022-06-01 month
May '21                                    2021-05-01 2021-06-01 month
in 2022                                    2022-01-01 2023-01-01 year
the 1990s                                  1990-01-01 2000-01-01 decade
between 2019 and 2021                      2019-01-01 2022-01-01 years
Q3 2023                                    2023-07-01 2023-10-01 quarter
Q4                                         2022-10-01 2023-01-01 quarter any
3 May                                      2023-05-03 2023-05-04 day any
on 2 may we left                           2023-05-02 2023-05-03 day any
May 3rd, 2023                              2023-05-03 2023-05-04 day
the 3rd of May 2023                        2023-05-03 2023-05-04 day
the fourth of July                         2023-07-04 2023-07-05 day any
on Tuesday, 4 July                         2023-07-04 2023-07-05 day any
5 Sept. 2022                               2022-09-05 2022-09-06 day
2023-05-03                                 2023-05-03 2023-05-04 day
23/05/2023                                 2023-05-23 2023-05-24 day
05/23/2023                                 2023-05-23 2023-05-24 day
3.5.2023                                   2023-05-03 2023-05-04 day
31 June 2023                               2023-06-01 2023-07-01 month
between 3 and 5 May                        2023-05-03 2023-05-06 days any
June 9-12, 2023                            2023-06-09 2023-06-13 days
from 3 May to 5 June 2022                  2022-05-03 2022-06-06 between
from 20 December to 5 January 2022         2021-12-20 2022-01-06 between
between May and July 2023                  2023-05-01 2023-08-01 months
from November to January                   2022-11-01 2023-02-01 months any
early May                                  2023-05-01 2023-05-11 part any
mid-August 2023                            2023-08-11 2023-08-21 part
late in May 2022                           2022-05-21 2022-06-01 part
the end of last month                      2023-06-21 2023-07-01 part
the first half of September 2022           2022-09-01 2022-09-16 part
the first weekend of August 2023           2023-08-05 2023-08-07 weekend
the last Friday in June 2023               2023-06-30 2023-07-01 day
the last week of May 2023                  2023-05-25 2023-06-01 week
the first quarter of 2023                  2023-01-01 2023-04-01 quarter
the week before 9 June 2023                2023-06-02 2023-06-09 week
the week of 9 June 2023                    2023-06-05 2023-06-12 week
the weekend before 17 July                 2023-07-15 2023-07-17 weekend any
the Friday before 20 May 2023              2023-05-19 2023-05-20 day
the Saturday after October 28, 2023        2023-11-04 2023-11-05 day
the month before June 2023                 2023-05-01 2023-06-01 month
three days after 9 June 2023               2023-06-12 2023-06-13 day
two days before Christmas                  2022-12-23 2022-12-24 day any
at Christmas                               2022-12-25 2022-12-26 day any
Christmas 2021                             2021-12-25 2021-12-26 day
New Year’s Eve                             2022-12-31 2023-01-01 day any
last Thanksgiving                          2022-11-24 2022-11-25 day
since May                                  2023-05-01 2023-07-21 since
since last Friday                          2023-07-14 2023-07-21 since
since the week before 9 June 2023          2023-06-02 2023-07-21 since
after 5 May 2023                           2023-05-06 2023-07-21 since
after next week                            2023-07-31 9999-12-29 since
before June                                0001-01-03 2023-06-01 before
by July 10, 2022                           0001-01-03 2022-07-11 before
over the past two weeks                    2023-07-06 2023-07-21 weeks
in the last month                          2023-06-20 2023-07-21 months
these past few weeks                       2023-06-15 2023-07-21 weeks
the next two days                          2023-07-20 2023-07-23 days
"""

NOT_NAMED = """
I may go|we march on|march 3 miles|2 may be enough|this may be it|those who come in may not leave|May I come in?
April said hi|What did May say?|a second|wait a second|the sun is out|we last sat down|last sun of the day|a Monster
fall down|spring is here|every Friday|on Fridays|03/05/2023|2023-02-30|Cyberpunk 2077|Ana gave $3 May gave $5
1999 people
built in a day|new year's resolutions|the last week of school|We haven't talked in a few days
9999 years ago|99 Feb|day|one day|some day|may|March|Decay
monthly|June|secondly|my friend|12:30|3.14|1/2|q5|Q|in|the|last|ago|weeks|before and after
"""


def _rows():
    for row in NAMED.strip().splitlines():
        words, (start, end, grain, *any_year) = row[:43].strip(), row[43:].split()
        yield words, Span(_moment(start), _moment(end), grain, any_year == ["any"])


def _moment(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("words", "span"), list(_rows()), ids=lambda each: each if isinstance(each, str) else "")
def test_words_name_exactly_one_span(words, span):
    assert spans_in(words, NOW) == [span]


@pytest.mark.parametrize("words", [each for row in NOT_NAMED.strip().splitlines() for each in row.split("|")])
def test_words_that_only_look_like_a_time_name_none(words):
    assert spans_in(words, NOW) == []


def days_of(text, now):
    return [(f"{span.start.date()}", f"{span.end.date()}") for span in spans_in(text, now)]


@pytest.mark.parametrize(
    ("said", "words", "start", "end"),
    [
        ("2024-03-01", "yesterday", "2024-02-29", "2024-03-01"),
        ("2023-03-01", "yesterday", "2023-02-28", "2023-03-01"),
        ("2024-01-01", "yesterday", "2023-12-31", "2024-01-01"),
        ("2023-12-31", "tomorrow", "2024-01-01", "2024-01-02"),
        ("2024-03-31", "last month", "2024-02-01", "2024-03-01"),
        ("2024-03-31", "in the last month", "2024-02-29", "2024-04-01"),
        ("2023-12-15", "next month", "2024-01-01", "2024-02-01"),
        ("2024-01-15", "last month", "2023-12-01", "2024-01-01"),
        ("2023-07-17", "this week", "2023-07-17", "2023-07-24"),  # a Monday
        ("2023-07-23", "this week", "2023-07-17", "2023-07-24"),  # a Sunday
        ("2023-07-23", "last weekend", "2023-07-15", "2023-07-17"),
        ("2023-07-23", "over the weekend", "2023-07-22", "2023-07-24"),
        ("2024-01-02", "last week", "2023-12-25", "2024-01-01"),
        ("2024-01-10", "last winter", "2022-12-01", "2023-03-01"),
        ("2024-01-10", "this winter", "2023-12-01", "2024-03-01"),
        ("2023-07-20", "29 February", "2020-02-29", "2020-03-01"),
        ("2103-07-20", "29 February", "2096-02-29", "2096-03-01"),
        ("2023-02-10", "late February", "2023-02-19", "2023-03-01"),
        ("2024-02-10", "29 Feb 2024", "2024-02-29", "2024-03-01"),
        ("2024-12-25", "at Christmas", "2024-12-25", "2024-12-26"),
        ("2024-12-25", "last Christmas", "2023-12-25", "2023-12-26"),
    ],
)
def test_months_years_and_weeks_end_where_the_calendar_says(said, words, start, end):
    assert days_of(words, _moment(said)) == [(start, end)]


def test_a_text_may_name_several_times_and_the_same_one_only_once():
    text = "In May 2023 we met, then yesterday, and yesterday again; since Monday it rains."

    assert [span.grain for span in spans_in(text, NOW)] == ["month", "day", "since"]


def test_the_days_are_those_of_the_zone_in_which_it_was_said():
    early_in_tokyo = datetime(2023, 7, 21, 1, 0, tzinfo=ZoneInfo("Asia/Tokyo"))  # still the 20th in London
    (span,) = spans_in("yesterday", early_in_tokyo)

    assert span.start == datetime(2023, 7, 20, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert span.start.tzinfo is span.end.tzinfo is early_in_tokyo.tzinfo


def test_the_night_the_clocks_change_is_a_day_like_others():
    berlin = ZoneInfo("Europe/Berlin")
    (span,) = spans_in("yesterday", datetime(2023, 3, 27, 9, tzinfo=berlin))

    assert (span.start, span.end) == (datetime(2023, 3, 26, tzinfo=berlin), datetime(2023, 3, 27, tzinfo=berlin))


def test_a_moment_without_a_zone_is_taken_as_utc():
    naive = NOW.replace(tzinfo=None)

    assert spans_in("yesterday", naive) == spans_in("yesterday", NOW)
    assert fit(spans_in("today", NOW), naive) == 1.0


moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), ZoneInfo("America/New_York")]))
WORDS = """
the a in on at of since before after until by between and from to last this next past early mid late first second few
two 3 12 29 31 2023 9999 may May March Monday fri Sat week weekends days months year years ago back night morning
quarter
Christmas New Year's Eve summer fall yesterday tomorrow tonight - – , . Q3 2023-05-03 31/12/1999 couple 4th 1990s half
"""
words = st.sampled_from(WORDS.split())
oddities = st.sampled_from(["\x00", "\ud800", "\u200b", "\u202e", "ſ", "ı", "İ", "K", "٣", "مايو", "🎉"])
texts = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(words | oddities, max_size=14).map(" ".join),
    st.lists(words, max_size=8).map("\u00a0\n".join),
)


@given(texts, moments)
@example("9999 decades ago, in 9999 years, 9999 years before 1900", datetime.max.replace(tzinfo=UTC))
@example("yesterday, last year, the week before last, two weeks ago", datetime.min.replace(tzinfo=UTC))
@example("last 29 February, next May, in the summer", datetime(9999, 12, 31, tzinfo=UTC))
@example("ſeptember 3, frıday, last ſunday, 3\u0663 May, ٣ May", NOW)
def test_any_text_said_at_any_time_is_read_and_every_span_has_a_length(text, now):
    spans = spans_in(text, now)

    assert all(span.start < span.end and span.start.tzinfo is now.tzinfo for span in spans)
    assert all(span.start.astimezone(UTC) < span.end.astimezone(UTC) for span in spans)  # near no end of time
    assert 0.0 <= fit(spans, now) <= 1.0
    assert wants_a_time(text) in (True, False)
    assert spans == spans_in(text, now)


def test_days_so_near_the_ends_of_time_that_a_zone_could_not_be_reckoned_in_are_left_out():
    assert spans_in("yesterday", datetime(1, 1, 2, tzinfo=UTC)) == []
    assert spans_in("tomorrow", datetime(9999, 12, 29, tzinfo=UTC)) == []
    assert days_of("yesterday", datetime(1, 1, 4, tzinfo=UTC)) == [("0001-01-03", "0001-01-04")]


def test_letters_that_grow_when_made_small_do_not_hide_a_month():
    assert spans_in("İİİ December was cold", NOW) == spans_in("December was cold", NOW)


COUNTED = ["today", "yesterday", "tomorrow", "tonight", "last night", "3 days ago", "two weeks ago", "a few days ago"]


@given(st.sampled_from(COUNTED), st.integers(-20_000, 20_000))
def test_what_is_counted_in_days_moves_with_the_day_it_was_said(words, away):
    (span,), (moved,) = spans_in(words, NOW), spans_in(words, NOW + timedelta(away))

    assert (moved.start - span.start, moved.end - span.end) == (timedelta(away), timedelta(away))


@given(st.sampled_from(["Friday", "week", "weekend", "month", "May", "summer"]), st.integers(-20_000, 20_000))
def test_the_last_one_is_over_and_the_next_one_has_not_begun(what, away):
    now = NOW + timedelta(away)
    (last,), (following,) = spans_in(f"last {what}", now), spans_in(f"next {what}", now)

    assert last.end <= now < following.start


@given(st.dates(datetime(1900, 1, 1).date(), datetime(2099, 12, 31).date()))
def test_a_date_is_the_same_day_however_it_is_written(day):
    number, month, year = day.day, f"{day:%B}", day.year
    forms = [f"{day}", f"{number} {month} {year}", f"{month} {number}, {year}", f"the {number}th of {month[:3]} {year}"]

    assert [[span.start.date() for span in spans_in(form, NOW)] for form in forms] == [[day]] * 4


@pytest.mark.parametrize(
    "piece",
    ["may ", "on Friday ", "the last few ", "between 3 and ", "since the week before may ", "1", " ", "3/", "2023-",
     "when "],
)  # fmt: skip
@pytest.mark.sample(3)
def test_ten_times_the_text_takes_about_ten_times_as_long(piece):
    assert_text_linear(lambda text: (spans_in(text + "May", NOW), wants_a_time(text)), piece)


@pytest.mark.parametrize(
    "question",
    [
        "When did Ana move?", "when's the party", "When is it?", "Since when?", "Do you know when Bob left?",
        "When Ana left?", "How long has Ana been here?", "How many days did it take?", "What year did Bob move?",
        "Which month was it?", "What's the date of the party?", "On what day is it", "what time does it start?",
        "How long ago was that?",
    ],
)  # fmt: skip
def test_a_question_asks_for_a_time(question):
    assert wants_a_time(question)


@pytest.mark.parametrize(
    "question",
    [
        "", "Who is Ana?", "How did Bob feel when Ana left?", "When sad, what does Ana do?",
        "Which day trip did they like?", "What did Ana do yesterday?", "whenever", "How many times did she call?",
        "What time management does he use?",
    ],
)  # fmt: skip
def test_a_question_asks_for_something_else(question):
    assert not wants_a_time(question)


# How well a moment fits what was named: in it, a little after it, or just before

MAY_3 = "3 May 2023"


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
        ("in May", "1999-05-20", 1.0),  # where no year was said, the same days of another year fit
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
def test_a_moment_fits_in_the_span_a_little_after_it_or_just_before(words, moment, value):
    assert fit(spans_in(words, NOW), _moment(moment)) == value


@given(st.integers(1, 12), st.integers(1, 28), st.integers(-9, 40), st.integers(1950, 2090))
def test_a_day_of_no_year_fits_as_the_day_of_that_year_would(month, day, away, year):
    dated = datetime(year, month, day, 12, tzinfo=UTC)
    moment, name = dated + timedelta(away), f"{dated:%B}"

    assert fit(spans_in(f"on {day} {name}", NOW), moment) == fit(spans_in(f"on {day} {name} {year}", NOW), moment)


def test_the_best_of_several_spans_counts_and_none_fit_nothing():
    assert fit(spans_in("in 2023, and on 3 May 2023", NOW), _moment("2023-05-03")) == 1.0
    assert fit([], NOW) == 0.0


starts = st.datetimes(max_value=datetime(9900, 1, 1), timezones=st.just(UTC))


@given(starts, st.integers(1, 5_000_000), st.booleans(), moments)
def test_a_fit_is_from_0_to_1_and_the_longer_the_span_the_less_it_tells(start, minutes, any_year, moment):
    spans = [Span(start, start + timedelta(minutes=minutes * times), "between", any_year) for times in (1, 2)]

    assert all(0.0 <= fit([span], moment) <= 1.0 for span in spans)
    assert fit(spans[1:], start) <= fit(spans[:1], start)

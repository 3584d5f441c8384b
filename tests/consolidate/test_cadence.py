"""When a rule is due: by count, or by a clock that is off, set back, and changed twice a year."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from tallystick.consolidate.cadence import Cadence, is_due, next_after
from tallystick.records.errors import ConsolidationRuleError
from tests.growth import assert_no_slower
from tests.refusals import refuses
from tests.strategies import json_values, texts

BERLIN = ZoneInfo("Europe/Berlin")
MONDAYS = Cadence.of({"cron": "0 9 * * 1"})
BERLIN_MONDAYS = Cadence.of({"cron": "0 9 * * 1", "zone": "Europe/Berlin"})


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def berlin(text: str, *, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold)


def runs(cadence: Cadence, begin: datetime, end: datetime, *, off: tuple[str, str] = ("", "")) -> list[str]:
    """When a scheduler that looks every five minutes runs the rule, in UTC; it is `off` for a while."""
    last, now, found = begin, begin, []
    while now < end:
        if not off[0] <= now.strftime("%H:%M") < off[1] and is_due(cadence, waiting=1, last=last, now=now):
            found.append(now.astimezone(UTC).strftime("%d %H:%M"))
            last = now
        now = (now.astimezone(UTC) + timedelta(minutes=5)).astimezone(begin.tzinfo)
    return found


# -- reading ---------------------------------------------------------------------------------------------------------


def test_the_forms_of_a_cadence_are_read() -> None:
    assert Cadence.of({}) == Cadence()
    assert Cadence.of({"every": 20}) == Cadence(every=20)
    assert Cadence.of({"cron": " 0  9 * *\t1 "}) == Cadence(cron="0 9 * * 1")
    assert Cadence.of({"cron": "0 9 * * mon", "zone": "Europe/Berlin"}) == Cadence(0, "0 9 * * mon", "Europe/Berlin")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"every": 0}, "from 1 on, not 0$"),
        ({"every": -3}, "from 1 on, not -3$"),
        ({"every": True}, "from 1 on, not True$"),
        ({"every": 2.0}, "from 1 on, not 2.0$"),
        ({"every": "2"}, "from 1 on, not '2'$"),
        ({"every": None}, "from 1 on, not NoneType$"),
        ({"every": -(10**5000)}, "from 1 on, not int$"),
        ({"every": 2, "cron": "0 9 * * 1"}, "not both"),
        ({"each": 2}, "no 'each'"),
        ({3: 2}, "a cadence has no 3;"),
        ({"every": 2, "zone": "UTC"}, "zone needs cron"),
        ({"zone": "UTC"}, "zone needs cron"),
        ({"cron": 5}, "cron must be text"),
        ({"cron": ["0 9 * * 1"]}, "cron must be text"),
        ({"cron": ""}, "not five fields"),
        ({"cron": "0 9 * *"}, "not five fields: minute hour day month weekday"),
        ({"cron": "*/10 0 9 * * 1"}, "not five fields"),
        ({"cron": "@daily"}, "not five fields"),
        ({"cron": "0 9 * * ſun"}, "not five fields"),
        ({"cron": "٣ 9 * * *"}, "not five fields"),
        ({"cron": "61 9 * * 1"}, "bad minute"),
        ({"cron": "0 24 * * 1"}, "bad hour"),
        ({"cron": "0 9 0 * 1"}, "bad day-of-month"),
        ({"cron": "0 9 * 13 1"}, "bad month"),
        ({"cron": "0 9 * * 8"}, "bad day-of-week"),
        ({"cron": "*/0 9 * * 1"}, "bad minute"),
        ({"cron": "0 0 30 2 *"}, "bad day-of-month"),
        ({"cron": "0 0 31 2,4,6,9,11 *"}, "bad day-of-month"),
        ({"cron": "0 0 LW * */6"}, "never matches"),
        ({"cron": "1" + ",1" * 1_000_000 + " 9 * * 1"}, "not five fields"),
        ({"cron": "*/" + "9" * 480 + "x 9 * * 1"}, "bad minute"),
        ({"cron": "0 9 * * 1", "zone": "Mars/Olympus"}, "unknown time zone 'Mars/Olympus'"),
        ({"cron": "0 9 * * 1", "zone": "Europe"}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": ""}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": "../../etc/passwd"}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": "/etc/localtime"}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": "zone.tab"}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": "Europe/Ber\0lin"}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": "Europe/\ud800"}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": "Europe/Berlin\n"}, "unknown time zone"),
        ({"cron": "0 9 * * 1", "zone": None}, "unknown time zone NoneType"),
        ({"cron": "0 9 * * 1", "zone": 7}, "unknown time zone 7"),
        ({"cron": "0 9 * * 1", "zone": ["UTC"]}, "unknown time zone list"),
        ({"cron": "0 9 * * 1", "zone": "a/" * 100_000}, "unknown time zone"),
    ],
)
def test_anything_else_is_refused_in_one_line_when_it_is_read(given: dict[Any, Any], reason: str) -> None:
    with pytest.raises(ConsolidationRuleError, match=reason) as refusal:
        Cadence.of(given)

    assert len(str(refusal.value)) < 200
    assert str(refusal.value).isprintable()


@given(st.dictionaries(st.sampled_from(["every", "cron", "zone"]) | texts, json_values | texts, max_size=3))
def test_whatever_a_file_says_is_a_cadence_or_one_error(given: dict[str, Any]) -> None:
    said = "a cadence"
    try:
        Cadence.of(given)
    except ConsolidationRuleError as refusal:
        said = str(refusal)

    assert said.isprintable()


@pytest.mark.parametrize("line", ["59 23 29 2 1", "0 0 31 2,4,6 *", "*/59 */23 30 2 *", "0 0 29 2 MON#5", "0 0 L 2 7"])
def test_no_cron_line_takes_longer_than_one_that_never_comes_round(line: str) -> None:
    def read(cron: str) -> None:
        with suppress(ConsolidationRuleError):
            Cadence.of({"cron": cron, "zone": "Europe/Berlin"})

    assert_no_slower(lambda: read(line), lambda: read("0 0 30 2 *"), 5)


@given(st.lists(st.text("0123456789*/,-#LWMONJA", min_size=1, max_size=6), min_size=5, max_size=5))
def test_whatever_looks_like_a_cron_line_is_one_or_one_error(fields: list[str]) -> None:
    try:
        cadence = Cadence.of({"cron": " ".join(fields), "zone": "Europe/Berlin"})
    except ConsolidationRuleError:
        return
    found = next_after(cadence, at("2026-03-28 12:00"))

    assert found is not None
    assert found > at("2026-03-28 12:00")


@pytest.mark.parametrize("error", [KeyError, ValueError, IsADirectoryError, PermissionError])
def test_a_cadence_of_utc_needs_no_zones_on_the_machine(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def missing(name: str) -> None:
        raise error(name)

    monkeypatch.setattr("tallystick.consolidate.cadence.ZoneInfo", missing)

    assert next_after(MONDAYS, at("2026-11-14 12:00")) == at("2026-11-16 09:00")
    with pytest.raises(ConsolidationRuleError, match="'Europe/Berlin'"):
        next_after(BERLIN_MONDAYS, at("2026-11-14 12:00"))


# -- by count --------------------------------------------------------------------------------------------------------


@given(every=st.integers(1, 100), waiting=st.integers(0, 300))
def test_a_count_is_due_as_soon_as_so_many_wait_whatever_the_clock_says(every: int, waiting: int) -> None:
    cadence = Cadence.of({"every": every})
    for last in (None, at("2020-01-01 00:00"), at("2999-01-01 00:00")):
        assert is_due(cadence, waiting=waiting, last=last, now=at("2026-11-14 12:00")) == (waiting >= every)

    assert next_after(cadence, at("2026-11-14 12:00")) is None


def test_without_a_cadence_a_rule_runs_only_when_asked() -> None:
    assert not is_due(Cadence(), waiting=10**9, last=None, now=at("2026-11-14 12:00"))
    assert next_after(Cadence(), at("2026-11-14 12:00")) is None


# -- by the clock ----------------------------------------------------------------------------------------------------


def test_a_cron_is_due_from_its_time_on_and_not_before() -> None:
    last = at("2026-11-09 09:00:00.000001")  # a Monday
    assert next_after(MONDAYS, last) == at("2026-11-16 09:00")

    for now, due in (("2026-11-16 08:59:59.999999", False), ("2026-11-16 09:00", True), ("2026-11-20 00:00", True)):
        assert is_due(MONDAYS, waiting=1, last=last, now=at(now)) is due


def test_what_ran_on_time_is_not_due_again_at_the_same_time() -> None:
    on_time = at("2026-11-16 09:00")

    assert not is_due(MONDAYS, waiting=1, last=on_time, now=on_time)
    assert next_after(MONDAYS, on_time) == at("2026-11-23 09:00")


def test_nothing_is_due_while_nothing_waits() -> None:
    assert not is_due(MONDAYS, waiting=0, last=at("2020-01-01 00:00"), now=at("2026-11-14 12:00"))
    assert not is_due(Cadence.of({"every": 1}), waiting=0, last=None, now=at("2026-11-14 12:00"))


def test_what_comes_on_tuesday_waits_for_monday_though_no_run_was_needed_last_monday() -> None:
    tuesday, ran = at("2026-11-17 10:00"), at("2026-11-09 09:00")

    assert not is_due(MONDAYS, waiting=1, last=ran, since=tuesday, now=at("2026-11-17 10:01"))
    assert is_due(MONDAYS, waiting=1, last=ran, since=tuesday, now=at("2026-11-23 09:00"))


def test_the_later_of_two_moments_is_the_later_whatever_their_zones() -> None:
    ran, came = berlin("2026-11-16 09:50"), at("2026-11-16 09:00")  # 8:50 and 9:00

    assert not is_due(MONDAYS, waiting=1, last=ran, since=came, now=at("2026-11-16 09:10"))


def test_a_rule_that_never_ran_counts_from_when_it_was_put() -> None:
    put = at("2026-11-14 12:00")

    assert not is_due(MONDAYS, waiting=1, last=None, since=put, now=at("2026-11-16 08:59"))
    assert is_due(MONDAYS, waiting=1, last=None, since=put, now=at("2026-11-16 09:00"))
    assert is_due(MONDAYS, waiting=1, last=None, now=put)  # and where nobody knows, it is time
    assert next_after(MONDAYS, None) is None


def test_times_missed_while_the_machine_was_off_are_made_up_for_once() -> None:
    hourly = Cadence.of({"cron": "0 * * * *"})
    found = runs(hourly, at("2026-11-14 00:30"), at("2026-11-14 12:30"), off=("01:30", "10:10"))

    assert found == ["14 01:00", "14 10:10", "14 11:00", "14 12:00"]


def test_a_clock_that_was_set_back_makes_nothing_due() -> None:
    last = at("2026-11-16 09:00")

    for days in range(1, 30):
        assert not is_due(MONDAYS, waiting=5, last=last, now=last - timedelta(days=days))


def test_a_moment_without_a_zone_is_refused() -> None:
    naive = datetime(2026, 11, 14)
    for moments in ({"last": naive, "now": at("2026-11-14 12:00")}, {"last": None, "now": naive}):
        with refuses("time", naive.isoformat(), "tzinfo"):
            is_due(MONDAYS, waiting=1, **moments)
    with refuses("time", naive.isoformat(), "tzinfo"):
        next_after(MONDAYS, naive)


def test_after_the_last_year_of_the_calendar_nothing_comes() -> None:
    for cadence in (MONDAYS, BERLIN_MONDAYS, Cadence.of({"cron": "0 * * * *", "zone": "Europe/Berlin"})):
        assert next_after(cadence, datetime(9999, 12, 31, 23, 59, tzinfo=UTC)) is None


# -- when the clocks change --------------------------------------------------------------------------------------------


def test_nine_in_berlin_is_nine_in_berlin_in_summer_and_in_winter() -> None:
    assert next_after(BERLIN_MONDAYS, at("2026-07-01 00:00")) == at("2026-07-06 07:00")
    assert next_after(BERLIN_MONDAYS, at("2026-12-01 00:00")) == at("2026-12-07 08:00")


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * *", ["24 00:30", "25 00:30", "26 01:30"]),  # 2:30 comes twice on the 25th: once, in summer time
        ("0,30 2 * * *", ["24 00:00", "24 00:30", "25 00:00", "25 00:30", "26 01:00", "26 01:30"]),
        ("*/30 2 * * *", ["24 00:00", "24 00:30", "25 00:00", "25 00:30", "26 01:00", "26 01:30"]),
        ("0 2-3 * * *", ["24 00:00", "24 01:00", "25 00:00", "25 02:00", "26 01:00", "26 02:00"]),
        ("30 2 * * *", ["28 01:30", "29 01:30", "30 00:30"]),  # there is no 2:30 on the 29th: at 3:30
        ("*/30 2 * * *", ["28 01:00", "28 01:30", "29 01:00", "29 01:30", "30 00:00", "30 00:30"]),
        ("0 2,3 * * *", ["28 01:00", "28 02:00", "29 01:00", "30 00:00", "30 01:00"]),  # both at 3, once
    ],
)
def test_an_hour_that_comes_twice_is_run_once_and_one_left_out_an_hour_later(cron: str, expected: list[str]) -> None:
    cadence = Cadence.of({"cron": cron, "zone": "Europe/Berlin"})
    begin = berlin("2026-10-24 00:00" if expected[0].startswith("24") else "2026-03-28 00:00")

    assert runs(cadence, begin, begin + timedelta(days=2, hours=12)) == expected


def test_every_hour_is_every_hour_that_passes() -> None:
    hourly = Cadence.of({"cron": "0 * * * *", "zone": "Europe/Berlin"})

    assert len(runs(hourly, berlin("2026-10-25 00:00"), berlin("2026-10-26 00:00"))) == 24  # and midnight was before
    assert len(runs(hourly, berlin("2026-03-29 00:00"), berlin("2026-03-30 00:00"))) == 22


def test_a_run_made_up_for_in_the_second_of_two_equal_hours_is_not_repeated() -> None:
    nightly = Cadence.of({"cron": "30 2 * * *", "zone": "Europe/Berlin"})
    late = berlin("2026-10-25 02:10", fold=1)  # 2:30 in summer time is 40 minutes ago

    assert is_due(nightly, waiting=1, last=berlin("2026-10-24 03:00"), now=late)
    assert not is_due(nightly, waiting=1, last=late, now=late + timedelta(hours=1))
    assert next_after(nightly, late) == berlin("2026-10-26 02:30")


@given(
    cron=st.sampled_from(["30 2 * * *", "0 0 * * *", "*/7 1-3 * * *", "15 */2 * * *", "0 * * * *", "59 23 L * *"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"]),
    last=st.datetimes(datetime(2010, 1, 1), datetime(2019, 1, 1), timezones=st.just(UTC)),
)
def test_the_next_time_lies_ahead_and_following_it_never_stands_still(cron: str, zone: str, last: datetime) -> None:
    cadence = Cadence.of({"cron": cron, "zone": zone})
    for _ in range(5):
        found = next_after(cadence, last)
        assert found is not None
        assert found > last
        assert not is_due(cadence, waiting=1, last=last, now=found - timedelta(microseconds=1))
        assert is_due(cadence, waiting=1, last=last, now=found)
        last = found

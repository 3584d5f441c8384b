"""Clocks that jump: order is the order of events, and a time that a clock shows to be wrong is doubted."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, strategies as st

from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.ledger.folder.verify import verify
from tallystick.records.clock import stamp
from tallystick.records.errors import NotWritten, Refused
from tallystick.records.event import TIME, Event
from tallystick.records.times import LIMIT, Times, seconds
from tests.ledger.books import Tally, put
from tests.refusals import refuses

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)
AHEAD, BEHIND = NOON.replace(year=2036), NOON.replace(year=1970)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def written(folder: Path, *moments: datetime) -> FolderLedger:
    """A ledger with one event for each of these clocks, beside those that it writes about them."""
    clock = Clock(moments[0])
    ledger = FolderLedger(folder, Tally(), clock=clock)
    for number, clock.now in enumerate(moments):
        ledger.append([put(str(number))])
    return ledger


def doubted(ledger: FolderLedger) -> list[str]:
    """What was put by events whose times are doubted."""
    times = ledger.standing.times
    return [event.body["name"] for event in events(ledger) if times.doubts(event.seq) and "name" in (event.body or {})]


def events(ledger: FolderLedger) -> list[Event]:
    return list(ledger.events())


def at(*hours: float) -> list[datetime]:
    return [NOON + timedelta(hours=each) for each in hours]


def test_an_event_is_dated_by_the_clock_as_it_was(tmp_path: Path) -> None:
    ledger = written(tmp_path, *at(0, -3, 1))
    assert [event.ts for event in events(ledger)] == [stamp(each) for each in at(0, 0, -3, 1)]
    assert not ledger.standing.times.doubted


@pytest.mark.parametrize("behind", [BEHIND, NOON - timedelta(days=100)], ids=["1970", "hundred days"])
def test_of_two_wrong_clocks_one_after_the_other_both_are_doubted_and_nothing_else(tmp_path: Path, behind) -> None:
    before, after = at(0, 24 * 31, 24 * 62), at(24 * 93, 24 * 94, 24 * 124)
    ledger = written(tmp_path, *before, AHEAD, behind, *after)
    assert doubted(ledger) == ["3", "4"]
    again = FolderLedger(tmp_path, Tally())
    assert again.standing.times == ledger.standing.times


def test_one_write_far_ahead_is_doubted_by_the_next_and_dates_nothing_else(tmp_path: Path) -> None:
    ledger = written(tmp_path, *at(0, 1), AHEAD, AHEAD + timedelta(hours=1), *at(2, 3))
    assert doubted(ledger) == ["2", "3"]
    assert [event.op for event in events(ledger)].count(TIME) == 1
    told, after = events(ledger)[5:7]
    assert (told.op, after.body["name"], after.ts) == (TIME, "4", stamp(NOON + timedelta(hours=2)))
    [span] = ledger.standing.times.doubted
    assert (span.first, span.last, span.at) == (3, 4, stamp(NOON + timedelta(hours=1)))


@pytest.mark.parametrize("before", [at(0, 1), []])
def test_writes_of_a_machine_that_boots_in_1970_are_doubted_when_its_clock_is_right_again(
    tmp_path: Path, before: list[datetime]
) -> None:
    ledger = written(tmp_path, *before, BEHIND, BEHIND + timedelta(hours=5), *at(7, 8))
    assert doubted(ledger) == [str(len(before)), str(len(before) + 1)]
    [span] = ledger.standing.times.doubted
    assert span.at == stamp(before[-1] if before else NOON + timedelta(hours=7))


YEARS = [NOON.replace(year=year) for year in (2010, 1970, 1990, 2015)]
CLOCKS = {
    "it began far ahead": ([AHEAD, AHEAD, *at(0, 1)], "0 1"),
    "years without a write": ([*at(0, 1), NOON + timedelta(days=365), NOON + timedelta(days=3650)], ""),
    "a doubted date that comes in the course of time": (at(0, 24 * 30, *(24 * 7 * week for week in range(1, 12))), "1"),
    "wrong in several ways": ([*at(0, 1), *YEARS, *at(2, 3), AHEAD, *at(4), BEHIND, *at(5)], "2 3 4 5 8 10"),
}


@pytest.mark.parametrize("what", CLOCKS)
def test_what_a_clock_shows_to_be_wrong_is_doubted_and_nothing_else(tmp_path: Path, what: str) -> None:
    moments, names = CLOCKS[what]
    ledger = written(tmp_path, *moments)
    assert doubted(ledger) == names.split()
    if what == "it began far ahead":
        assert ledger.standing.times.at(0, stamp(AHEAD)) == stamp(NOON)


def test_a_time_names_a_place_among_the_events_that_are_believed(tmp_path: Path) -> None:
    ledger = written(tmp_path, *at(0, 1), AHEAD, *at(2, 4, 3), BEHIND, *at(6))
    last = ledger.head.seq

    def name_at(moment: datetime) -> str:
        seq = ledger.standing.times.seq_at(stamp(moment), 0, last, ledger.chain().dates())
        return str(events(ledger)[seq].body.get("name", ""))

    found = [name_at(moment) for moment in (*at(0.5, 1.5, 2.5, 3.5, 5, 7), AHEAD, NOON + timedelta(days=9000))]
    assert found == ["0", "1", "3", "5", "5", "7", "7", "7"]


def test_what_is_refused_after_a_jump_leaves_the_jump_on_record_once(tmp_path: Path) -> None:
    ledger = written(tmp_path, NOON, AHEAD)
    ledger._clock.now = NOON

    def decide() -> list[object]:
        raise Refused("no")

    for _ in range(2):
        with pytest.raises(Refused):
            ledger.write(decide)
    assert [event.op for event in events(ledger)].count(TIME) == 1
    assert doubted(ledger) == ["1"]


def test_a_crash_anywhere_in_a_jump_and_its_write_leaves_times_that_are_right(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    written(before, NOON, AHEAD).close()
    shutil.copytree(before, after)
    ledger = FolderLedger(after, Tally(), clock=Clock(NOON))
    ledger.append([put("2")])
    was, now = ((each / "events.wal").read_bytes() for each in (before, after))
    for cut in range(len(was), len(now) + 1, 97):
        torn = tmp_path / f"torn-{cut}"
        shutil.copytree(before, torn)
        (torn / "events.wal").write_bytes(now[:cut])
        again = FolderLedger(torn, Tally(), clock=Clock(NOON))
        again.append([put("3")])
        assert doubted(again) == ["1"]
        assert [event.op for event in events(again)].count(TIME) == 1
        again.close()
        assert verify(torn).ok


def test_a_disk_that_fails_at_the_jump_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = written(tmp_path, NOON, AHEAD)
    ledger._clock.now = NOON
    with monkeypatch.context() as patched:
        patched.setattr(type(ledger._disk), "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(NotWritten, match=r"events\.wal"):
            ledger.append([put("2")])
    assert not ledger.standing.times.doubted
    ledger.append([put("2")])
    assert doubted(ledger) == ["1"]


@pytest.mark.parametrize("care", ["compact", "reopen", "restore the snapshot's state"])
def test_doubts_outlive_whatever_is_done_to_the_folder(tmp_path: Path, care: str) -> None:
    ledger = written(tmp_path, NOON, AHEAD, BEHIND, *at(1, 2))
    known = ledger.standing.times.dump()
    if care == "compact":
        ledger.compact()
        known["last"] = ledger.head.ts
    elif care != "reopen":
        for number in range(60):
            ledger.append([put(f"more-{number}")])
        known = ledger.standing.times.dump()
    ledger.close()
    assert FolderLedger(tmp_path, Tally(), read_only=True).standing.times.dump() == known


@pytest.mark.parametrize(
    "moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, tzinfo=UTC), datetime(2262, 1, 1, tzinfo=UTC),
               datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)],
)  # fmt: skip
def test_a_clock_that_no_machine_can_mean_is_refused_in_one_line(tmp_path: Path, moment: datetime) -> None:
    with refuses("unavailable", moment.isoformat()[:10]):
        FolderLedger(tmp_path / "new", Tally(), clock=Clock(moment))
    ledger = written(tmp_path / "old", NOON)
    ledger._clock.now = moment
    with refuses("unavailable", moment.isoformat()[:10]):
        ledger.append([put("1")])
    ledger._clock.now = NOON
    ledger.append([put("1")])


hour = st.integers(-60, 60)
jump = st.sampled_from([24 * 365 * 10, -24 * 365 * 10, -24 * 365 * 56, 24 * 40, -24 * 40, 49, -49])


@given(st.lists(hour | jump, min_size=1, max_size=12))
@example([-1, -24, -1])  # what is dated between the clock and the limit after it
@example([-49, 26, -23])  # the same when it comes back
def test_whatever_clocks_do_the_order_holds_and_every_reader_agrees(steps: list[int]) -> None:
    moments, offset = [NOON], 0
    for step in steps:
        offset = step if abs(step) > 48 else offset + step
        moments.append(NOON + timedelta(hours=offset))
    with TemporaryDirectory() as folder:
        ledger = written(Path(folder), *moments)
        found, times = events(ledger), ledger.standing.times
        assert [event.seq for event in found] == list(range(len(found)))
        assert [event.body["name"] for event in found if event.op == "tally.put/1"] == [*map(str, range(len(moments)))]
        assert verify(Path(folder)).ok
        again = FolderLedger(Path(folder), Tally(), read_only=True).standing.times
        assert again.dump() == times.dump()
        _times_agree(found, times)


def _times_agree(found: list[Event], times: Times) -> None:
    """Believed times step back by no more than the limit, and each names the last event believed by then."""
    believed, latest = [event for event in found if not times.doubts(event.seq)], ""
    for event in believed:
        assert not latest or seconds(latest, event.ts) >= -LIMIT.total_seconds()
        latest = max(latest, event.ts)
    for event in found:
        expected = max((each.seq for each in believed if each.ts <= event.ts), default=-1)
        assert times.seq_at(event.ts, 0, len(found) - 1, lambda seq: found[seq].ts) == expected

"""Cadence of a rule: when it is due, after so many new episodes or by the clock.

    {}                                              only on demand
    {"every": 20}                                   as soon as 20 episodes are pending
    {"cron": "0 9 * * 1"}                           Mondays at 9, UTC
    {"cron": "0 9 * * 1", "zone": "Europe/Berlin"}  Mondays at 9 in Berlin, summer and winter

A cron line for a date that no calendar has is refused when it is parsed.

Nothing is due while no episode is pending. Times that passed while the machine was off are made up for once, however
many there were. On the day the clocks change, a rule that names its hours runs once for each: where an hour comes
twice, in its first; where an hour is left out, an hour later. One for every hour (`*`) follows the hours that really
pass. A clock that was set back makes nothing due: a cron waits until it is past the last run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from tallystick.records.clock import stamp
from tallystick.records.errors import ConsolidationRuleError

_FORMS = '{"every": N}, {"cron": "…"} or {}'
_FIELDS = "minute hour day month weekday"
_LONGEST, _SHOWN = 500, 60  # characters of a cron line: that may be read, that are shown
_SOME_DAY = datetime(2000, 1, 1)  # a date that does not come within fifty years of it never does
_CHANGE = timedelta(hours=3)  # no clock is changed by more


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a rule runs: `every` so many episodes, or at the times of `cron` in `zone`, or only on demand."""

    every: int = 0
    cron: str = ""
    zone: str = "UTC"

    @classmethod
    def of(cls, cadence: Mapping[str, Any]) -> Cadence:
        """Parse the `cadence` of a rule; ConsolidationRuleError, in one line, if it is anything else."""
        keys = set(cadence)
        if unknown := sorted(map(_shown, keys - {"every", "cron", "zone"})):
            raise ConsolidationRuleError(f"a cadence has no {unknown[0]}; write {_FORMS}")
        if {"every", "cron"} <= keys:
            raise ConsolidationRuleError("a cadence has every or cron, not both; drop one of them")
        if "zone" in keys and "cron" not in keys:
            raise ConsolidationRuleError("zone needs cron; an episode count has no zone")
        if "every" in keys:
            every = cadence["every"]
            if type(every) is not int or every < 1:
                raise ConsolidationRuleError(f"every must be a whole number of episodes from 1 on, not {_shown(every)}")
            return cls(every=every)
        if "cron" in keys:
            zone = cadence.get("zone", "UTC")
            _zone(zone)
            return cls(cron=_cron(cadence["cron"]), zone=zone)
        return cls()


def is_due(
    cadence: Cadence, *, waiting: int, last: datetime | None, now: datetime, since: datetime | None = None
) -> bool:
    """Whether a rule that last ran at `last` should run `now`, with `waiting` episodes it has not considered.

    A cron also counts from `since` on: when the rule was put or, better, when the oldest pending episode was recorded,
    if that is later. Then an episode that comes on Tuesday waits for the next Monday, even if last Monday there was
    nothing to run for. Without both, a cron is due: nothing shows that it ever ran.
    """
    stamp(now)
    if waiting < 1:
        return False
    if cadence.every:
        return waiting >= cadence.every
    if not cadence.cron:
        return False
    known = [moment for moment in (last, since) if moment is not None]
    if not known:
        return True
    due = next_after(cadence, max(known, key=stamp))
    return due is not None and due <= now


def next_after(cadence: Cadence, last: datetime | None) -> datetime | None:
    """The first time of a cron after `last`, in UTC; None without a cron or without a `last`."""
    if not cadence.cron or last is None:
        return None
    stamp(last)
    try:
        here: datetime = last.astimezone(_zone(cadence.zone))
        times: Iterator[datetime] = CronSim(cadence.cron, here)
        if cadence.cron.split()[1] != "*":  # from somewhat before, by local time: hours may come twice or not at all
            walls = CronSim(cadence.cron, here.replace(tzinfo=None) - _CHANGE)
            times = (wall.replace(tzinfo=here.tzinfo) for wall in walls)
        return next((moment for moment in (each.astimezone(UTC) for each in times) if moment > last), None)
    except (OverflowError, ValueError):  # the calendar ends with the year 9999
        return None


def _cron(line: object) -> str:
    """The line with single blanks. It is tried: a line that is no cron, or never matches, is an error."""
    if type(line) is not str:
        raise ConsolidationRuleError(f'cron must be text like "0 9 * * 1" ({_FIELDS}), not {_shown(line)}')
    if len(line) > _LONGEST or not line.isascii() or len(line.split()) != 5:
        raise ConsolidationRuleError(f"cron {_shown(line)} is not five fields: {_FIELDS}")
    try:
        next(CronSim(line, _SOME_DAY))
    except CronSimError as error:
        raise ConsolidationRuleError(f"cron {_shown(line)}: {str(error).lower()}; the fields are {_FIELDS}") from None
    except StopIteration:
        raise ConsolidationRuleError(f"cron {_shown(line)} never matches: no calendar has such a day") from None
    return " ".join(line.split())


def _zone(name: object) -> tzinfo:
    if name == "UTC":
        return UTC  # also where no zones are installed
    if type(name) is str:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):  # not there; no name, or no file, of a zone; a folder of zones
            pass
    raise ConsolidationRuleError(f"unknown time zone {_shown(name)}; write one like Europe/Berlin or UTC")


def _shown(value: object) -> str:
    """A value from a file, fit for a line."""
    if isinstance(value, str):
        return ascii(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "...")
    is_short = isinstance(value, int | float) and abs(value) < 1e9
    return str(value) if is_short else type(value).__name__

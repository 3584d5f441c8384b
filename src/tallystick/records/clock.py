"""Time as tallystick writes it: UTC, microseconds, a Z. Such texts sort as the moments they name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import orjson

from tallystick.records.errors import Refused

Clock = Callable[[], datetime]

_FIRST, _END = 1970, 2262  # machines count from 1970, and their nanoseconds end in 2262
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


def system_clock() -> datetime:
    """The time of this machine. Refused, if its clock is not set."""
    try:
        moment = datetime.now(UTC)
    except (OverflowError, ValueError, OSError):
        raise Refused("this machine's clock has no valid date; set it, then try again", "unavailable") from None
    if not _FIRST <= moment.year < _END:
        raise _not_set(stamp(moment))
    return moment


def read_clock(clock: Clock) -> str:
    """The time of a clock, as the ledger writes it. Refused, if it is not set."""
    ts = stamp(clock())
    if not _FIRST <= int(ts[:4]) < _END:
        raise _not_set(ts)
    return ts


def _not_set(ts: str) -> Refused:
    return Refused(f"the clock says {ts[:19]}Z, which cannot be right; set it, then try again", "unavailable")


def stamp(moment: datetime) -> str:
    """A time as the ledger writes it. A naive datetime is refused."""
    if moment.tzinfo is None:
        raise Refused(
            f"{moment.isoformat()} has no time zone: add one, for example datetime(..., tzinfo=timezone.utc)", "time"
        )
    if moment.tzinfo is not UTC:
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            raise Refused(f"{moment.isoformat()} is before the year 1 or after the year 9999 in UTC", "time") from None
    if type(moment) is not datetime:
        return moment.isoformat(timespec="microseconds")[:26] + "Z"
    text = orjson.dumps(moment, option=orjson.OPT_UTC_Z).decode()  # in a fifth of the time; it leaves out a zero
    return text[1:-1] if moment.microsecond else f"{text[1:20]}.000000Z"


def parse_moment(text: str) -> str:
    """A date, or a date and time with a zone (`Z`, `+02:00`), as the ledger writes it. A date is its midnight, UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"not a time: {text!r}; write it like 2026-05-03 or 2026-05-03T14:00:00Z", "time") from None
    if moment.tzinfo is None and _DAY.match(text):
        moment = moment.replace(tzinfo=UTC)
    return stamp(moment)


def just_before(ts: str) -> str:
    """The last moment before a time, both as the ledger writes them; at the beginning of the calendar, that time."""
    try:
        return stamp(datetime.fromisoformat(ts) - timedelta(microseconds=1))
    except OverflowError:
        return ts


def comparable(said: str) -> str:
    """A date or time as text that sorts: a time in UTC, a date like 2026-05-03."""
    try:
        return date.fromisoformat(said).isoformat() if said else ""
    except ValueError:
        return parse_moment(said)


def held_time(said: str) -> str:
    """A belief's date or time as text that sorts. Without a zone it is UTC; nothing is refused here."""
    try:
        return comparable(said)
    except Refused:
        return datetime.fromisoformat(said).replace(tzinfo=UTC).isoformat(timespec="microseconds")[:26] + "Z"


def said_time(value: date | str | None) -> str:
    """A caller's date or time as a belief holds it. A date stays a date."""
    if isinstance(value, datetime):
        return stamp(value)
    return value.isoformat() if isinstance(value, date) else value or ""

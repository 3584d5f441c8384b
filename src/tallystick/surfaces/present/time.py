"""Times, days and numbers as people read and write them.

Times are in the zone of this machine. JSON keeps them as they are recorded, in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from tallystick.records.clock import system_clock
from tallystick.records.errors import Refused
from tallystick.surfaces.present.text import shown

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")

_STEPS = ((60, 1, "second"), (3600, 60, "minute"), (86400, 3600, "hour"), (30 * 86400, 86400, "day"))
_SHORT_STEPS = ((3600, 60, "min"), (86400, 3600, "h"), (7 * 86400, 86400, "d"))


def when(ts: str) -> str:
    """A recorded time, to the second."""
    moment = _parse(ts)
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S") if moment else shown(ts)


def ago(ts: str) -> str:
    """The time since then, if it is recent; else the day."""
    moment = _parse(ts)
    if moment is None:
        return shown(ts)
    seconds = int((system_clock() - moment).total_seconds())
    if -5 < seconds < 5:
        return "just now"
    for below, unit, name in _STEPS:
        if 0 <= seconds < below:
            return count(seconds // unit, name) + " ago"
    return f"on {moment.astimezone():%Y-%m-%d}"


def lately(ts: str) -> str:
    """The time since then, as short as possible: `just now`, `3 h ago`, `3 May`, `3 May 2024`."""
    moment = _parse(ts)
    if moment is None:
        return shown(ts)
    seconds = int((system_clock() - moment).total_seconds())
    if -5 < seconds < 60:
        return "just now"
    for below, unit, name in _SHORT_STEPS:
        if 0 <= seconds < below:
            return f"{seconds // unit} {name} ago"
    year = "" if moment.year == system_clock().astimezone().year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year}"


def read_moment(text: str) -> int | datetime:
    """An event's number, a date, or a time; in this machine's zone unless it names another."""
    if text.isascii() and text.isdigit():
        return int(text)
    return read_time(text, "a moment", "an event's number, a date (2026-05-03) or a time (2026-05-03T14:00)")


def count(number: int, noun: str) -> str:
    """`1 event`, `1,200 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts(numbers: Mapping[str, int]) -> str:
    """`1 profile, 3 nodes and 2 edges` for plural nouns; those with no number are left out."""
    parts = [count(number, noun.removesuffix("s")) for noun, number in numbers.items() if number]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else "nothing"


def size(number: int) -> str:
    """`912 bytes`, `14.2 MB`."""
    if number < 1000:
        return count(number, "byte")
    scaled = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        scaled /= 1000
        if scaled < 999.95 or unit == "TB":
            break
    return f"{scaled:,.1f} {unit}"


def their(number: int) -> str:
    return "its" if number == 1 else "their"


def _parse(ts: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(ts)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone()
    except (ValueError, OverflowError):
        return None


def read_time(text: str, what: str = "a date", form: str = "it like 2026-05-03 or 2026-05-03T14:00") -> datetime:
    """A date or a time; in this machine's zone unless it names another."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise Refused(f"not {what}: {text!r}; write {form}", "time") from None


def read_date(text: str) -> date | datetime:
    """A date or a time; a date stays a date: what is true in the world is often known to the day."""
    moment = read_time(text)
    return date.fromisoformat(text) if _DAY.match(text) else moment


def day_of(ts: str) -> date:
    """The day of a recorded time."""
    return datetime.fromisoformat(ts).astimezone().date()


def day_name(day: date) -> str:
    """`Today`, `Yesterday`, `Sunday, 3 May 2026`."""
    today = system_clock().astimezone().date()
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return f"{day:%A}, {day.day} {day:%B} {day.year}"

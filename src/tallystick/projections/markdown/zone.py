"""Times on a page: to the second, on the user's clock.

The zone of a page is its field `zone` (`Europe/Berlin`, `"+08:00"`), else the offset of `created`, else that of
`updated`. A time in a heading names no offset, unless the clock shows it twice: the hour that is repeated in autumn is
written with its offset the second time. So every time that we write is read as the moment it was.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from tallystick.records.errors import Refused

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)\Z")
_LONGEST = 40  # characters of a time that anybody writes


def zone_named(name: str) -> tzinfo | None:
    """The zone of that name or offset; None, if this machine has none."""
    if name in ("UTC", "Z"):
        return UTC
    if offset := _OFFSET.match(name):
        sign, hours, minutes = offset.groups()
        ahead = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-ahead if sign == "-" else ahead) if ahead < timedelta(days=1) else None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not there; no name, or no file, of a zone; a folder of zones
        return None


def is_fixed(zone: tzinfo) -> bool:
    """True if an offset says all of it."""
    return isinstance(zone, timezone)


def zone_name(zone: tzinfo) -> str:
    """The name of a zone on a page: `Europe/Berlin`, `+08:00` or `UTC`."""
    name = zone.key if isinstance(zone, ZoneInfo) else str(zone).removeprefix("UTC") or "UTC"
    if not name or zone_named(name) is None:
        raise Refused(
            f"a page cannot name the zone {name!r}; use ZoneInfo('Europe/Berlin') or an offset in minutes", "time"
        )
    return name


def moment(text: str, zone: tzinfo) -> datetime | None:
    """The moment in a text, in `zone` unless it has an offset; None, if it is not a time.

    It has an offset and no zone: an hour that a clock shows twice equals no other time in Python.
    """
    if len(text) > _LONGEST:
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    if not 1 < read.year < 9999:  # at the very ends of the calendar some zones have no such time
        return None
    if read.tzinfo is not None:
        return read
    read = read.replace(tzinfo=zone)
    return read if is_fixed(zone) else read.replace(tzinfo=timezone(read.utcoffset() or timedelta(0)))


def on_the_clock(at: datetime, zone: tzinfo | None) -> str:
    """`at` as a heading has it: without an offset wherever it is the same moment in the page's zone."""
    if zone is None:
        return at.isoformat(timespec="seconds")
    local = at.astimezone(zone)
    if is_fixed(zone) and 1 < local.year < 9999:  # no hour of it comes twice
        return local.isoformat(timespec="seconds")[: len("2026-05-03T14:00:00")]
    local = local.replace(microsecond=0)
    plain = local.replace(tzinfo=None).isoformat()
    read = moment(plain, zone)
    is_same = read is not None and read.astimezone(UTC) == local.astimezone(UTC)
    return plain if is_same else local.isoformat()


def in_full(at: datetime, zone: tzinfo) -> str:
    """`at` as the front matter has it: with its offset."""
    return at.astimezone(zone).isoformat(timespec="seconds")


def checked_moment(at: datetime, what: str) -> datetime:
    """`at`, if every zone can show it; else refused."""
    if at.tzinfo is None:
        raise Refused(f"{what} {at.isoformat()} has no time zone; add one, for example tzinfo=timezone.utc", "time")
    if not 1 < at.year < 9999:
        raise Refused(f"{what} {at.isoformat()} is out of range; use a year from 2 to 9998")
    return at

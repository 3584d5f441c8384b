"""Days as people name them, in the zone of this machine."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from tallystick.records.clock import system_clock

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


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
    return f"{_DAYS[day.weekday()]}, {day.day} {_MONTHS[day.month - 1]} {day.year}"

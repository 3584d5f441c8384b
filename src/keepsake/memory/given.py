"""What a caller gave, as keepsake takes it, and where it says what it did by itself."""

from __future__ import annotations

from datetime import date, datetime

from keepsake.records.clock import stamp


def log(what: str) -> None:
    import logging

    logging.getLogger("keepsake").warning(what)


def moment(value: date | str | None) -> str:
    """A caller's date or time as a belief holds it. A date stays a date: not every fact has an hour."""
    if isinstance(value, datetime):
        return stamp(value)
    return value.isoformat() if isinstance(value, date) else value or ""

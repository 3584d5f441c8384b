"""A moment as a filter writes it: a date, or a date and a time. Without a zone it is UTC; a date is its midnight."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?)?",
    re.ASCII | re.IGNORECASE,
)


def moment(text: str) -> datetime | None:
    """The moment in UTC, or None if `text` names none, or one before the year 1 or after the year 9999."""
    if not _MOMENT.fullmatch(text):
        return None
    try:
        said = datetime.fromisoformat(text.upper().replace(" ", "T", 1).replace(" ", ""))
        return said.replace(tzinfo=UTC) if said.tzinfo is None else said.astimezone(UTC)
    except (ValueError, OverflowError):
        return None

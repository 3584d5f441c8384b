"""Which events of a log are wanted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tallystick.records.errors import Refused
from tallystick.records.fields import moment
from tallystick.records.graph.events import KINDS, is_kind

Wanted = Callable[[dict[str, Any]], bool]


def wanted(kind: str | None, path: str | None, since: datetime | str | None) -> Wanted:
    """Whether an event's fields are asked for. A kind that cannot be is refused: it would find nothing for ever."""
    if kind is not None and not is_kind(kind):
        raise Refused(f"kind {kind!r} is not known; it is one of {', '.join(KINDS)}, or begins with custom.")
    first = "" if since is None else moment(since)

    def fits(told: dict[str, Any]) -> bool:
        if (kind is not None and told["kind"] != kind) or (path is not None and told["path_id"] != path):
            return False
        return bool(told["at"] >= first)

    return fits

"""Converting old events to today's shape.

`op` carries a version. When an event's shape changes, the old one stays in the file forever and a small function here
converts it by one version as it is read. A ledger is never rewritten for that.

    LIFTS["belief.put/1"] = name_of_a_function   # (body) -> ("belief.put/2", body)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tallystick.records.event import Event

Lift = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]

LIFTS: dict[str, Lift] = {}


def lift(event: Event) -> Event:
    """Convert `event` to today's shape."""
    op, body = event.op, event.body
    while body is not None and op in LIFTS:
        op, body = LIFTS[op](body)
    return event if op is event.op else event._replace(op=op, body=body)

"""One page of the log."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable
from tallystick.records.event import Event


@dataclass(frozen=True, slots=True)
class LogPage(Displayable):
    """Events, newest first. To go on, pass `older` as `before`, and `newer` as `after`."""

    events: tuple[Event, ...]
    older: int | None  # None, if nothing is older
    newer: int | None  # None, if nothing was newer
    is_cut: bool = False  # True: the search stopped before the page was full

"""One page of the log."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable
from tallystick.records.event import Event


@dataclass(frozen=True, slots=True)
class LogPage(Displayable):
    """Events in a row, newest first. To go on, `older` is given as `before`, and `newer` as `after`."""

    events: tuple[Event, ...]
    older: int | None  # None, if nothing is older
    newer: int | None  # None, if nothing was newer
    is_cut: bool = False  # whether the look ended before a page was full, with more to look through

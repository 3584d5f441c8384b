"""What the memory did by itself since the server started, in lines that the page shows to the person whose it is.

Only lines about the whole memory are kept, and not many: the newest of them. Each is said on standard error too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from tallystick.records.clock import stamp, system_clock
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.event import Event

MOST = 20  # lines

_LOOKED_AT = 16  # events
_TORN = "ledger.torn/"


class ServerNotices:
    """The lines, oldest first. `lines` is the same list for as long as the server runs."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.lines: list[str] = []
        self._note, self._since = note, stamp(system_clock())

    def __call__(self, line: str) -> None:
        """Something was done. What was told already is not told again."""
        if line not in self.lines:
            self.lines.append(line)
            del self.lines[:-MOST]
            with suppress(OSError):  # nobody reads standard error any more, and the memory's own work goes on
                self._note(f"tallystick: {shown(line)}")

    def opened(self, memory: Memory) -> None:
        """What opening it did, which the last events tell."""
        newest = memory.status().events
        self.hear(event for event in memory.log(max(0, newest - _LOOKED_AT)) if event.ts >= self._since)

    def hear(self, events: Iterable[Event]) -> None:
        """What of it the ledger recorded about itself."""
        for event in events:
            if event.op.startswith(_TORN):
                body = event.body or {}
                self(
                    f"a write was cut off by a crash: its {body.get('bytes', 0):,} bytes were set aside (event "
                    f"{event.seq}); nobody had been told that it was kept, and nothing else is lost"
                )

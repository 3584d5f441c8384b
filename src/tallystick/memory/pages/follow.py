"""Pages that follow what is remembered, as long as that holds nobody up.

A single remember has its page written in the same call. In a run of them, writing pages takes at most a small part of
the time; what is left is written when the memory is closed, or by whoever asks for the pages next. If very much is
left, only by the latter.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress

from tallystick.memory.pages.files import PagesAt
from tallystick.memory.pages.sync import Sync
from tallystick.records.errors import TallystickError
from tallystick.records.event import Event

FAR = 5_000  # events behind; nobody waits for more than that
_MANY = 100  # events that were written together
_SHARE = 0.1  # of the time
_AT_ONCE = 0.1  # seconds that are there for it after a pause; a long pause saves up no more
_OF_PAGES = ("belief.", "page.", "review.")


class PageWriter:
    """Writes pages for one open memory. It never fails: what it did not do, the next one does."""

    def __init__(self, files: PagesAt, *, is_on: bool) -> None:
        self.files, self._is_on = files, is_on
        self._looked, self._spare, self._is_behind = time.monotonic(), _AT_ONCE, False

    def follow(self, events: Sequence[Event]) -> None:
        """Something was written: these events, or, if none are given, whatever is new."""
        if not self._is_on:
            return
        if len(events) >= _MANY:
            self._take(events)
        if events and not any(event.op.startswith(_OF_PAGES) for event in events):
            return
        self._is_behind = True
        now = time.monotonic()
        self._spare, self._looked = min(_AT_ONCE, self._spare + _SHARE * (now - self._looked)), now
        if not self.files.is_paused and self._spare > 0:
            self._go_on()

    def _take(self, events: Sequence[Event]) -> None:
        """Let the rows follow a batch, whatever it is about: else they would soon be too far behind to go on."""
        with suppress(OSError, TallystickError, sqlite3.Error):
            if self.files.is_writable:
                self.files.follow(events)
                if 0 < self.files.behind() <= FAR:
                    self.files.level()

    def finish(self) -> None:
        """Write what is left, before the memory is closed."""
        if self._is_on and self._is_behind and not self.files.is_paused:
            self._go_on()

    def look_at_all(self) -> None:
        """Words are erased: what people wrote on pages comes in before, and what was written at that very moment is
        looked at after."""
        if self.files.folder.is_there():
            self._go_on(everything=True)

    def _go_on(self, *, everything: bool = False) -> None:
        began = time.monotonic()
        with suppress(OSError, TallystickError, sqlite3.Error):
            if self.files.is_writable and (everything or self.files.behind() <= FAR):
                with self.files.working():
                    Sync(self.files).run(None if everything else ())
        self._spare -= time.monotonic() - began
        self._is_behind = False

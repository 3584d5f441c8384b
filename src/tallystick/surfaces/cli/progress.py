"""Signs of life for a person who has to wait: nothing for a moment, then a spinner or a bar, gone when it is over.

It is drawn on standard error and only on a terminal. rich is loaded only when something is drawn.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 0.7  # seconds before anything is drawn
_INTERVAL = 0.1


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """A spinner and `text`, for a call without progress."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    drawer = threading.Thread(target=_spin, args=(text, done), daemon=True)
    drawer.start()
    try:
        yield
    finally:
        done.set()
        drawer.join()


def _spin(text: str, done: threading.Event) -> None:
    if done.wait(DELAY):
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        done.wait()


@contextmanager
def progress(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of `total` steps, advanced by the function it yields. No thread draws it: the block may fork."""
    bar = _Bar(text, total)
    try:
        yield bar.on_progress
    finally:
        bar.close()


class _Bar:
    def __init__(self, text: str, total: int) -> None:
        self._text, self._total, self._done = text, total, 0
        self._next = time.monotonic() + DELAY if sys.stderr.isatty() else float("inf")
        self._drawn: tuple[Progress, TaskID] | None = None

    def on_progress(self, steps: int) -> None:
        self._done += steps
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _INTERVAL
        if self._drawn is None:
            self._drawn = self._draw()
        bar, task = self._drawn
        bar.update(task, completed=self._done, refresh=True)

    def _draw(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        bar.start()
        return bar, bar.add_task(self._text, total=self._total)

    def close(self) -> None:
        if self._drawn is not None:
            self._drawn[0].stop()

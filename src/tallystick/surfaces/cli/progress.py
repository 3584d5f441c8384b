"""What a person sees who has to wait: nothing for a moment, then a sign of life on the terminal, gone when it is over.

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

PATIENCE = 0.7  # seconds without a sign
_OFTEN = 0.1



@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner and `what`, for a call that does not say how far it is."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    drawer = threading.Thread(target=_spin, args=(what, done), daemon=True)
    drawer.start()
    try:
        yield
    finally:
        done.set()
        drawer.join()


def _spin(what: str, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        done.wait()


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of `total` steps; the block calls what it is given with those it did. No thread draws it: it may fork."""
    bar = _Bar(what, total)
    try:
        yield bar.on_progress
    finally:
        bar.close()


class _Bar:
    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._next = time.monotonic() + PATIENCE if sys.stderr.isatty() else float("inf")
        self._drawn: tuple[Progress, TaskID] | None = None

    def on_progress(self, steps: int) -> None:
        self._done += steps
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _OFTEN
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
        return bar, bar.add_task(self._what, total=self._total)

    def close(self) -> None:
        if self._drawn is not None:
            self._drawn[0].stop()

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
    from rich.progress import Progress

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
    done, due = 0, time.monotonic() + DELAY if sys.stderr.isatty() else float("inf")
    bar: Progress | None = None

    def on_progress(steps: int) -> None:
        nonlocal done, due, bar
        done += steps
        if time.monotonic() < due:
            return
        due = time.monotonic() + _INTERVAL
        if bar is None:
            bar = _bar(text, total)
        bar.update(bar.task_ids[0], completed=done, refresh=True)

    try:
        yield on_progress
    finally:
        if bar is not None:
            bar.stop()


def _bar(text: str, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    bar.start()
    bar.add_task(text, total=total)
    return bar

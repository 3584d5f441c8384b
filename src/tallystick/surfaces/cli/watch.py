"""`tallystick sync --watch`: a sync after each change, until somebody ends it.

Files are watched by the system; that another program wrote to the ledger, and that `memory/` was removed and is another
folder now, is looked for every few seconds. A change is given a moment to be whole: an editor that saves by writing
beside and renaming is one change. A sync under way is finished before the end.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.records.errors import Busy
from tallystick.records.page import Synced
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

LOOK = 2.0  # seconds after which the ledger is looked at
QUIET = 0.2  # seconds without a change: then it is whole
_MOST = 2.0  # seconds that a change may take
_ENDS = (signal.SIGINT, signal.SIGTERM)


def watching(memory: Memory, note: Callable[[str], None]) -> Iterator[Synced]:
    """The runs in which something happened; the first in any case. A memory that is busy is tried again."""
    with _until_told() as ended:
        known, done = _run(memory, note)
        yield done
        note(f"tallystick: watching {shown(str(memory.pages.folder))} until Ctrl-C")
        told = set(done.problems)
        for is_sure in _changes(memory.pages.folder, ended):
            if not is_sure and known is not None and known == _end(memory):
                continue
            known, done = _run(memory, note)
            fresh = tuple(problem for problem in done.problems if problem not in told)
            told = set(done.problems) if known is not None else told
            if done.adopted or done.written or done.reviews or fresh:
                yield replace(done, problems=fresh)


def _run(memory: Memory, note: Callable[[str], None]) -> tuple[int | None, Synced]:
    """How far the ledger was before, and what a sync did; None, if it could not be had."""
    try:
        return _end(memory), memory.pages.sync()
    except Busy as error:
        note(f"tallystick: {shown(str(error))}")
        return None, Synced()


def _end(memory: Memory) -> int | None:
    """How far the ledger is, without reading it; None, if that cannot be told now."""
    try:
        return memory.ledger.size
    except Busy:
        return None


def _changes(folder: Path, ended: threading.Event) -> Iterator[bool]:
    """True after a change of a page, False where a while went by without one."""
    while not ended.is_set():
        yield True
        with _held(folder) as is_the_same:
            if not is_the_same():
                _wait(ended, folder.is_dir)
                continue
            for number, changed in enumerate(_watched(folder, ended)):
                yield bool(changed) or number == 0  # what happened before anybody watched
                if not is_the_same():  # removed, and perhaps made anew: what is watched is gone
                    break


def _watched(folder: Path, ended: threading.Event) -> Iterator[set[Any]]:
    import watchfiles

    try:
        yield from watchfiles.watch(
            folder, watch_filter=_is_page, debounce=int(_MOST * 1000), step=int(QUIET * 1000), stop_event=ended,
            rust_timeout=int(LOOK * 1000), yield_on_timeout=True, raise_interrupt=False,
        )  # fmt: skip
    except FileNotFoundError:  # removed between a look and the next
        return


def _is_page(_: Any, path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".md") and not name.startswith(".")


@contextmanager
def _held(folder: Path) -> Iterator[Callable[[], bool]]:
    """Whether it is still this folder that has the name. It is kept open, so that no other can take its number."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield lambda: False
        return
    try:
        yield lambda: _is_same(fd, folder)
    finally:
        os.close(fd)


def _is_same(fd: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), folder.stat())
    except OSError:
        return False


def _wait(ended: threading.Event, is_there: Callable[[], bool]) -> None:
    until = time.monotonic() + LOOK
    while not ended.wait(QUIET) and not is_there() and time.monotonic() < until:
        pass


@contextmanager
def _until_told() -> Iterator[threading.Event]:
    """An event that is set when the program is told to end. Nothing is cut short by it."""
    ended = threading.Event()
    before = {sign: signal.signal(sign, lambda *_: ended.set()) for sign in _ENDS}
    try:
        yield ended
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)

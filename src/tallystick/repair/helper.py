"""A second process, which compares derived files while this one folds the events into the state.

It only saves time: where it cannot be started, or ends without an answer, the caller compares these files itself. It is
a new process and not a fork, which is unsafe in a program with threads. It opens the folder by itself, and writes to
its temporary files alone. It ends with this process, however that ends: its standard input is closed then.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING

from tallystick.ledger.folder.layout import Folder
from tallystick.repair.derived import Kind, findings
from tallystick.repair.findings import Finding
from tallystick.repair.scan import Survey

if TYPE_CHECKING:  # subprocess and pickle are imported where a helper is started
    from subprocess import Popen

SMALLEST = 4 << 20  # bytes of a ledger: for less, a second process takes longer to start than it saves

_PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from tallystick.repair.helper import help_out
help_out()
"""


class Helper:
    """The process that compares files."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process

    def findings(self) -> list[Finding] | None:
        """What it has found, once it is done; None, if it did not answer."""
        import pickle

        try:
            found: list[Finding] = pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (EOFError, pickle.UnpicklingError, OSError):
            return None
        return found


@contextmanager
def compare_beside(folder: Folder, survey: Survey, kinds: Sequence[Kind]) -> Iterator[Helper | None]:
    """Let another process compare files of these kinds with the events that were scanned, where that saves time."""
    size = sum(reading.size for reading in survey.readings)
    if not kinds or size < SMALLEST or _processors() < 2 or not survey.is_unbroken:
        yield None
        return
    import pickle
    from subprocess import DEVNULL, PIPE, Popen

    try:
        process = Popen([sys.executable, "-I", "-S", "-c", _PROGRAM], stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    except OSError:
        yield None
        return
    with process:
        with suppress(BrokenPipeError):
            process.stdin.write(pickle.dumps(sys.path) + pickle.dumps((folder.root, survey.extent, kinds)))  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
        yield Helper(process)


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def help_out() -> None:
    """The main function of the process."""
    import pickle

    gc.disable()  # nothing here is in rings, and to look for them takes time
    root, extent, kinds = pickle.load(sys.stdin.buffer)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # temporary files are removed on the way out
    Thread(target=_end_with_the_input, daemon=True).start()
    pickle.dump(findings(Folder(root), extent, kinds), sys.stdout.buffer)


def _end_with_the_input() -> None:
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)

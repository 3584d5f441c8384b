"""Running rules when they are due, in the process that owns a memory.

One thread looks every so often. An error of a run (a server that does not answer, a full disk) is reported in a line,
and the run is tried again at the next look: the rule's mark has not moved.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tallystick.memory.memory import Memory
from tallystick.records.errors import TallystickError
from tallystick.records.rule import Consolidated

EVERY = 30.0  # seconds between two looks


class Schedule:
    """Runs everyone's rules in an open memory, each over its own user's episodes, until it is stopped."""

    def __init__(
        self, memory: Memory, *, every: float = EVERY, done: Callable[[Consolidated], None] | None = None,
        failed: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self._memory, self._every, self._done, self._failed = memory, every, done, failed
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def look(self) -> list[Consolidated]:
        """Run the rules that are due now."""
        try:
            return self._memory.run_due(everyone=True, notify=self._done)
        except TallystickError as error:
            if self._failed:
                self._failed(str(error))
            return []

    def start(self) -> None:
        """Look every so often, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="tallystick-schedule", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(self._every)

    def stop(self) -> None:
        """Stop after the current run."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Schedule:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

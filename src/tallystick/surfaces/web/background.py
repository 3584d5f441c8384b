"""Long work that a page begins and does not wait for: one of a kind at a time, each in a thread of its own.

What came of it is kept until the same is begun again, or the server ends. A server that ends does not wait for it: an
errand is such that it may be cut off anywhere, as a crash may.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import TallystickError
from tallystick.records.progress import Progress

if TYPE_CHECKING:
    from starlette.requests import Request

Work = Callable[[Progress], Any]

_PATIENCE = 1.5  # seconds for which whoever began it waits


@dataclass(frozen=True, slots=True)
class Errand:
    """How far it is. One that is over has a result or says what went wrong."""

    name: str
    total: int = 0  # of what is counted, if that is known
    done: int = 0
    seconds: float = 0.0
    is_running: bool = True
    at: str = ""  # when it was over
    result: Any = None
    wrong: str = ""

    @property
    def share(self) -> float | None:
        """From 0 to 1, as far as that can be told."""
        return min(self.done / self.total, 1.0) if self.total else None


class Errands:
    """Those of one server."""

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = {}

    def begin(self, name: str, work: Work, total: int = 0) -> None:
        """Begin it, unless it is under way."""
        known = self._threads.get(name)
        if known is None or not known.is_alive():
            self._threads[name] = _Thread(name, work, total)
            self._threads[name].start()

    async def wait(self, name: str, seconds: float = _PATIENCE) -> None:
        """Give it a moment: most are over soon."""
        await asyncio.to_thread(self._threads[name].join, seconds)

    def look(self, name: str) -> Errand | None:
        """How far it is; None, if it was never begun."""
        thread = self._threads.get(name)
        return thread.look() if thread else None


class _Thread(threading.Thread):
    def __init__(self, name: str, work: Work, total: int) -> None:
        super().__init__(name=f"tallystick {name}", daemon=True)
        self._work, self._begun = work, time.monotonic()
        self._errand = Errand(name, total)

    def run(self) -> None:
        came: dict[str, Any] = {"wrong": "it stopped; what the server printed says why"}
        try:
            came = {"result": self._work(self._on_progress)}
        except TallystickError as error:
            came = {"wrong": str(error)}
        except OSError as error:
            came = {"wrong": f"{error.filename or 'the system'}: {error.strerror or error}"}
        finally:
            taken = time.monotonic() - self._begun
            self._errand = replace(self._errand, is_running=False, seconds=taken, at=stamp(system_clock()), **came)

    def _on_progress(self, much: int) -> None:
        self._errand = replace(self._errand, done=self._errand.done + much)

    def look(self) -> Errand:
        found = self._errand
        return replace(found, seconds=time.monotonic() - self._begun) if found.is_running else found


def errands_of(request: Request) -> Errands:
    """The errands of the server that answers."""
    state = request.app.state
    if not hasattr(state, "errands"):
        state.errands = Errands()
    found: Errands = state.errands
    return found

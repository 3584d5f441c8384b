"""Integrity: the state of the ledger, its checkpoints and backups, and what verify and check find.

Reading changes nothing, and neither do verify and check, which run in the background and may take long. The page writes
checkpoints and backups; of a memory that is damaged or rolled back, neither.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.maintenance import check as checks
from tallystick.memory.maintenance.ledger import verify_folder
from tallystick.memory.memory import Memory
from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Damaged, NotFound, NotWritable, TallystickError
from tallystick.records.progress import Progress
from tallystick.stores.places import size_of_ledger
from tallystick.surfaces.present.names import copies_in
from tallystick.surfaces.server.worker import MemoryWorker
from tallystick.surfaces.web.render import command_for, read_form, redirect, render, with_memory
from tallystick.surfaces.web.timeline import in_words

_REACH = 20_000  # events that are searched for what the ledger did to itself
_LINES = 8
_COPIES = 10
_COMMANDS = {"check": "check", "backup": "backup", "repair": "repair CODE"}


async def show(request: Request) -> Response:
    try:
        found = await with_memory(request, _health)
    except TallystickError as error:  # the page opens even if the memory does not
        commands = {name: f"tallystick {words}" for name, words in _COMMANDS.items()}
        commands["restore"] = "tallystick restore BACKUP"
        found = {"trouble": str(error), "warning": "", "is_open": False, "events": 0, "commands": commands}
    jobs: Jobs = request.app.state.jobs
    return render(
        request, "integrity.html", piece="integrity_piece.html", health=found, codes=checks.CODES,
        notices=list(request.app.state.notices), verify=jobs.get("verify"), check=jobs.get("check"),
        backup=jobs.get("backup"),
    )  # fmt: skip


async def look(request: Request) -> Response:
    """Verify that no event was changed, or check for damage, also in derived files."""
    await read_form(request)
    name = request.url.path.rpartition("/")[2]
    look: Callable[..., Any] = verify_folder if name == "verify" else checks.check
    folder = await with_memory(request, lambda memory: memory.ledger.folder)
    return await _start(request, name, lambda on_progress: look(folder, on_progress=on_progress), folder)


async def backup(request: Request) -> Response:
    """Make a verified copy, with the memory opened a second time, so that others can go on."""
    await read_form(request)
    await with_memory(request, _must_be_writable)
    worker: MemoryWorker = request.app.state.worker

    def work(_: Progress) -> Path:
        with worker.again() as memory:
            _must_be_writable(memory)
            return memory.backup()

    return await _start(request, "backup", work)


async def checkpoint(request: Request) -> Response:
    await read_form(request)

    def work(memory: Memory) -> None:
        _must_be_writable(memory)
        memory.ledger.checkpoint()

    await with_memory(request, work)
    return redirect("/integrity#witness")


def _must_be_writable(memory: Memory) -> None:
    if not memory.writable:
        raise NotWritable(memory.trouble or f"{memory.folder} is read-only here; nothing was changed")


async def _start(request: Request, name: str, work: Callable[[Progress], Any], folder: Path | None = None) -> Response:
    """Start a job that reads the ledger in `folder`, and show the page: after a moment, if it takes long."""
    jobs: Jobs = request.app.state.jobs
    jobs.start(name, work, size_of_ledger(folder) if folder else 0)
    await jobs.wait(name)
    return redirect(f"/integrity#{name}")


def _health(memory: Memory) -> dict[str, Any]:
    """The state of the memory, as far as it is known without reading every event."""
    status, copies = memory.status(), copies_in(memory.folder)[::-1]
    try:
        key = memory.ledger.verifier_key
    except (NotFound, Damaged):
        key = ""
    commands = _COMMANDS | {"restore": f"restore {copies[0].name if copies else 'BACKUP'}"}
    log = memory.log_page(op="ledger.", limit=_LINES, reach=_REACH).events
    return {
        "status": status,
        "trouble": status.trouble,
        "warning": status.warning,
        "is_open": True,
        "events": status.events,
        "may_write": memory.writable,
        "checkpoints": memory.ledger.checkpoints(),
        "pin_path": str(memory.ledger.pin_path),
        "key": key,
        "files": memory.ledger.files(),
        "copies": [(copy.name, *_written(copy)) for copy in copies[:_COPIES]],  # newest first
        "more_copies": max(len(copies) - _COPIES, 0),
        "log": [in_words(memory, event) for event in log],  # what the ledger did to itself, newest first
        "commands": {name: command_for(memory, words, takes_user=False) for name, words in commands.items()},
    }


def _written(copy: Path) -> tuple[str, int]:
    """The time and size of a backup. One that changes while it is read counts for nothing."""
    try:
        at = stamp(datetime.fromtimestamp(copy.stat().st_mtime, UTC))
        return at, sum(each.stat().st_size for each in copy.rglob("*") if each.is_file())
    except OSError:
        return "", 0


@dataclass(frozen=True, slots=True)
class Job:
    """The progress of long work. A finished job has a result or an error."""

    total: int  # bytes to read, if that is known
    started: float
    done: int = 0
    ended: float | None = None
    at: str = ""  # when it ended
    result: Any = None
    error: str = ""

    @property
    def is_running(self) -> bool:
        return self.ended is None

    @property
    def seconds(self) -> float:
        return (time.monotonic() if self.ended is None else self.ended) - self.started

    @property
    def share(self) -> float | None:
        """From 0 to 1, if that is known."""
        return min(self.done / self.total, 1.0) if self.total else None


class Jobs:
    """Long work that a page starts and does not wait for: one job of a name at a time, each in its own thread.

    A result is kept until the same job is started again. A server that ends does not wait: like a crash, that may cut
    a job off anywhere.
    """

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}
        self._jobs: dict[str, Job] = {}

    def start(self, name: str, work: Callable[[Progress], Any], total: int = 0) -> None:
        """Start it, unless it is running."""
        if name in self._threads and self._threads[name].is_alive():
            return

        def update(**changes: Any) -> None:
            self._jobs[name] = replace(self._jobs[name], **changes)

        def run() -> None:
            outcome: dict[str, Any] = {"error": "it stopped; see the server's output for the reason"}
            try:
                outcome = {"result": work(lambda count: update(done=self._jobs[name].done + count))}
            except TallystickError as error:
                outcome = {"error": str(error)}
            except OSError as error:
                outcome = {"error": f"{error.filename or 'the system'}: {error.strerror or error}"}
            finally:
                update(ended=time.monotonic(), at=stamp(system_clock()), **outcome)

        self._jobs[name] = Job(total, time.monotonic())
        self._threads[name] = threading.Thread(target=run, name=f"tallystick {name}", daemon=True)
        self._threads[name].start()

    async def wait(self, name: str, seconds: float = 1.5) -> None:
        """Wait for a moment: most jobs are done soon."""
        await asyncio.to_thread(self._threads[name].join, seconds)

    def get(self, name: str) -> Job | None:
        return self._jobs.get(name)

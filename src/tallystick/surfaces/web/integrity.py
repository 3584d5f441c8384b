"""Integrity: whether the chain is whole, who witnesses that, and what check found.

Looking changes nothing, and neither do verify and check, which run beside the site and may take their time. What is
written from here is a checkpoint or a backup, and of a memory that is damaged or rolled back neither is offered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute, Route

from tallystick.memory.maintenance import check as care
from tallystick.memory.maintenance.ledger import verify_folder
from tallystick.records.errors import NotWritable, TallystickError
from tallystick.surfaces.web.background import errands_of
from tallystick.surfaces.web.health import Health, health, unopened
from tallystick.surfaces.web.render import ask, form_of, is_piece, shown, then

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.progress import Progress
    from tallystick.surfaces.server.worker import MemoryWorker

VERIFY, CHECK, BACKUP = "verify", "check", "backup"


async def integrity(request: Request) -> Response:
    found, running = await _health(request), errands_of(request)
    looks: dict[str, Any] = {name: running.look(name) for name in (VERIFY, CHECK, BACKUP)}
    told = list(getattr(request.app.state, "told", ()))
    template = "integrity_piece.html" if is_piece(request) else "integrity.html"
    return shown(request, template, health=found, told=told, codes=care.CODES, **looks)


async def _health(request: Request) -> Health:
    """How the memory stands, or what keeps it from being opened: the page opens in any case."""
    try:
        return await ask(request, health)
    except TallystickError as error:
        return unopened(str(error))


async def verify(request: Request) -> Response:
    """Read every event and check that none was changed."""
    await form_of(request)
    folder = await ask(request, lambda memory: memory.ledger.folder)
    return await _sent(request, VERIFY, partial(_verified, folder), total=_length(folder))


async def check(request: Request) -> Response:
    """Look for damage, also in what is derived."""
    await form_of(request)
    folder = await ask(request, lambda memory: memory.ledger.folder)
    return await _sent(request, CHECK, partial(_checked, folder), total=_length(folder))


async def backup(request: Request) -> Response:
    """Make a checked copy, in a memory of its own: others go on meanwhile."""
    await form_of(request)
    await ask(request, _must_be_writable)
    hold: MemoryWorker = request.app.state.hold
    return await _sent(request, BACKUP, partial(_backed_up, hold.again))


async def checkpoint(request: Request) -> Response:
    """Sign what the ledger holds now."""
    await form_of(request)
    await ask(request, _signed)
    return then("/integrity#witness")


async def _sent(request: Request, name: str, work: Callable[[Progress], Any], total: int = 0) -> Response:
    """Begin an errand, and show the page: at once if it takes long."""
    running = errands_of(request)
    running.begin(name, work, total)
    await running.wait(name)
    return then(f"/integrity#{name}")


def _verified(folder: Path, on_progress: Progress) -> Any:
    return verify_folder(folder, on_progress=on_progress)


def _checked(folder: Path, on_progress: Progress) -> Any:
    return care.check(folder, on_progress=on_progress)


def _backed_up(opens: Callable[[], Memory], _: Progress) -> Path:
    with opens() as memory:
        _must_be_writable(memory)
        return memory.backup()


def _signed(memory: Memory) -> str:
    _must_be_writable(memory)
    return memory.ledger.checkpoint()


def _must_be_writable(memory: Memory) -> None:
    if not memory.writable:
        raise NotWritable(memory.trouble or f"{memory.folder} may only be read here; nothing was changed")


def _length(folder: Path) -> int:
    """How many bytes there are to read."""
    return sum(path.stat().st_size for path in (*folder.glob("events.wal"), *folder.glob("sealed/*.wal")))


routes: list[BaseRoute] = [
    Route("/integrity", integrity, methods=["GET"]),
    Route("/integrity/verify", verify, methods=["POST"]),
    Route("/integrity/check", check, methods=["POST"]),
    Route("/integrity/backup", backup, methods=["POST"]),
    Route("/integrity/checkpoint", checkpoint, methods=["POST"]),
]

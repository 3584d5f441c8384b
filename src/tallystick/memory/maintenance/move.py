"""Moving a memory between a folder and a database, with the keys and pins of whoever asks: see `stores/move.py`.

What is in page files and was not synced is in no event, so it must be synced first. Pages, index, vectors and audit
follow from the events: they stay where they are, and in a new folder they are made again.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tallystick.memory import settings
from tallystick.memory.maintenance.database import arriving
from tallystick.memory.memory import Memory
from tallystick.memory.pages.files import PagesAt, is_blank
from tallystick.records.errors import NotFound, Refused
from tallystick.records.transfer import Move
from tallystick.stores.move import Bar, arriving_folder, move as move_lines
from tallystick.stores.page_files import NoPage
from tallystick.stores.places import has_ledger, is_old


def move(source: str | Path | None, target: str | Path, *, by: str = "python:local", bar: Bar | None = None) -> Move:
    """Move the memory at `source`, a folder or an address, to `target`, which is of the other kind.

    The address of a database is its owner's, if the memory is to be made there. Killed anywhere, it is done again.
    """
    origin, place = settings.find(source), settings.find(target)
    if isinstance(origin, str) == isinstance(place, str):
        raise Refused("a memory moves between a folder and a database; name one of each", "unsupported")
    if isinstance(origin, Path):
        _must_be_ready(origin)
    with ExitStack() as stack:
        memory = stack.enter_context(Memory(origin, by=by))
        context = memory._context
        context.gate.must("ledger", "move")
        if isinstance(origin, Path) and memory.writable:
            _must_be_synced(PagesAt(context))
        if isinstance(place, str):
            there, address = stack.enter_context(arriving(place, memory.ledger.id))
            done = move_lines(context.folder, there, root=there.place, keyring=context.keyring, bar=bar)
            return replace(done, address=address())
        folder = stack.enter_context(arriving_folder(place, memory.ledger.id))
        done = move_lines(context.folder, folder, root=place, keyring=context.keyring, bar=bar)
    with Memory(place, by=by) as made:
        if made._context.settings.follow and made.writable:
            made.pages.sync()
    return done


def _must_be_ready(folder: Path) -> None:
    """Raise what keeps a folder from being moved, before it is opened."""
    if not has_ledger(folder):
        raise NotFound(f"no memory at {folder}; name another one")
    if is_old(folder):
        raise Refused(f"{folder} was written by chronomemory; `tallystick backup` imports it, then move it", "state")


def _must_be_synced(at: PagesAt) -> None:
    """Refused, if a page was edited since it was last read: no event has that."""
    try:
        pages = at.level()
        unclear = pages.unclear()
        for path, _ in at.folder.walk():
            read, file = at.folder.read(path), pages.file(path)
            is_new = read is not None and not is_blank(read.data) and (file is None or read.digest != file.digest)
            if is_new or path in unclear:
                raise Refused(f"memory/{path} was edited; run `tallystick sync`, then move it", "state")
    except NoPage as error:
        raise Refused(f"memory/{error}; run `tallystick sync`, then move it", "state") from None
    finally:
        at.close()

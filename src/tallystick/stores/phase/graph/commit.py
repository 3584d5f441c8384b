"""Several files changed at once: all of them, or none, whatever happens meanwhile.

The new files are written and synced in `.pending/`, then a list of what goes where is put beside them by a rename, and
from that moment on the change has happened: whoever finds the list moves what is not moved yet. Without the list, what
stands in `.pending/` was promised to nobody, and is removed. One file alone needs none of this: it is renamed.

Both is done under the exclusive lock. Nothing is written through a link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import orjson

from tallystick.ledger.disk import Disk, ensure_folder, remove_if_there, replace, write_new
from tallystick.records.errors import Damaged, Refused
from tallystick.stores.phase.graph.layout import PENDING

_LIST = "list.json"
_TARGET = re.compile(r"(?:[a-z_]+/)?[a-z0-9]+\.jsonl?\Z")

Files = dict[str, bytes]  # paths below the root


def commit(disk: Disk, root: Path, files: Files, gone: list[str]) -> None:
    """Put `files` in place and take `gone` away."""
    for folder in {(root / name).parent for name in files}:
        own_folder(disk, folder)
    if len(files) == 1 and not gone:
        [(name, data)] = files.items()
        remove_if_there(disk, root / (name + ".new"))
        replace(disk, root / name, data)
        return
    pending = root / PENDING
    own_folder(disk, pending)
    _clear(disk, pending)
    for number, data in enumerate(files.values()):
        write_new(disk, pending / str(number), data)
    disk.sync_folder(pending)
    replace(disk, pending / _LIST, orjson.dumps({"put": list(files), "remove": gone}))
    finish(disk, root)


def is_unfinished(root: Path) -> bool:
    """Whether a change has happened that is not carried out yet."""
    return os.path.lexists(root / PENDING / _LIST)


def finish(disk: Disk, root: Path) -> None:
    """Carry out what the list says, and has not been done yet. Doing it twice is the same as doing it once."""
    pending = root / PENDING
    own_folder(disk, pending)
    put, gone = _listed(pending / _LIST)
    for folder in {(root / name).parent for name in (*put, *gone)}:
        own_folder(disk, folder)
    for number, name in enumerate(put):
        if (pending / str(number)).exists():
            disk.rename(pending / str(number), root / name)
    for name in gone:
        remove_if_there(disk, root / name)
    for folder in sorted({(root / name).parent for name in (*put, *gone)}):
        disk.sync_folder(folder)
    disk.remove(pending / _LIST)
    disk.sync_folder(pending)
    _clear(disk, pending)
    pending.rmdir()
    disk.sync_folder(root)


def _listed(path: Path) -> tuple[list[str], list[str]]:
    try:
        told = orjson.loads(path.read_bytes())
        put, gone = told["put"], told["remove"]
        if all(_TARGET.match(name) for name in (*put, *gone)):
            return put, gone
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise Damaged(f"{path} is not as it was written; restore the folder from a copy, or remove {path.parent}")


def _clear(disk: Disk, pending: Path) -> None:
    for path in sorted(pending.iterdir()):
        disk.remove(path)


def own_folder(disk: Disk, path: Path) -> None:
    """`path` is a folder of ours, made if it is not there. Refused, if it is a link that leads elsewhere."""
    if path.is_symlink():
        raise Refused(f"{path} is a link, and nothing is written through links; put a folder in its place", "place")
    try:
        ensure_folder(disk, path)
    except (FileExistsError, NotADirectoryError):
        raise Refused(f"{path} is no folder; choose another place, or move it away", "place") from None

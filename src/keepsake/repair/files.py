"""What lies in a memory folder beside the chain: what is half made, who may read it, and what does not belong there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from keepsake.ledger.folder import Folder
from keepsake.ledger.lock import is_held
from keepsake.records.errors import Refused

_OWN = frozenset({
    "events.wal", "keepsake.toml", "snapshot.json", "checkpoint", "lock", "audit.jsonl", ".gitignore",
    "sealed", "backup", "restoring", "vectors", "memory",
    "pages.lock",
})  # fmt: skip
_OF_A_COPY = frozenset({"events.wal", "keepsake.toml", "snapshot.json", "checkpoint", "sealed", "erased", "memory"})
_KEPT = re.compile(r"(torn|damaged|chronomemory)-")
_NEW = ".new"


def half_made(folder: Folder) -> list[Path]:
    """What a crash left unfinished and nothing will use. Ask only while no writer can be at work."""
    found = [*folder.leftovers(), *folder.abandoned_indexes(), *folder.backups.glob(f"*/erased{_NEW}")]
    found += [path for path in folder.backups.glob(f"*{_NEW}") if not is_held(path)]  # see ledger/unfinished
    if folder.restoring.is_dir() and not is_ready(folder):
        found.append(folder.restoring)
    return sorted(found)


def is_ready(folder: Folder) -> bool:
    """Whether a restore has come so far that it will be finished."""
    return (folder.restoring / "ready").exists()


def foreign(folder: Folder) -> Iterator[Path]:
    """Files and folders that are none of the memory's own."""
    yield from _others(folder.root, _OWN | {path.name for path in folder.index_files()})
    yield from _others_in_sealed(folder)
    for path in sorted(folder.backups.glob("*")):
        if not path.is_dir():
            yield path
        elif not path.name.endswith(_NEW):
            yield from _others(path, _OF_A_COPY)
            yield from _others_in_sealed(Folder(path))


def _others(place: Path, own: frozenset[str]) -> Iterator[Path]:
    yield from (path for path in sorted(place.iterdir()) if path.name not in own and not path.name.endswith(_NEW))


def _others_in_sealed(folder: Folder) -> Iterator[Path]:
    if folder.sealed.is_dir():
        stretches = frozenset(stretch.path.name for stretch in folder.sealed_stretches())
        yield from (path for path in _others(folder.sealed, stretches) if not _KEPT.match(path.name))


def wide(folder: Folder) -> Iterator[tuple[Path, int]]:
    """What others than its owner may read, write or enter, and its mode."""
    for path in [folder.root, *sorted(folder.root.rglob("*"))]:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # what SQLite keeps beside the index comes and goes
            continue
        if mode & 0o077 and not path.is_symlink():
            yield path, mode & 0o777


def narrow(path: Path) -> None:
    """Leave `path` to its owner alone."""
    try:
        os.chmod(path, path.stat().st_mode & 0o700)
    except PermissionError:
        raise Refused(f"{path} belongs to another user; ask them, or the system's administrator") from None

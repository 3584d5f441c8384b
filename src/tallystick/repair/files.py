"""What lies in a memory folder beside the chain: what is half made, who may read it, and what does not belong there."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import is_held
from tallystick.records.errors import Refused
from tallystick.repair.witness import DERIVED

_OWN = frozenset({
    "events.wal", "tallystick.toml", "snapshot.json", "checkpoint", "lock", "audit.jsonl", ".gitignore",
    "sealed", "backup", "restoring", "vectors", "memory",
    "pages.lock",
})  # fmt: skip
_OF_A_COPY = frozenset({"events.wal", "tallystick.toml", "snapshot.json", "checkpoint", "sealed", "erased", "memory"})
_KEPT = re.compile(r"(torn|damaged|chronomemory)-")
_SET_ASIDE = re.compile(r"(torn|damaged)-")
_NEW = ".new"
_VECTORS = re.compile(r"[0-9a-f]{24}(\.json|-[0-9a-f]{16}\.(rows|f32|near))\Z|lock\Z")


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
    own = _OWN | {path.name for path in [*folder.index_files(), *derived(folder)]}
    yield from (path for path in _others(folder.root, own) if not folder.is_new_index(path))
    yield from _others_in_sealed(folder)
    yield from _others_in_pages(folder.pages)
    yield from _others_in_vectors(folder.root / "vectors")
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
        segments = frozenset(segment.path.name for segment in folder.sealed_segments())
        yield from (path for path in _others(folder.sealed, segments) if not _KEPT.match(path.name))


def _others_in_pages(pages: Path) -> Iterator[Path]:
    """What is no page. Editors keep hidden files of their own beside them; those are theirs."""
    for path in sorted(pages.iterdir()) if _is_folder(pages) else ():
        if path.name.startswith("@") and _is_folder(path):
            yield from (each for each in sorted(path.iterdir()) if not _is_page(each))
        elif not _is_page(path):
            yield path


def _is_page(path: Path) -> bool:
    return path.name.startswith(".") or (path.name.endswith(".md") and path.is_file())


def _others_in_vectors(vectors: Path) -> Iterator[Path]:
    for home in sorted(vectors.iterdir()) if _is_folder(vectors) else ():
        if _is_folder(home):
            own = (path for path in sorted(home.iterdir()) if not path.name.endswith(_NEW))
            yield from (path for path in own if not _VECTORS.match(path.name) or path.is_dir())
        elif home.name not in ("swept", f"swept{_NEW}"):
            yield home


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def links(folder: Folder) -> Iterator[Path]:
    """Links in the place of the memory's own files. What they lead to is not kept, copied or erased with it."""
    for path in sorted(folder.root.rglob("*")):
        if path.is_symlink():
            yield path


def special(folder: Folder) -> Iterator[Path]:
    """Pipes, sockets and devices. Whoever opens one may wait for ever."""
    for path in sorted(folder.root.rglob("*")):
        try:
            mode = path.stat().st_mode
        except OSError:  # it comes and goes, or leads nowhere
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            yield path


def set_aside(folder: Folder) -> Iterator[Path]:
    """What a crash or a repair kept under `sealed/`."""
    if folder.sealed.is_dir():
        yield from (path for path in sorted(folder.sealed.iterdir()) if _SET_ASIDE.match(path.name))


def derived(folder: Folder) -> list[Path]:
    """The files that are derived from the ledger beside the index, and what SQLite keeps beside them."""
    ends = ("", "-wal", "-shm", "-journal")
    return [folder.root / f"{name}{end}" for name in DERIVED for end in (ends if name.endswith(".db") else ends[:1])]


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
        raise Refused(
            f"{path} belongs to another user; ask them, or the system's administrator", "permission"
        ) from None

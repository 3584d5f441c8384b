"""The files of a memory folder other than the chain: unfinished ones, foreign ones, and their modes."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.lock import is_held
from tallystick.records.errors import Refused

_OWN = frozenset({
    "events.wal", "tallystick.toml", "snapshot.json", "checkpoint", "lock", "audit.jsonl", ".gitignore",
    "sealed", "backup", "restoring", "vectors", "memory",
    "pages.lock", "moved-to", "arriving",
})  # fmt: skip
_OF_A_COPY = frozenset({"events.wal", "tallystick.toml", "snapshot.json", "checkpoint", "sealed", "erased", "memory"})
_KEPT = re.compile(r"(torn|damaged|chronomemory|state)-")
_SET_ASIDE = re.compile(r"(torn|damaged)-")
_NEW = ".new"
_VECTORS = re.compile(r"[0-9a-f]{24}(\.json|-[0-9a-f]{16}\.(rows|f32|near|mark))\Z|lock\Z")


def half_made(folder: Folder) -> list[Path]:
    """The unfinished files that a crash left and nothing will use. Call this only while no writer can be at work."""
    found = [*folder.leftovers(), *folder.backups.glob(f"*/erased{_NEW}")]
    found += [path for path in folder.backups.glob(f"*{_NEW}") if not is_held(path)]  # see ledger/folder/backup.py
    if folder.restoring.is_dir() and not folder.restore_ready.exists():
        found.append(folder.restoring)
    return sorted(found)


def foreign(folder: Folder) -> Iterator[Path]:
    """Files and folders that do not belong to the memory."""
    yield from _others(folder.root, _OWN | {path.name for path in (*folder.state_files(), *folder.leftovers())})
    yield from _others_in_sealed(folder)
    yield from _others_in_pages(folder.pages)
    for home in _inside(folder.root / "vectors"):
        if _is_folder(home):
            names = (path for path in _inside(home) if not path.name.endswith(_NEW))
            yield from (path for path in names if not _VECTORS.match(path.name) or path.is_dir())
        elif home.name not in ("swept", f"swept{_NEW}", "making"):
            yield home
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
    """Files that are not pages, except hidden ones, which editors make."""
    for path in _inside(pages):
        if path.name.startswith("@") and _is_folder(path):
            yield from (each for each in _inside(path) if not _is_page(each))
        elif not _is_page(path):
            yield path


def _is_page(path: Path) -> bool:
    return path.name.startswith(".") or (path.name.endswith(".md") and path.is_file())


def _inside(place: Path) -> list[Path]:
    return sorted(place.iterdir()) if _is_folder(place) else []


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def links(folder: Folder) -> list[Path]:
    """Symlinks in the folder. Their targets are not kept, copied or erased with it."""
    return [path for path in sorted(folder.root.rglob("*")) if path.is_symlink()]


def special(folder: Folder) -> Iterator[Path]:
    """Pipes, sockets and devices. Opening one may block forever."""
    for path in sorted(folder.root.rglob("*")):
        try:
            mode = path.stat().st_mode
        except OSError:  # a file that comes and goes, or a broken symlink
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            yield path


def set_aside(folder: Folder) -> list[Path]:
    """The bytes that a crash or a repair kept under `sealed/`."""
    inside = sorted(folder.sealed.iterdir()) if folder.sealed.is_dir() else []
    return [path for path in inside if _SET_ASIDE.match(path.name)]


def wide(folder: Folder) -> Iterator[tuple[Path, int]]:
    """The files that others than their owner may read, write or enter, and their modes."""
    for path in [folder.root, *sorted(folder.root.rglob("*"))]:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # SQLite's files come and go
            continue
        if mode & 0o077 and not path.is_symlink():
            yield path, mode & 0o777


def narrow(path: Path) -> None:
    try:
        os.chmod(path, path.stat().st_mode & 0o700)
    except PermissionError:
        raise Refused(f"{path} belongs to another user; ask them, or the administrator", "permission") from None

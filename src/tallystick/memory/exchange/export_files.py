"""Files and folders that leave a memory: whole under their name, or not there at all.

A file is written beside its place, under a hidden name that ends in `.new`, and gets its own name when all of it is on
the medium. A crash leaves what was there before, and perhaps such a hidden file, which is nobody's and may be removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tallystick.ledger.disk import Disk, write_all
from tallystick.memory.settings import place_of
from tallystick.records.errors import NotWritten, Refused

_LONGEST_NAME = 230  # bytes; disks take 255, and a name that is being filled has some more
_FULL = 1 << 18  # bytes that are gathered before they are written


def settled(to: str | Path, memory: Path, *, replace: bool) -> Path:
    """Where to write. Refused, if something is there and may not go, or if it is inside the memory itself."""
    place = Path(os.path.abspath(place_of(to)))
    if "\0" in str(place) or len(os.fsencode(place.name)) > _LONGEST_NAME:
        raise Refused(f"{str(place)!r:.80} is no name of a file here; choose another", "name")
    root, real = memory.resolve(), place.resolve()
    if real == root or root in real.parents or real in root.parents:
        raise Refused(f"{place} belongs to the memory itself; choose a place outside {memory}", "place")
    if not place.parent.is_dir():
        raise Refused(f"there is no folder {place.parent}; make it first, or choose another place", "place")
    if os.path.islink(place):
        raise Refused(f"{place} is a link, and links are not followed; choose another name", "place")
    if os.path.lexists(place) and not (place.is_file() or place.is_dir()):
        raise Refused(f"{place} is neither a file nor a folder, and stays; choose another name", "place")
    if os.path.lexists(place) and not replace:
        raise Refused(f"{place} is there already; choose another name, or replace it with --force", "exists")
    return place


def write_file(disk: Disk, place: Path, parts: Iterable[bytes]) -> int:
    """A file with all these parts; returns how many bytes it has. NotWritten, if the disk fails."""
    if place.is_dir():
        raise Refused(f"{place} is a folder, and this is one file; name a file", "place")
    with _fresh(disk, place) as fresh:
        return _fill(disk, fresh, parts)


def write_folder(disk: Disk, place: Path, files: Iterable[tuple[str, bytes]], mark: tuple[str, str]) -> int:
    """A folder with all these files, each by its path in it; returns how many there are.

    In the place of another it comes only if that was made so too: `mark` names a file, and how it begins.
    """
    if os.path.lexists(place) and not place.is_dir():
        raise Refused(f"{place} is a file, and this is a folder of files; name another", "place")
    if place.is_dir() and any(place.iterdir()) and not _begins(place / mark[0], mark[1].encode()):
        raise Refused(f"{place} holds other things than an export, which would be lost; name another folder", "place")
    count = 0
    with _fresh(disk, place) as fresh:
        disk.make_folder(fresh)
        for path, data in files:
            disk.make_folder((fresh / path).parent)
            _fill(disk, fresh / path, [data])
            count += 1
        for folder in {fresh, *(each for each in fresh.rglob("*") if each.is_dir())}:
            disk.sync_folder(folder)
    return count


def _begins(path: Path, start: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


@contextmanager
def _fresh(disk: Disk, place: Path) -> Iterator[Path]:
    """A name beside the place, to be filled; what is there then gets the place, and what was there before goes."""
    fresh = place.with_name(f".{place.name}.{os.urandom(4).hex()}.new")
    try:
        yield fresh
        _put_in_place(disk, fresh, place)
    except OSError as error:
        why = error.strerror or str(error)
        raise NotWritten(f"{place} was not written: {why}; nothing was changed") from error
    finally:
        _remove(fresh)


def _put_in_place(disk: Disk, fresh: Path, place: Path) -> None:
    if fresh.is_dir() and place.is_dir():
        old = place.with_name(f"{fresh.name.removesuffix('.new')}.old")
        disk.rename(place, old)
        try:
            disk.rename(fresh, place)
        except OSError:
            disk.rename(old, place)
            raise
        disk.sync_folder(place.parent)
        shutil.rmtree(old)
        return
    disk.rename(fresh, place)
    disk.sync_folder(place.parent)


def _fill(disk: Disk, path: Path, parts: Iterable[bytes]) -> int:
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
    try:
        size = 0
        for block in _blocks(parts):
            write_all(disk, fd, block)
            size += len(block)
        disk.sync(fd)
        return size
    finally:
        disk.close(fd)


def _blocks(parts: Iterable[bytes]) -> Iterator[bytes]:
    gathered, size = list[bytes](), 0
    for part in parts:
        gathered.append(part)
        size += len(part)
        if size >= _FULL:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _remove(path: Path) -> None:
    """Whatever a failure left; nothing, if it got its name."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

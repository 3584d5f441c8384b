"""The files of an import: a file, a folder, a zip as other systems deliver it, or bytes.

Nothing is unpacked to the disk and nothing is changed. Symlinks are not followed, so that a folder from elsewhere
cannot name a file of this machine. A zip that would grow far beyond its size is refused before it is read.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from tallystick.records.errors import NotFound, Refused
from tallystick.records.transfer import MARK, Skipped
from tallystick.stores.places import is_memory, is_old

WHOLE = 1 << 30  # bytes of a file that has to be read as a whole
LONGEST = 64 << 20  # bytes of a line
_NO_BOMB = 100 << 20  # bytes: what is smaller than this harms nobody
_AT_MOST = 100  # times as large as the zip
_LINES = (".jsonl", ".ndjson", ".json")
MARKDOWN = (".md", ".markdown")  # how names end that say so; any text is Markdown
_A_LINK = "a symlink, or not a regular file; symlinks are not followed"
_HIDDEN = re.compile(r"(?:^|/)(?:\.|__MACOSX)")
_SHOWN = 3  # names of files that are passed over

STANDARD_INPUT = "standard input"


class CannotRead(ValueError):
    """A file that was given cannot be read, or not to its end, and why."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file, wherever it lies. It can be read from the start as often as need be."""

    name: str  # its path in what was given, for reports
    size: int
    opened: Callable[[], IO[bytes]]
    place: str = ""  # where it lies, all of the way

    @property
    def folder(self) -> str:
        return self.place.rpartition("/")[0]

    def head(self, size: int) -> bytes:
        """How it begins."""
        with self._open() as file:
            return file.read(size)

    def whole(self) -> bytes:
        """All of it."""
        if self.size > WHOLE:
            raise CannotRead(f"it has {self.size >> 20:,} MB; split it below {WHOLE >> 20:,} MB")
        with self._open() as file:
            data = file.read(WHOLE + 1)
        if len(data) > WHOLE:
            raise CannotRead(f"it has more than {WHOLE >> 20:,} MB; split it")
        return data

    def every_line(self, longest: int) -> Iterator[bytes]:
        """Its lines, one after the other; one that is longer comes in pieces."""
        with self._open() as file:
            yield from iter(partial(file.readline, longest + 1), b"")

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that say something, with their numbers. Of one that is longer than any, only the beginning."""
        with self._open() as file:
            number, is_rest = 1, False
            while line := file.readline(LONGEST + 1):
                if number == 1 and not is_rest:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if not is_rest and line.strip():
                    yield number, line if len(line) <= LONGEST else line[:100]
                is_rest = not line.endswith(b"\n")
                number += not is_rest

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        try:
            with self.opened() as file:
                yield file
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
            raise CannotRead(_why(error)) from None


def sources_in(given: Path | bytes) -> Iterator[Source | Skipped]:
    """The files that were given, those of a folder in the order of their names."""
    if isinstance(given, bytes):
        yield Source(STANDARD_INPUT, len(given), lambda: io.BytesIO(given))
        return
    try:
        mode = given.stat().st_mode
    except (OSError, ValueError):
        raise NotFound(f"nothing at {str(given)[:200]!r}; give a file, a folder or a zip") from None
    if stat.S_ISDIR(mode):
        if is_old(given):
            for name in ("events.wal", "snapshot.json"):
                if (given / name).exists():
                    yield from _in_file_or_skipped(given / name, name)
            return
        if is_memory(given):
            raise Refused(
                f"{str(given)[:200]!r} is a memory; give its export (`tallystick export`) or the folder of its pages",
                "place",
            )
        yield from _in_folder(given)
    elif stat.S_ISREG(mode):
        yield from _in_file(given, _safe(given.name))
    else:
        raise Refused(f"{str(given)[:200]!r} is neither a file nor a folder", "place")


def size_of(given: Path | bytes) -> int:
    """How many bytes there are to read."""
    return sum(each.size for each in sources_in(given) if isinstance(each, Source))


def _in_file(path: Path, name: str) -> Iterator[Source | Skipped]:
    if zipfile.is_zipfile(path):
        yield from _in_zip(path, name)
    else:
        where = _safe(path.absolute().as_posix())
        yield Source(name, path.stat().st_size, lambda: io.BufferedReader(io.FileIO(path)), where)


def _in_folder(root: Path) -> Iterator[Source | Skipped]:
    others, closed = list[str](), list[OSError]()
    if is_export(root):
        yield Skipped("index.md and what happened", "they are for reading; an export as NDJSON has everything")
        root = root / "pages"
    for folder, below, names in os.walk(root, onerror=closed.append):
        below[:] = sorted(each for each in below if not each.startswith("."))
        for each in filter(lambda each: os.path.islink(os.path.join(folder, each)), below):
            yield Skipped(_safe(Path(folder, each).relative_to(root).as_posix()), _A_LINK)
        for each in sorted(names):
            path = Path(folder, each)
            name = path.relative_to(root).as_posix()
            if not _may_hold(each, (".zip",)):
                others.append(name)
            elif path.is_symlink() or not path.is_file():
                yield Skipped(_safe(name), _A_LINK)
            else:
                yield from _in_file_or_skipped(path, _safe(name))
    yield from (Skipped(_safe(str(each.filename)), _why(each)) for each in closed)
    yield from _passed_over(others)


def is_export(root: Path) -> bool:
    """Whether a folder is the Markdown that `tallystick export` wrote."""
    try:
        with open(root / "index.md", "rb") as file:
            return file.read(len(MARK)) == MARK.encode()
    except (OSError, ValueError):
        return False


def _in_file_or_skipped(path: Path, name: str) -> Iterator[Source | Skipped]:
    """One of many that is refused does not keep out the rest."""
    try:
        yield from _in_file(path, name)
    except (Refused, OSError) as error:
        yield Skipped(name, str(error))


def _in_zip(path: Path, name: str) -> Iterator[Source | Skipped]:
    try:
        with zipfile.ZipFile(path) as file:
            members = [each for each in file.infolist() if not each.is_dir()]
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        yield Skipped(name, _why(error))
        return
    wanted = [each for each in members if _may_hold(each.filename) and not _HIDDEN.search(each.filename)]
    grown = sum(each.file_size for each in wanted)
    if grown > max(_NO_BOMB, _AT_MOST * path.stat().st_size):
        raise Refused(f"{name} unpacks to {grown >> 20:,} MB, more than {_AT_MOST} times; unpack it yourself", "size")
    for each in sorted(wanted, key=lambda each: each.filename):
        inside = _safe(f"{name}/{each.filename}")
        yield Source(inside, each.file_size, partial(_opened, path, each), inside)
    yield from _passed_over([each.filename for each in members if each not in wanted])


def _opened(path: Path, member: zipfile.ZipInfo) -> IO[bytes]:
    with zipfile.ZipFile(path) as file:  # it stays open as long as the member is
        return file.open(member)


def _passed_over(names: list[str]) -> Iterator[Skipped]:
    if names:
        shown = ", ".join(map(_safe, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
        files = "1 other file" if len(names) == 1 else f"{len(names):,} other files"
        yield Skipped(files, f"nothing that could be read as notes or conversations ({shown})")


def _may_hold(name: str, more: tuple[str, ...] = ()) -> bool:
    return name.lower().endswith((*_LINES, *MARKDOWN, *more)) and not name.startswith(".")


def _safe(name: str) -> str:
    """A name that is not text arrives with lone surrogates in it."""
    return name.encode("utf-8", "replace").decode()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"it could not be read ({error.strerror or error})"
    if isinstance(error, RuntimeError) and not isinstance(error, NotImplementedError):
        return "it is locked with a password; unpack it yourself"
    return f"not a readable zip file ({error})"

"""Destroying the words of an event while its proof stands.

The `data` of a line is overwritten by `null` and spaces, byte for byte as long as before: the header, the chain, the
tree and every offset stay as they were. Overwriting the same line again changes nothing, so an erasure that was cut
short is finished by doing it once more.

It reaches every file of the folder that can hold the words: the living stretch, sealed ones, copies under `backup/`
(each gets a list of what was erased from it, first), and the files in `sealed/` that are no stretches: torn ends and
ledgers that were taken over, and old copies of those, are removed whole. It does not reach copies elsewhere, nor what
a disk keeps in blocks it has let go of.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.chain import is_ours, raw_lines
from tallystick.ledger.disk import Disk, copy, overwrite, remove_all, replace
from tallystick.ledger.layout import Folder
from tallystick.records.errors import NotWritten

_BY_IDS = ("belief.", "episode.", "review.", "erase", "outcome.", "relation.")  # of these the audit has ids alone
PER_EVENT = 8000  # line hashes that fit in one event with room to spare


def hollow_out_folder(disk: Disk, folder: Folder, lines: Collection[str]) -> None:
    """Erase `lines` (by hash) from everything under `folder`, its copies included."""
    for copied in folder.copies():
        if is_foreign(copied):
            _remove_whole(disk, copied)
        else:
            _note_in_copy(disk, copied, lines)
            hollow_out(disk, copied, lines)
    hollow_out(disk, folder, lines)


def remove_page(disk: Disk, folder: Folder, path: str) -> None:
    """Remove a page from all copies: what was said of it goes, and the rest of it stands in the copy's ledger."""
    for copied in folder.copies():
        remove_all(disk, [copied.pages / path])


def must_reach(folder: Folder) -> None:
    """NotWritten, if there are pages or copies that cannot be read: words in them would stay."""

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # others replace their pages meanwhile
            raise NotWritten(f"{error.filename} cannot be read ({error.strerror}); make it readable, or move it away")

    for top in (folder.pages, folder.backups):
        for place, _, names in os.walk(top, onerror=refuse):
            for path in (os.path.join(place, name) for name in names):
                if not os.path.islink(path):
                    try:
                        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
                    except OSError as error:
                        refuse(error)


def is_foreign(folder: Folder) -> bool:
    """Whether a copy is of a ledger that was taken over: its first line that could be JSON has none of our keys.

    A damaged line of ours still has most of them, and a copy is not thrown away for a flipped bit.
    """
    if not folder.wal.is_file():  # a copy of ours has a log and segments, and no snapshot
        return folder.snapshot.is_file() and not folder.wal.exists() and not folder.sealed.exists()
    with open(folder.wal, "rb") as file:
        return not next((is_ours(line) for line in file if line.startswith(b"{")), True)


def _remove_whole(disk: Disk, folder: Folder) -> None:
    for path in sorted(folder.root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else disk.remove(path)
    folder.root.rmdir()
    disk.sync_folder(folder.root.parent)


def hollow_out(disk: Disk, folder: Folder, lines: Collection[str]) -> None:
    """Erase `lines` from the stretches of one folder, and remove what else may hold their words."""
    paths = [segment.path for segment in folder.sealed_segments()] + [folder.wal]
    for path in paths:
        if path.exists():
            hollow_out_file(disk, path, lines)
    strays = list(strays_in(folder))
    for stray in strays:
        disk.remove(stray)
    if strays:
        disk.sync_folder(folder.sealed)


def hollow_out_audit(disk: Disk, folder: Folder, lines: Collection[str]) -> None:
    """Take the names that people chose out of the audit of erased events. Who did what and when stays, and ids do."""
    try:
        told = folder.audit.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    if (made := [_nameless(line, lines) for line in told]) != told:
        replace(disk, folder.audit, b"".join(made))


def _nameless(line: bytes, lines: Collection[str]) -> bytes:
    try:
        act = orjson.loads(line)
        is_named = act["hash"] in lines and act["subject"] and not act["op"].startswith(_BY_IDS)
    except (ValueError, TypeError, LookupError, AttributeError):  # a torn end; whoever writes on cuts it off
        return line
    return orjson.dumps({**act, "subject": []}, option=orjson.OPT_SORT_KEYS) + b"\n" if is_named else line


def strays_in(folder: Folder) -> Iterator[Path]:
    """Files in `sealed/` that are not stretches of this chain."""
    segments = {segment.path for segment in folder.sealed_segments()}
    if folder.sealed.is_dir():
        yield from (path for path in sorted(folder.sealed.iterdir()) if path not in segments and path.is_file())


def lines_in(folder: Folder) -> Iterator[fmt.Line]:
    """The lines of a copy that can be read, in order."""
    paths = [segment.path for segment in folder.sealed_segments()] + [folder.wal]
    for path in paths:
        if path.is_file():
            with open(path, "rb") as file:
                yield from _readable(raw_lines(file.fileno(), 0, os.fstat(file.fileno()).st_size))


def _readable(lines: Iterable[tuple[int, bytes]]) -> Iterator[fmt.Line]:
    for _, raw in lines:
        try:
            yield fmt.parse(raw)
        except fmt.BadLine:
            continue


def hollow_out_file(disk: Disk, path: Path, lines: Collection[str]) -> int:
    """Erase `lines` where they stand in one file; return how many do."""
    spans = list(_spans(path, frozenset(lines)))
    if spans:
        fd = disk.open(path, os.O_RDWR)
        try:
            for start, length in spans:
                overwrite(disk, fd, fmt.hollow(length), start)
            disk.sync(fd)
        finally:
            disk.close(fd)
    return len(spans)


def _spans(path: Path, lines: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where the data of those lines stands: offset and length."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for offset, raw in raw_lines(fd, 0, os.fstat(fd).st_size):
            header = fmt.HEADER.match(raw)
            if header and header[fmt.HASH_GROUP].decode() in lines:
                yield offset + header.end(), len(raw) - header.end() - len(b"}\n")
    finally:
        os.close(fd)


def erased_in_copy(folder: Folder) -> set[str]:
    """The lines that were erased from a copy after it was made."""
    try:
        return set(folder.erased.read_text().split())
    except FileNotFoundError:
        return set()


def _note_in_copy(disk: Disk, folder: Folder, lines: Collection[str]) -> None:
    known = erased_in_copy(folder)
    if fresh := [line for line in lines if line not in known]:
        replace(disk, folder.erased, "".join(f"{line}\n" for line in [*sorted(known), *fresh]).encode())


def keep_bytes(disk: Disk, folder: Folder, name: str, start: int, end: int | None = None) -> Path:
    """Set bytes of the living stretch aside under `sealed/<name>`, on disk when this returns."""
    disk.make_folder(folder.sealed)
    target = _free_name(folder.sealed, name)
    copy(disk, folder.wal, target, start, end)
    disk.sync_folder(folder.sealed)
    disk.sync_folder(folder.root)
    return target


def _free_name(parent: Path, name: str) -> Path:
    number, target = 1, parent / name
    while target.exists():
        number += 1
        target = parent / f"{name}-{number}"
    return target

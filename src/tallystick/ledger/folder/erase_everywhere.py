"""Erasing the data of events while their proofs stay valid.

The `data` of a line is overwritten by `null` and spaces of the same length: the header, the chain, the tree and every
offset stay as they were. Overwriting the same line again changes nothing, so an interrupted erasure is finished by
doing it once more.

It reaches every file of the folder that can hold the data: the live segment, sealed ones, and copies under `backup/`
(each first gets a list of what was erased from it). Files in `sealed/` that are not segments (torn ends, ledgers of
older programs) and copies of ledgers of older programs are removed whole; so are copies with a state file, in which
nothing can be overwritten. The state file of the ledger itself is replaced by a later one: see ledger.py. It does not
reach copies elsewhere, nor what a disk keeps in blocks it no longer uses.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, copy, overwrite, remove_all, replace
from tallystick.ledger.folder.chain import file_lines, is_ours
from tallystick.ledger.folder.layout import Folder, free_name
from tallystick.records.errors import NotWritten

_BY_IDS = ("belief.", "episode.", "review.", "erase", "outcome.", "relation.")  # of these the audit has ids alone


def hollow_out_folder(disk: Disk, folder: Folder, lines: Collection[str]) -> None:
    """Erase `lines` (by hash) from everything in `folder`, its copies included."""
    for copied in folder.copies():
        if is_foreign(copied) or copied.sealed_states():
            going = copied.root.with_name(copied.root.name + ".new")  # what a crash leaves of it is never a copy
            disk.rename(copied.root, going)
            disk.sync_folder(going.parent)
            for path in sorted(going.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else disk.remove(path)
            going.rmdir()
            disk.sync_folder(going.parent)
            continue
        known = erased_in_copy(copied)
        if fresh := [line for line in lines if line not in known]:
            replace(disk, copied.erased, "".join(f"{line}\n" for line in [*sorted(known), *fresh]).encode())
        hollow_out(disk, copied, lines)
    hollow_out(disk, folder, lines)


def remove_page(disk: Disk, folder: Folder, path: str) -> None:
    """Remove a page from all copies. What else it says is in the copy's ledger."""
    for copied in folder.copies():
        remove_all(disk, [copied.pages / path])


def must_reach(folder: Folder) -> None:
    """Raise NotWritten if a page or copy cannot be read: data in it would stay."""

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
    """True if a copy is of an older program's ledger: its first line that could be JSON has none of our keys.

    A damaged line of ours still has most of them: a copy is not removed because of a flipped bit.
    """
    if not folder.wal.is_file():  # a copy of ours has a log and segments, and no snapshot
        return folder.snapshot.is_file() and not folder.wal.exists() and not folder.sealed.exists()
    with open(folder.wal, "rb") as file:
        return not next((is_ours(line) for line in file if line.startswith(b"{")), True)


def hollow_out(disk: Disk, folder: Folder, lines: Collection[str]) -> None:
    """Erase `lines` from the segments of one folder, and remove other files that may hold their data."""
    for path in folder.chain_files():
        if path.exists():
            hollow_out_file(disk, path, lines)
    segments = {segment.path for segment in folder.sealed_segments()}
    inside = sorted(folder.sealed.iterdir()) if folder.sealed.is_dir() else []
    kept = {*segments, *folder.sealed_states()}
    strays = [path for path in inside if path not in kept and path.is_file()]
    for stray in strays:
        disk.remove(stray)
    if strays:
        disk.sync_folder(folder.sealed)


def hollow_out_audit(disk: Disk, folder: Folder, lines: Collection[str], first: int = 0) -> None:
    """Remove the names that people chose from the audit of erased events. Who did what and when stays, and ids do.

    Of events before `first`, which were moved away, nobody can tell which are about what was erased: all names go.
    """
    try:
        before = folder.audit.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    if (after := [_without_names(line, lines, first) for line in before]) != before:
        replace(disk, folder.audit, b"".join(after))


def _without_names(line: bytes, lines: Collection[str], first: int) -> bytes:
    try:
        act = orjson.loads(line)
        is_gone = act["hash"] in lines or act["seq"] < first
        is_named = is_gone and act["subject"] and not act["op"].startswith(_BY_IDS)
    except (ValueError, TypeError, LookupError, AttributeError):  # a torn end; the next writer cuts it off
        return line
    return orjson.dumps({**act, "subject": []}, option=orjson.OPT_SORT_KEYS) + b"\n" if is_named else line


def lines_in(folder: Folder) -> Iterator[fmt.Line]:
    """The readable lines of a copy, in order."""
    for path in folder.chain_files():
        for _, raw in file_lines(path) if path.is_file() else ():
            if line := fmt.try_parse(raw):
                yield line


def hollow_out_file(disk: Disk, path: Path, lines: Collection[str]) -> None:
    wanted, spans = frozenset(lines), list[tuple[int, int]]()
    for offset, raw in file_lines(path):
        header = fmt.HEADER.match(raw)
        if header and header[fmt.HASH_GROUP].decode() in wanted:
            spans.append((offset + header.end(), len(raw) - header.end() - len(b"}\n")))
    if spans:
        fd = disk.open(path, os.O_RDWR)
        try:
            for start, length in spans:
                overwrite(disk, fd, fmt.hollow(length), start)
            disk.sync(fd)
        finally:
            disk.close(fd)


def erased_in_copy(folder: Folder) -> set[str]:
    """The lines that were erased from a copy after it was made."""
    try:
        return set(folder.erased.read_text().split())
    except FileNotFoundError:
        return set()


def keep_bytes(disk: Disk, folder: Folder, name: str, start: int, end: int | None = None) -> Path:
    """Copy bytes of the live segment to `sealed/<name>`, on disk when this returns."""
    disk.make_folder(folder.sealed)
    target = free_name(folder.sealed, name)
    copy(disk, folder.wal, target, start, end)
    disk.sync_folder(folder.sealed)
    disk.sync_folder(folder.root)
    return target

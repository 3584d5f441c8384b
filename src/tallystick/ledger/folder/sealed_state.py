"""`sealed/state-<seq>`: the state after event `seq`, in place of the events up to it once they were moved away.

It is truth, like the events that it replaces, and made of them alone: never of the rows of `state.db`, which may have
been edited. An event records its digest, and it is used only if it is the one that the newest such event records. One
that is missing or changed is refused, and nothing else takes its place.

The first line says where it is in the chain; every other is one row: its table, key and value. Lines, because they are
read and written one by one however many there are, have no free pages that keep removed words, and need no database.
The nonce keeps the recorded digest from being a hash of texts alone, which could be guessed once they were erased.

Order: the new file, synced, under a name that ends in `.new`; then the event; then the rename. So at every moment there
is a file that the ledger records. The next writer renames it if a crash came between, and removes older ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import file_digest, sha256
from itertools import chain
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import CHUNK, Disk, remove_all, remove_if_there, write_all
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.merkle import Range
from tallystick.ledger.scan import LedgerNote, Place
from tallystick.records.errors import Damaged, Missing, TallystickError

FORMAT = 1  # a change of the rows needs a higher one, and a function that lifts those of the one before


class SealedState(NamedTuple):
    """A state file as read: its place in the ledger, and what is known there beside the rows."""

    path: Path
    digest: str
    place: Place
    tree: Range
    standing: dict[str, Any]
    erased: frozenset[str]  # lines and ids that were erased before it was written: a restore erases them again

    def rows(self) -> Iterator[bytes]:
        with open(self.path, "rb") as file:
            file.readline()
            yield from file


def write_fresh(
    disk: Disk, folder: Folder, place: Place, tree: Range, standing: dict[str, Any], erased: Iterable[str],
    rows: Iterable[bytes],
) -> str:  # fmt: skip
    """Write a state file under its `.new` name, synced, and return its digest."""
    head = {
        "format": FORMAT, "seq": place.seq, "hash": place.hash, "ts": place.ts, "nonce": os.urandom(16).hex(),
        "tree": tree.to_json(), "standing": standing, "erased": sorted(erased),
    }  # fmt: skip
    path, digest = _fresh(folder.sealed_state(place.seq)), sha256()
    disk.make_folder(folder.sealed)
    remove_if_there(disk, path)
    fd = disk.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)
    try:
        for block in _blocks(chain([orjson.dumps(head)], rows)):
            write_all(disk, fd, block)
            digest.update(block)
        disk.sync(fd)
    except OSError as error:
        error.filename = error.filename or str(path)  # the system does not name the file
        raise
    finally:
        disk.close(fd)
    disk.sync_folder(folder.sealed)
    disk.sync_folder(folder.root)
    return digest.hexdigest()


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    waiting, size = list[bytes](), 0
    for line in lines:
        waiting += (line, b"\n")
        size += len(line)
        if size >= CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _fresh(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def settle(disk: Disk, folder: Folder, seq: int, digest: str) -> None:
    """Put the file that the ledger records in its place, if it is not there yet, and remove all others."""
    path = folder.sealed_state(seq)
    if _fresh(path).is_file() and _digest(_fresh(path)) == digest:
        disk.rename(_fresh(path), path)
        disk.sync_folder(folder.sealed)
    if path.is_file():
        remove_all(disk, [other for other in folder.sealed_states() if other != path])


def is_there(folder: Folder, seq: int, digest: str) -> bool:
    """True if the file that the ledger records is in its place, as it was written."""
    try:
        return bool(digest) and _digest(folder.sealed_state(seq)) == digest
    except OSError:
        return False


def mapped(folder: Folder, seq: int, digest: str) -> mmap | None:
    """The bytes of the file that the ledger records; None, if it is not in its place as it was written."""
    try:
        with open(folder.sealed_state(seq), "rb") as file:
            data = mmap(file.fileno(), 0, access=ACCESS_READ)
            return data if digest and sha256(data).hexdigest() == digest else None
    except (OSError, ValueError):
        return None


def found_in(folder: Folder) -> Iterator[SealedState]:
    """The state files here that can be read. None is trusted yet."""
    return filter(None, map(_read, folder.sealed_states()))


def erased_by(notes: Iterable[LedgerNote]) -> set[str]:
    """The lines that events name as erased, and the ids. Lines that a repair gave up are not among them: their data was
    lost, and a copy that still has it is welcome."""
    own = [note for note in notes if note.op in (fmt.ERASE, fmt.RESTORE)]
    return {name for note in own for name in (*note.lines, *map(str, note.body.get("ids", ())))}


def recorded(notes: Iterable[LedgerNote]) -> tuple[int, str]:
    """The last event of the state file that the newest such event records, and its digest; -1, if there is none."""
    found = -1, ""
    for note in notes:
        if note.op == fmt.STATE:
            found = int(note.body.get("seq", -1)), str(note.body.get("digest", ""))
    return found


def find(folder: Folder, notes: Iterable[LedgerNote], first: int) -> SealedState:
    """The state in place of the events before `first`, which are not here. Missing or Damaged, if there is none."""
    seq, digest = recorded(notes)
    for file in found_in(folder) if digest else ():
        if file.digest == digest and file.place.seq >= first - 1:
            return file
    raise trouble(folder, (seq, digest), first)


def trouble(folder: Folder, state: tuple[int, str], first: int) -> TallystickError:
    """The error for events before `first`, which are not here, and neither is the state file `state` in their place."""
    gone = f"events 0 to {first - 1} were moved away"
    if state[0] >= 0:
        path = folder.sealed_state(state[0])
        name = path.relative_to(folder.root)
        back = f"put it back from a backup, or put their files back into {folder.sealed}"
        if path.exists():
            return Damaged(f"{name} is not as it was recorded, and {gone}; {back}")
        return Missing(f"{name} is missing, and {gone}; {back}")
    where = "to see where they are, run tallystick log --op ledger.prune"
    return Missing(f"{gone}, and no state was kept of them; put their files back into {folder.sealed} ({where})")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> SealedState | None:
    try:
        digest = _digest(path)
        with open(path, "rb") as file:
            raw = orjson.loads(file.readline())
        if raw["format"] != FORMAT:
            return None
        place = Place(0, int(raw["seq"]), str(raw["hash"]), str(raw["ts"]))
        tree, erased = Range.from_json(raw["tree"]), frozenset(map(str, raw.get("erased", ())))
        return SealedState(path, digest, place, tree, raw["standing"], erased)
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None

"""The first line, what to do when there is no live segment, and the verdict on one that is there.

A missing `events.wal` is a new memory only if no other file was made from an old one: no sealed segment, witness,
snapshot, checkpoint or backup. If a compaction was interrupted between its two renames, it is finished with the line
that had been prepared. Anything else counts as rolled back. It is never a new beginning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, write_new
from tallystick.ledger.folder.chain import first_line, last_line, raw_lines
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.lock import Witness
from tallystick.ledger.scan import Bad, Place, Scan
from tallystick.records.errors import Damaged, Refused, RolledBack


def ledger_id(folder: Folder) -> str:
    """The id of the ledger in a folder or copy, from the first line of any segment; empty if none can be read."""
    return next((found for path in folder.chain_files() if (found := named_in(path))), "")


def named_in(path: Path) -> str:
    """The id of the ledger that a segment belongs to, from its first line; empty if that cannot be read."""
    try:
        line = fmt.parse(first_line(path))
        return str(fmt.body_of(line.data).get("ledger", "")) if line.sound else ""
    except (OSError, fmt.BadLine):
        return ""


def ensure_wal(disk: Disk, folder: Folder, witness: Witness | None, first: Callable[[], bytes]) -> None:
    """Make sure that there is an `events.wal`."""
    must_have_arrived(folder)
    if folder.wal.exists():
        return
    sealed = folder.sealed_segments()
    has_history = folder.snapshot.exists() or folder.checkpoint.exists() or bool(folder.copies())
    is_continued = False
    if sealed:
        with suppress(OSError):
            is_continued = is_prepared(folder, sealed[-1].last or 0, last_hash(sealed[-1].path))
    if is_continued:
        disk.sync_folder(folder.sealed)
    elif not sealed and witness is None and not has_history:
        write_new(disk, folder.new_wal, first())
    else:
        raise RolledBack(f"{folder.wal} is missing, but others refer to it; put it back, or run `tallystick restore`")
    disk.rename(folder.new_wal, folder.wal)
    disk.sync_folder(folder.root)


def must_have_arrived(folder: Folder) -> None:
    """Refused, if a memory is being moved to that folder."""
    if folder.arriving.exists():
        raise Refused(
            f"{folder.root} is not open yet: a memory is being moved there; run `tallystick move` again", "state"
        )


class MovedTo(NamedTuple):
    """What `moved-to` says: where the memory is, and the last event that it had when it was moved."""

    place: str
    seq: int
    hash: str

    @classmethod
    def read(cls, folder: Folder) -> MovedTo | None:
        """None, if it has not moved. A file that says nothing closes the folder too."""
        try:
            raw = orjson.loads(folder.moved_to.read_bytes())
            return cls(str(raw["place"]), int(raw["seq"]), str(raw["hash"]))
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError):
            return cls("another place", -1, "")


def is_prepared(folder: Folder, seq: int, hashed: str) -> bool:
    """True if a compaction stopped between its two renames, with a segment ready that follows event `seq`."""
    try:
        line = fmt.parse(first_line(folder.new_wal))
    except (OSError, Damaged, fmt.BadLine):
        return False
    return line.sound and (line.seq, line.prev) == (seq + 1, hashed)


def last_hash(path: Path) -> str:
    """The hash of a segment's last event; empty if that cannot be read."""
    with open(path, "rb") as file:
        line = fmt.try_parse(last_line(file.fileno(), os.fstat(file.fileno()).st_size))
    return line.hash if line else ""


# -- the verdict on a live segment -------------------------------------------------------------------------------------
# The first that applies:
#
# 1. A witness names an event that is missing, or has another hash: **rolled back**. Writing is refused.
# 2. Every line is good and the last group is whole: **clean**.
# 3. Nothing that a witness covers is wrong, no readable line after the first bad one belongs to a later sync, and the
#    rest is what a crash can leave (a proper prefix of a line, a 512-byte cell of zeros, the beginning of a group):
#    **torn**. It was never acknowledged to anyone. The bytes are kept, the file is cut back.
# 4. Anything else: **damaged**. Nothing repairs it silently.
#
# A flipped bit never looks torn: it leaves a whole line with a wrong hash, or an end that is not a prefix of any line.

CELL = 512


class Verdict(NamedTuple):
    """The state of a ledger, and up to where it is good."""

    kind: Literal["clean", "torn", "rolled back", "damaged"]
    end: Place
    why: str = ""
    bad: Bad | None = None


def judge(fd: int, size: int, found: Scan, bad: Bad | None, witness: Witness | None) -> Verdict:
    """The verdict on a live segment that was scanned to `size`, as far as its own witness can tell.

    The caller compares the hashes that witnesses have seen with those of the chain.
    """
    end = bad.before if bad else found.end
    if witness and end.seq < witness.seq:
        if bad and bad.offset < witness.length <= size:
            return _damaged(end, bad)
        why = f"it ends at event {end.seq}, but {witness.name} has seen event {witness.seq}"
        return Verdict("rolled back", end, why, bad)
    if end.offset == 0:  # a segment gets its name with its first line whole in it: no crash can have cut that one
        return _damaged(end, bad or Bad(0, end.seq + 1, "it is empty", end))
    if bad is None:
        return Verdict("torn", end, "the last group is incomplete") if found.open_group else Verdict("clean", end)
    if witness and bad.offset < witness.length:
        return _damaged(end, bad)
    later = (fmt.try_parse(raw) for _, raw in raw_lines(fd, bad.offset, size))
    is_acknowledged = any(line.batch > bad.seq for line in later if line)  # a line further on is of a later sync
    if is_acknowledged or not _crash_can_leave(fd, bad, size):
        return _damaged(end, bad)
    return Verdict("torn", end, f"the last write was not finished ({bad.why})", bad)


def _damaged(end: Place, bad: Bad) -> Verdict:
    return Verdict("damaged", end, f"event {bad.seq} at byte {bad.offset}: {bad.why}", bad)


def _crash_can_leave(fd: int, bad: Bad, size: int) -> bool:
    """True if a 512-byte cell after the bad offset is all zeros, or the rest is a prefix of a line."""
    at = bad.offset
    while at < size:
        stop = min(size, (at // CELL + 1) * CELL)
        if not os.pread(fd, stop - at, at).strip(b"\0"):
            return True
        at = stop
    return is_prefix_of_line(os.pread(fd, min(size - bad.offset, fmt.MAX_LINE + 1), bad.offset))


def is_prefix_of_line(rest: bytes) -> bool:
    """True if `rest` is a line that was cut short: its newline, at least, is missing."""
    if b"\n" in rest or len(rest) >= fmt.MAX_LINE:
        return False
    header = fmt.HEADER.match(rest)
    if header is None:
        return _is_cut_header(rest)
    return _is_cut_object(rest[header.end() :])


def _is_cut_object(rest: bytes) -> bool:
    """True if `rest` is the beginning of one JSON object and the closing brace of its line."""
    depth, quoted, escaped = 0, False, False
    for at, byte in enumerate(rest):
        if byte < 0x20:
            return False
        if quoted:
            quoted, escaped = (byte != 0x22 or escaped), (byte == 0x5C and not escaped)
        elif byte == 0x22:
            quoted = True
        elif byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
        if depth == 0 and not quoted:
            return byte in b"}" and rest[at + 1 :] in (b"", b"}")
    return True


def _is_cut_header(rest: bytes) -> bool:
    """True if `rest` is the beginning of a header, cut anywhere."""
    at = 0
    for literal, form in _HEADER_PARTS:
        if at + len(literal) >= len(rest):
            return literal.startswith(rest[at:])
        if not rest.startswith(literal, at):
            return False
        found = form.match(rest, at + len(literal))
        if found is None:
            return False
        at = found.end()
    return at == len(rest)


_NUMBER, _HEX = re.compile(rb"\d{1,16}"), re.compile(rb"[0-9a-f]{1,64}")
_HEADER_PARTS = (
    (b'{"seq":', _NUMBER),
    (b',"ts":"', re.compile(rb"[-0-9T:.Z]{1,27}")),
    (b'","op":"', re.compile(rb"[a-z./0-9]{1,64}")),
    (b'","id":"', re.compile(rb"[0-9A-Z]{1,26}")),
    (b'","by":"', re.compile(rb"[a-z:0-9]{1,64}")),
    (b'","batch":', _NUMBER),
    (b',"left":', _NUMBER),
    (b',"digest":"', _HEX),
    (b'","prev":"', _HEX),
    (b'","hash":"', _HEX),
    (b'","data":', re.compile(rb"")),
)

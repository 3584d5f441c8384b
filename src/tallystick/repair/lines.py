"""Mending damaged lines. What it gives up, it names; what it cuts, it keeps.

The order on disk: the damaged bytes are kept under `sealed/damaged-…`; the new living stretch is finished beside the
old one, ending in a `ledger.repair/1` event that names every line that has lost its words; one rename puts it in place.
Only then are sealed files put back or emptied. A crash before the rename leaves everything as it was; after it, a file
that is still to be put back is found damaged again, and words that are still to be emptied are on record as given up.

Where events get other places, the repair event names the head that was left behind, as a restore does: the witness in
the lock file may still speak of that one if the process dies before setting it anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallystick.ledger import format as fmt, genesis as begin, snapshot
from tallystick.ledger.chain import first_line, raw_lines
from tallystick.ledger.disk import Disk, copy, remove_all, remove_if_there, write_all, write_new
from tallystick.ledger.erase_everywhere import PER_EVENT, hollow_out_file, keep_bytes
from tallystick.ledger.lock import Lock
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.scan import Place, Scan, scan
from tallystick.records.errors import Damaged
from tallystick.records.operations import BELIEF_SUPERSEDE
from tallystick.repair.check import Look
from tallystick.repair.plan import Cure, Operation
from tallystick.repair.salvage import Scribe, groups
from tallystick.repair.scan import bytes_of

_LEDGER = re.compile(rb'"ledger":"([0-9a-f]{32})"')
_MOST_RANGES = 2000  # of lost events, in one event


def perform(found: Operation, disk: Disk, lock: Lock, ts: str, by: str) -> None:
    """Do it, under the exclusive lock."""
    folder = found.look.folder
    kept = _keep(found, disk, ts)
    end = _write_living(found, disk, kept, ts, by)
    remove_all(disk, folder.index_files())  # it is a witness of the chain that is being left, and grows back
    disk.rename(begin.fresh_wal(folder), folder.wal)
    disk.sync_folder(folder.root)
    lock.settle(end.seq, end.hash, end.offset)
    for cure in found.cures[:-1]:
        _fix_sealed(disk, cure, found.look.seen.named)
    if (found.lost or found.living.broken) and not found.look.seen.gaps:  # it would show what no event explains
        remove_if_there(disk, folder.snapshot)


def _keep(found: Operation, disk: Disk, ts: str) -> list[str]:
    """Set aside what will be cut or overwritten, and return the names under `sealed/`."""
    folder, living = found.look.folder, found.living
    name = "damaged-" + ts[:19].replace("-", "").replace(":", "")
    kept = []
    disk.make_folder(folder.sealed)
    if living.broken:
        kept.append(keep_bytes(disk, folder, f"{name}.wal", 0).name)
    elif living.place.offset < living.reading.size and not living.graft:
        kept.append(keep_bytes(disk, folder, f"torn-{living.place.seq + 1:012d}", living.place.offset).name)
    lines = [flaw for cure in found.cures if not cure.broken for flaw in cure.reading.flaws]
    if lines:
        kept.append(_free_name(folder.sealed, f"{name}.lines"))
        write_new(disk, folder.sealed / kept[-1], b"".join(map(bytes_of, lines)))
    disk.sync_folder(folder.sealed)
    disk.sync_folder(folder.root)
    return kept


def _free_name(parent: Path, name: str) -> str:
    number, free = 1, name
    while (parent / free).exists():
        number += 1
        free = f"{name}-{number}"
    return free


def _write_living(found: Operation, disk: Disk, kept: list[str], ts: str, by: str) -> Place:
    """The new living stretch, whole, under its `.new` name; return where it ends."""
    living, fresh = found.living, begin.fresh_wal(found.look.folder)
    scribe = _begun(found, ts, by)
    for group in groups(living.behind):
        scribe.again(group)
    if found.saved:
        scribe.tell(BELIEF_SUPERSEDE, found.saved, ts, by)
    _write_pieces(disk, living, fresh, scribe.take())
    hollow_out_file(disk, fresh, found.look.seen.named.union(flaw.hash for flaw in found.emptied))
    scribe.tell(fmt.REPAIR, _bodies(found, kept, _unexplained(found, fresh)), ts, by)
    _append(disk, fresh, scribe.take())
    return _checked(found, fresh)


def _begun(found: Operation, ts: str, by: str) -> Scribe:
    """Whoever writes on behind what stays. If that is nothing, the line that opens the stretch is written anew."""
    living = found.living
    scribe = Scribe(living.place)
    at = living.behind.again[0].ts if living.behind.again else ts
    if living.place.seq < 0:
        scribe.tell(fmt.BEGIN, [{"ledger": _identity(found.look), "format": fmt.FORMAT, "begun": at}], at, by)
    elif living.loses_first_line:
        scribe.tell(fmt.SEAL, [_seal(found)], at, by)
    return scribe


def _seal(found: Operation) -> dict[str, Any]:
    """What the first line of a stretch says of the one before it. The snapshot it named cannot be known any more."""
    before, tree = found.cures[-2].reading, Range()
    for cure in found.cures[:-1]:
        tree.extend(_leaves(cure))
    segment = {"first": before.start.seq + 1, "last": before.last, "head": found.living.place.hash}
    count = found.living.place.seq - before.start.seq
    root = tree.root().hex()
    return {"ledger": _identity(found.look), "stretch": segment, "events": count, "root": root, "snapshot": ""}


def _leaves(cure: Cure) -> Iterator[bytes]:
    for path, start, end in cure.pieces():
        with open(path, "rb") as file:
            yield from (leaf_hash(fmt.parse(raw).slice) for _, raw in raw_lines(file.fileno(), start, end))


def _identity(look: Look) -> str:
    """Which ledger this is: from a first line, its own or a backup's, or from the snapshot; else from what is left."""
    names = [look.seen.standing.ledger, begin.ledger_id(look.folder), *map(begin.ledger_id, reversed(look.good))]
    names += [str(each.standing["ledger"]) for each in snapshot.candidates(look.folder)]
    left = _LEDGER.search(first_line(look.folder.wal))
    return next(filter(None, names), left[1].decode() if left else os.urandom(16).hex())


def _bodies(found: Operation, kept: list[str], lines: list[str]) -> list[dict[str, Any]]:
    """What the repair was, for the ledger: as many bodies as it takes to name every line without words."""
    living, look = found.living, found.look
    first: dict[str, Any] = {
        "ledger": _identity(look), "kept": kept, "lost": found.lost[:_MOST_RANGES],
        "again": len(living.behind.again), "saved": len(found.saved),
        "healed": sum(len(cure.healed) for cure in found.cures),
    }  # fmt: skip
    if living.broken:
        seq, hashed = _head(found)
        first |= {"after": living.place.seq, "abandoned": {"seq": seq, "hash": hashed}}
    parts = [lines[at : at + PER_EVENT] for at in range(0, max(len(lines), 1), PER_EVENT)]
    return [{**(first if number == 0 else {}), "lines": part} for number, part in enumerate(parts)]


def _head(found: Operation) -> tuple[int, str]:
    """The head that is left behind: what the lock file has seen, if the chain no longer has it; else the last line."""
    witness, living = found.look.seen.witness, found.living
    return (witness.seq, witness.hash) if witness and witness.seq > living.place.seq else living.behind.last


def _unexplained(found: Operation, fresh: Path) -> list[str]:
    """The lines without words that no event in the new file or in the sealed ones names."""
    living = _scan_all(fresh)
    named = living.named | _named_in_sealed(found)
    sealed = [hashed for cure in found.cures[:-1] for hashed in cure.reading.hollow if hashed in found.look.seen.named]
    given_up = [flaw.hash for flaw in found.emptied]
    wanted = dict.fromkeys([*living.hollow, *sealed, *given_up, *found.look.seen.left_standing])
    return [hashed for hashed in wanted if hashed not in named]


def _named_in_sealed(found: Operation) -> set[str]:
    return set[str]().union(*(cure.reading.found.named for cure in found.cures[:-1]))


def _scan_all(path: Path) -> Scan:
    line = fmt.parse(first_line(path))
    with open(path, "rb") as file:
        return scan(file.fileno(), Place(0, line.seq - 1, line.prev), os.fstat(file.fileno()).st_size)


def _checked(found: Operation, fresh: Path) -> Place:
    """Nothing takes the ledger's place that is not whole itself."""
    fixed = _scan_all(fresh)
    if bad := fixed.settle(_named_in_sealed(found)):
        raise Damaged(f"the mended file would be damaged at event {bad.seq} ({bad.why}); nothing was changed")
    return fixed.end


def _write_pieces(disk: Disk, cure: Cure, target: Path, more: bytes = b"") -> None:
    remove_if_there(disk, target)
    for path, start, end in cure.pieces():
        copy(disk, path, target, start, end)
    _append(disk, target, more)


def _append(disk: Disk, target: Path, more: bytes) -> None:
    fd = disk.open(target, os.O_WRONLY | os.O_APPEND)
    try:
        write_all(disk, fd, more)
        disk.sync(fd)
    finally:
        disk.close(fd)


def _fix_sealed(disk: Disk, cure: Cure, named: set[str]) -> None:
    """Put back what a backup had, and empty what is on record as given up."""
    path = cure.reading.path
    if cure.healed:
        fresh = path.with_name(path.name + ".new")
        _write_pieces(disk, cure, fresh)
        hollow_out_file(disk, fresh, named)
        disk.rename(fresh, path)
        disk.sync_folder(path.parent)
    if cure.emptied:
        hollow_out_file(disk, path, [flaw.hash for flaw in cure.emptied])

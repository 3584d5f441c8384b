"""Repairing damaged lines. Lost data is named; cut bytes are kept.

The order on disk: the damaged bytes are kept under `sealed/damaged-…`; the new live segment is finished under its
`.new` name, ending in a `ledger.repair/1` event that names every line that has lost its data; one rename puts it in
place. Only then are sealed files put back or emptied. A crash before the rename leaves everything as it was; after it,
a file that is still to be put back is found damaged again, and data that is still to be emptied is on record as given
up.

If events get other places, the repair event names the head that was left behind, as a restore does: the witness in the
lock file may still name that one if the process dies before replacing it.
"""

from __future__ import annotations

import os
import re
from itertools import groupby
from pathlib import Path
from typing import Any

from tallystick.ledger import format as fmt, genesis as begin, snapshot
from tallystick.ledger.chain import first_line
from tallystick.ledger.disk import Disk, append, copy, remove_all, remove_if_there, write_new
from tallystick.ledger.erase_everywhere import PER_EVENT, hollow_out_file, keep_bytes
from tallystick.ledger.layout import free_name
from tallystick.ledger.lock import Lock
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.scan import Place, scan_path
from tallystick.records.errors import Damaged
from tallystick.records.operations import BELIEF_SUPERSEDE
from tallystick.repair.check import Look
from tallystick.repair.plan import Cure, Operation

_LEDGER = re.compile(rb'"ledger":"([0-9a-f]{32})"')
_MOST_RANGES = 2000  # of lost events, in one event


def perform(found: Operation, disk: Disk, lock: Lock, ts: str, by: str) -> None:
    """Carry out the repair, under the exclusive lock."""
    folder = found.look.folder
    kept = _keep(found, disk, ts)
    end = _write_live(found, disk, kept, ts, by)
    remove_all(disk, folder.index_files())  # the index is a witness of the old chain, and is rebuilt
    disk.rename(folder.new_wal, folder.wal)
    disk.sync_folder(folder.root)
    lock.settle(end.seq, end.hash, end.offset)
    for cure in found.cures[:-1]:
        _fix_sealed(disk, cure, found.look.survey.named)
    if (found.lost or found.live.broken) and not found.look.survey.gaps:  # it would show what no event explains
        remove_if_there(disk, folder.snapshot)


def _keep(found: Operation, disk: Disk, ts: str) -> list[str]:
    """Copy what will be cut or overwritten, and return the names under `sealed/`."""
    folder, live = found.look.folder, found.live
    name = "damaged-" + ts[:19].replace("-", "").replace(":", "")
    kept = []
    disk.make_folder(folder.sealed)
    if live.broken:
        kept.append(keep_bytes(disk, folder, f"{name}.wal", 0).name)
    elif live.place.offset < live.reading.size and not live.graft:
        kept.append(keep_bytes(disk, folder, f"torn-{live.place.seq + 1:012d}", live.place.offset).name)
    lines = [flaw for cure in found.cures if not cure.broken for flaw in cure.reading.flaws]
    if lines:
        target = free_name(folder.sealed, f"{name}.lines")
        kept.append(target.name)
        write_new(disk, target, b"".join(flaw.read() for flaw in lines))
    disk.sync_folder(folder.sealed)
    disk.sync_folder(folder.root)
    return kept


def _write_live(found: Operation, disk: Disk, kept: list[str], ts: str, by: str) -> Place:
    """Write the new live segment, whole, under its `.new` name; return its end."""
    live, fresh = found.live, found.look.folder.new_wal
    encoder = fmt.LineEncoder(live.place.seq, live.place.hash)
    again = live.behind.again
    at = again[0].ts if again else ts
    if live.place.seq < 0:  # nothing stays, so the line that opens the segment is written again
        encoder.add(fmt.BEGIN, [{"ledger": _identity(found.look), "format": fmt.FORMAT, "begun": at}], at, by)
    elif live.loses_first_line:
        encoder.add(fmt.SEAL, [_seal(found)], at, by)
    moved: dict[int, int] = {}  # old seq → new seq
    for _, group in groupby(again, key=lambda line: line.seq + line.left):  # a group ends at one event
        lines = list(group)
        encoder.add_group([(line.op, line.id, line.by, line.ts, _data(line, moved)) for line in lines])
        moved |= {line.seq: encoder.seq - len(lines) + at for at, line in enumerate(lines, 1)}
    if found.saved:
        encoder.add(BELIEF_SUPERSEDE, found.saved, ts, by)
    _write_pieces(disk, live, fresh, encoder.take())
    hollow_out_file(disk, fresh, found.look.survey.named.union(flaw.hash for flaw in found.emptied))
    encoder.add(fmt.REPAIR, _bodies(found, kept, _unexplained(found, fresh)), ts, by)
    append(disk, fresh, encoder.take())
    repaired = scan_path(fresh)
    if bad := repaired.first_bad(_named_in_sealed(found)):  # nothing damaged is ever put in place
        raise Damaged(f"the repaired file would be damaged at event {bad.seq} ({bad.why}); nothing was changed")
    return repaired.end


def _data(line: fmt.Line, moved: dict[int, int]) -> bytes:
    """The data of a line that is recorded again. The end of an erasure names the erasure by its seq."""
    if line.op != fmt.ERASED:
        return line.data
    body = fmt.body_of(line.data)
    return fmt.data_of({**body, "of": moved.get(body["of"], body["of"])})


def _seal(found: Operation) -> dict[str, Any]:
    """The first line of a segment, about the one before it. The snapshot it named is unknown now."""
    before, tree = found.cures[-2].reading, Range()
    for cure in found.cures[:-1]:
        tree.extend(leaf_hash(fmt.parse(raw).slice) for raw in cure.lines())
    segment = {"first": before.start.seq + 1, "last": before.last, "head": found.live.place.hash}
    count = found.live.place.seq - before.start.seq
    root = tree.root().hex()
    return {"ledger": _identity(found.look), "stretch": segment, "events": count, "root": root, "snapshot": ""}


def _identity(look: Look) -> str:
    """The id of the ledger: from a first line, its own or a backup's, or from the snapshot; else from what is left."""
    names = [look.survey.standing.ledger, begin.ledger_id(look.folder), *map(begin.ledger_id, reversed(look.good))]
    names += [str(each.standing["ledger"]) for each in snapshot.candidates(look.folder)]
    left = _LEDGER.search(first_line(look.folder.wal))
    return next(filter(None, names), left[1].decode() if left else os.urandom(16).hex())


def _bodies(found: Operation, kept: list[str], lines: list[str]) -> list[dict[str, Any]]:
    """The bodies of the repair events: as many as it takes to name every line without data."""
    live, witness = found.live, found.look.survey.witness
    first: dict[str, Any] = {
        "ledger": _identity(found.look), "kept": kept, "lost": found.lost[:_MOST_RANGES],
        "again": len(live.behind.again), "saved": len(found.saved),
        "healed": sum(len(cure.healed) for cure in found.cures),
    }  # fmt: skip
    if live.broken:  # the head that is left behind: the witness, if the chain no longer has it; else the last line
        seq, hashed = (witness.seq, witness.hash) if witness and witness.seq > live.place.seq else live.behind.last
        first |= {"after": live.place.seq, "abandoned": {"seq": seq, "hash": hashed}}
    parts = [lines[at : at + PER_EVENT] for at in range(0, max(len(lines), 1), PER_EVENT)]
    return [{**(first if number == 0 else {}), "lines": part} for number, part in enumerate(parts)]


def _unexplained(found: Operation, fresh: Path) -> list[str]:
    """The lines without data that no event in the new file or in the sealed ones names."""
    live, survey = scan_path(fresh), found.look.survey
    named = live.named | _named_in_sealed(found)
    sealed = [hashed for cure in found.cures[:-1] for hashed in cure.reading.hollow if hashed in survey.named]
    wanted = dict.fromkeys([*live.hollow, *sealed, *(flaw.hash for flaw in found.emptied), *survey.left_standing])
    return [hashed for hashed in wanted if hashed not in named]


def _named_in_sealed(found: Operation) -> set[str]:
    return set[str]().union(*(cure.reading.found.named for cure in found.cures[:-1]))


def _write_pieces(disk: Disk, cure: Cure, target: Path, more: bytes = b"") -> None:
    remove_if_there(disk, target)
    for path, start, end in cure.pieces():
        copy(disk, path, target, start, end)
    append(disk, target, more)


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

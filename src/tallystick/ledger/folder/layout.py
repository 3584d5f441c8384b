"""The names of the files in a memory folder, each defined once.

    events.wal        the live segment of the chain
    sealed/           closed segments `<first>-<last>.wal`; `state-<seq>` in place of those that were moved away;
                      `torn-…` bytes that were cut off; ledgers of older programs
    state.db          the current state, what recall searches, the entries of pages, the graph, with SQLite's own
                      `-wal` and `-shm`                                               (derived)
    snapshot.json     the records of a ChronoStore when it was last compacted         (derived)
    memory/           the pages, one Markdown file per entity; people edit them
    pages.lock        locked while pages are written
    audit.jsonl       who did what, one action per line                               (derived)
    checkpoint        the last signed statement about the ledger
    backup/<time>/    copies: events.wal, sealed/, tallystick.toml, checkpoint, erased
    restoring/        a restore in progress; nothing else is ever there
    lock              see lock.py
    moved-to          where the memory is now: this folder is only read
    arriving          a memory is being moved here: nobody opens it; its last segment is events.wal.new (see arrive.py)

A name ending in `.new` is an unfinished file. It is ignored until it is renamed; the next writer removes it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_ENDS = ("", "-wal", "-shm", "-journal")  # of SQLite's files
_EARLIER = ("index", "pages", "graph")
_SEALED = re.compile(r"(\d{12})-(\d{12})\.wal\Z")
_STATE = re.compile(r"state-\d{12}(\.new)?\Z")


class Segment(NamedTuple):
    """One file of the chain: events `first` to `last` (None while it is still growing)."""

    path: Path
    first: int
    last: int | None


class Folder:
    """The paths in one folder (a memory's own, or a backup, which has the same layout)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.wal = root / "events.wal"
        self.new_wal = root / "events.wal.new"
        self.sealed = root / "sealed"
        self.snapshot = root / "snapshot.json"
        self.state = root / "state.db"
        self.building = root / "state.db.building"  # rows that are made of a long ledger
        self.audit = root / "audit.jsonl"
        self.pages = root / "memory"
        self.pages_lock = root / "pages.lock"
        self.settings = root / "tallystick.toml"
        self.checkpoint = root / "checkpoint"
        self.backups = root / "backup"
        self.restoring = root / "restoring"
        self.restore_ready = self.restoring / "ready"  # once it exists, the restore will be finished
        self.erased = root / "erased"  # in a copy: the hashes of lines that were erased after it was made
        self.lock = root / "lock"
        self.moved_to = root / "moved-to"
        self.arriving = root / "arriving"

    def sealed_segments(self) -> list[Segment]:
        """The closed segments that are here, in order."""
        try:
            names = sorted(entry.name for entry in self.sealed.iterdir())
        except FileNotFoundError:
            return []
        found = [(name, match) for name in names if (match := _SEALED.match(name))]
        return [Segment(self.sealed / name, int(match[1]), int(match[2])) for name, match in found]

    def sealed_state(self, seq: int) -> Path:
        """The state after event `seq`: see sealed_state.py."""
        return self.sealed / f"state-{seq:012d}"

    def sealed_states(self) -> list[Path]:
        """The state files that are here, finished or not."""
        return [path for path in sorted(self.sealed.glob("state-*")) if _STATE.match(path.name)]

    def chain_files(self) -> list[Path]:
        """The files of the chain, in order. The last one, events.wal, may not exist."""
        return [*(segment.path for segment in self.sealed_segments()), self.wal]

    def leftovers(self) -> list[Path]:
        """Unfinished files that a crash left, and databases of earlier programs, which are one file now."""
        earlier = [self.root / f"{name}.db{end}" for name in _EARLIER for end in _ENDS]
        unfinished = sorted(self.root.glob("*.new")) + sorted(self.sealed.glob("*.new"))
        derived = [path for path in (*earlier, *self.building_files()) if path.is_file()]
        return [*unfinished, *self.root.glob("index.db.*.making"), *derived]

    def building_files(self) -> list[Path]:
        """The rows that are made of a long ledger, and SQLite's files for them."""
        return [self.building.with_name(self.building.name + end) for end in _ENDS]

    def state_files(self) -> list[Path]:
        """The database of all that follows from the ledger, and SQLite's files for it."""
        return [self.state.with_name(self.state.name + end) for end in _ENDS]

    def copies(self) -> list[Folder]:
        """The backups inside this folder, oldest first."""
        return [Folder(path) for path in sorted(self.backups.glob("*")) if path.is_dir()]


def free_name(parent: Path, name: str) -> Path:
    """`name` in `parent`, with a number appended if it is taken."""
    number, target = 1, parent / name
    while target.exists() or target.with_name(target.name + ".new").exists():
        number += 1
        target = parent / f"{name}-{number}"
    return target

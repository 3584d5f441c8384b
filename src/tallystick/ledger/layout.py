"""The names of the files in a memory folder, each defined once.

    events.wal        the live segment of the chain
    sealed/           closed segments `<first>-<last>.wal`; `state-<seq>` in place of those that were moved away;
                      `torn-…` bytes that were cut off; ledgers of older programs
    state.db          the current state, with its position                            (derived)
    snapshot.json     the records of a ChronoStore when it was last compacted         (derived)
    index.db          what recall searches, with SQLite's own `-wal` and `-shm`       (derived)
    pages.db          the entries of the pages, and each page as last read            (derived)
    graph.db          entities, and how they are related                              (derived)
    memory/           the pages, one Markdown file per entity; people edit them
    pages.lock        locked while pages are written
    audit.jsonl       who did what, one action per line                               (derived)
    checkpoint        the last signed statement about the ledger
    backup/<time>/    copies: events.wal, sealed/, tallystick.toml, checkpoint, erased
    restoring/        a restore in progress; nothing else is ever there
    lock              see lock.py

A name ending in `.new` is an unfinished file. It is ignored until it is renamed; the next writer removes it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_MAKING = ".making"
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
        self.index = root / "index.db"
        self.pages_index = root / "pages.db"
        self.graph_index = root / "graph.db"
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
        """Unfinished files that a crash left."""
        return sorted(self.root.glob("*.new")) + sorted(self.sealed.glob("*.new"))

    def index_files(self) -> list[Path]:
        """The databases, SQLite's files for them, and indexes that are being built; in a safe order of removal."""
        each = (self.index, self.pages_index, self.graph_index)
        files = [path.with_name(path.name + end) for path in each for end in ("", "-wal", "-shm", "-journal")]
        return [*files, *self.root.glob(f"{self.index.name}.*{_MAKING}")]

    def state_files(self) -> list[Path]:
        """The database of the state, and SQLite's files for it."""
        return [self.state.with_name(self.state.name + end) for end in ("", "-wal", "-shm", "-journal")]

    def new_index(self) -> Path:
        """A name for an index that is being built, with the process id of its builder."""
        return self.index.with_name(f"{self.index.name}.{os.getpid()}-{os.urandom(4).hex()}{_MAKING}")

    def is_new_index(self, path: Path) -> bool:
        """True if that is the name of an index that is being built."""
        return path.name.startswith(f"{self.index.name}.") and path.name.endswith(_MAKING)

    def abandoned_indexes(self) -> list[Path]:
        """Unfinished indexes whose builder has ended."""
        return [path for path in self.root.glob(f"{self.index.name}.*{_MAKING}") if not _builder_lives(path)]

    def copies(self) -> list[Folder]:
        """The backups inside this folder, oldest first."""
        return [Folder(path) for path in sorted(self.backups.glob("*")) if path.is_dir()]


def _builder_lives(path: Path) -> bool:
    pid = path.name.split(".")[-2].partition("-")[0]
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def free_name(parent: Path, name: str) -> Path:
    """`name` in `parent`, with a number appended if it is taken."""
    number, target = 1, parent / name
    while target.exists() or target.with_name(target.name + ".new").exists():
        number += 1
        target = parent / f"{name}-{number}"
    return target

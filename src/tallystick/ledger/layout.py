"""The names of things in a memory folder. One home for each, so that no two modules can disagree.

    events.wal        the living stretch of the chain
    sealed/           closed stretches `<first>-<last>.wal`; `torn-…` bytes that were cut off; files taken over
    snapshot.json     beliefs as of some event                                        (derived)
    index.db          what recall searches, with SQLite's own `-wal` and `-shm`       (derived)
    pages.db          what stands on the pages, and as what each was last seen        (derived)
    graph.db          entities, and how they are related                              (derived)
    memory/           the pages, one Markdown file per entity; people edit them
    pages.lock        held while pages are written
    audit.jsonl       who did what, an act a line                                     (derived)
    checkpoint        the last signed statement about the ledger
    backup/<time>/    copies: events.wal, sealed/, tallystick.toml, checkpoint, erased
    restoring/        a restore that is under way; nothing else ever lives there
    lock              see lock.py

A name ending in `.new` is a file being made. It counts for nothing until it is renamed; the next writer removes it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_MAKING = ".making"
_SEALED = re.compile(r"(\d{12})-(\d{12})\.wal\Z")


class Segment(NamedTuple):
    """One file of the chain: events `first` to `last` (None while it is still growing)."""

    path: Path
    first: int
    last: int | None


class Folder:
    """Where things are in one folder (a memory's own, or a backup, which is laid out the same way)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.wal = root / "events.wal"
        self.sealed = root / "sealed"
        self.snapshot = root / "snapshot.json"
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
        self.erased = root / "erased"  # in a copy: the hashes of lines that were erased after it was made
        self.lock = root / "lock"

    def sealed_name(self, first: int, last: int) -> Path:
        return self.sealed / f"{first:012d}-{last:012d}.wal"

    def sealed_segments(self) -> list[Segment]:
        """The closed stretches that are here, in order."""
        try:
            names = sorted(entry.name for entry in self.sealed.iterdir())
        except FileNotFoundError:
            return []
        found = [(name, match) for name in names if (match := _SEALED.match(name))]
        return [Segment(self.sealed / name, int(match[1]), int(match[2])) for name, match in found]

    def leftovers(self) -> list[Path]:
        """What a crash left half made."""
        return sorted(self.root.glob("*.new")) + sorted(self.sealed.glob("*.new"))

    def index_files(self) -> list[Path]:
        """The index, the pages' and the graph's, what SQLite keeps beside them, and those being made; in the order in
        which they may be removed."""
        each = (self.index, self.pages_index, self.graph_index)
        beside = [path.with_name(path.name + end) for path in each for end in ("", "-wal", "-shm", "-journal")]
        return [*beside, *self.root.glob(f"{self.index.name}.*{_MAKING}")]

    def new_index(self) -> Path:
        """A name for an index that is being made. It tells whose it is, so that others know whether he still lives."""
        return self.index.with_name(f"{self.index.name}.{os.getpid()}-{os.urandom(4).hex()}{_MAKING}")

    def is_new_index(self, path: Path) -> bool:
        """Whether that is the name of an index that is being made; one may come while others are looked for."""
        return path.name.startswith(f"{self.index.name}.") and path.name.endswith(_MAKING)

    def abandoned_indexes(self) -> list[Path]:
        """What a process that is no more was making."""
        return [path for path in self.root.glob(f"{self.index.name}.*{_MAKING}") if not _maker_lives(path)]

    def torn(self) -> list[Path]:
        return sorted(self.sealed.glob("torn-*"))

    def copies(self) -> list[Folder]:
        """The backups inside this folder, oldest first."""
        return [Folder(path) for path in sorted(self.backups.glob("*")) if path.is_dir()]


def _maker_lives(path: Path) -> bool:
    pid = path.name.split(".")[-2].partition("-")[0]
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except (PermissionError, OverflowError):
        return True
    return True

"""An open memory folder: a ledger in files. `Memory` and `ChronoStore` are two interfaces to the same folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from datetime import tzinfo
from pathlib import Path
from typing import Any

from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.erase_everywhere import must_reach, remove_page
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.ledger.lock import is_held
from tallystick.projections.tables.file import StateFile
from tallystick.state.state import State
from tallystick.stores.open_ledger import OpenLedger, scratch


class OpenFolder(OpenLedger):
    """One open folder. Options are those of the ledger."""

    def __init__(self, folder: Path, *, zone: Callable[[], tzinfo] | None = None, **options: Any) -> None:
        self.root, self.files = folder, Folder(folder)
        self.disk: Disk = options.setdefault("disk", Disk())
        store = self._store = StateFile(self.files.state)
        self.rows_path, self.followers = store.path, store.followers  # of the tables that follow from the ledger
        self.followed = store.followed  # the last event that each set of tables has taken in its write
        state = State(store.tables)
        ledger = FolderLedger(folder, state, reach=_reach, store=store, scratch=scratch, **options)
        super().__init__(ledger, state, store.tables, zone)

    def may_be_written(self) -> bool:
        """True if this user may write there, however the folder was opened."""
        return os.access(self.files.wal, os.W_OK)

    def is_held(self) -> bool:
        """True if somebody is writing at this moment."""
        return is_held(self.files.lock)

    def copies(self) -> tuple[str, ...]:
        """The names of the backups inside the folder."""
        return tuple(copied.root.name for copied in self.files.copies())

    def must_reach(self) -> None:
        """Raise NotWritten if a page or copy cannot be read: an erasure would leave its words."""
        must_reach(self.files)

    def remove_page_from_copies(self, path: str) -> None:
        remove_page(self.disk, self.files, path)

    def lost_rows(self) -> bool:
        """Whether the file of all tables could not be read since this was last asked."""
        is_lost, self._store.is_lost = self._store.is_lost, False
        return is_lost

    def discard_rows(self) -> None:
        """Make the file of all tables again: it is damaged."""
        self._tables.is_bad = True
        with self.ledger.hold():
            pass


def _reach(disk: Disk, folder: Folder, ids: Collection[str]) -> None:
    """Erase words from the pages too."""
    from tallystick.stores.page_files import cut_out  # only where something is erased

    cut_out(disk, folder, ids)

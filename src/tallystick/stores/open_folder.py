"""An open memory folder: a ledger in files. `Memory` and `ChronoStore` are two interfaces to the same folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.erase_everywhere import must_reach, remove_page
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.ledger.lock import is_held
from tallystick.ledger.settings_file import SettingsFile
from tallystick.projections.tables.file import StateFile
from tallystick.records.errors import Refused
from tallystick.state.state import State
from tallystick.stores.open_ledger import OpenLedger, scratch

if TYPE_CHECKING:
    from tallystick.ledger.checkpoint import Claim, Keyring
    from tallystick.records.progress import Progress
    from tallystick.records.report import Report


class OpenFolder(OpenLedger):
    """One open folder. Options are those of the ledger."""

    root: Path

    def __init__(self, folder: Path, *, zone: Callable[[], tzinfo] | None = None, **options: Any) -> None:
        self.root, self.place, self.files = folder, str(folder), Folder(folder)
        self.settings = SettingsFile(self.files.settings)
        self.disk = options.setdefault("disk", Disk())
        store = self._store = StateFile(self.files.state)
        self.rows_path = store.path
        self.followers = store.followers  # tables that take in the events of a write in its own transaction
        self.followed = store.followed
        state = State(store.tables)
        ledger = FolderLedger(folder, state, reach=_reach, store=store, scratch=scratch, **options)
        super().__init__(ledger, state, store.tables, zone)

    def again(self) -> OpenFolder:
        return OpenFolder(self.root, by=self.ledger.by)

    def verify(
        self, keyring: Keyring | None, brought: tuple[str, str], *, processes: int, on_progress: Progress | None
    ) -> Report:
        from tallystick.repair.verify import verify_folder

        note, key = brought
        return verify_folder(
            self.root, keyring, processes=processes, on_progress=on_progress, checkpoint=note, key=key
        )

    def claims(self, keyring: Keyring) -> list[Claim]:
        from tallystick.repair.verify import checkpoints_of

        return checkpoints_of(self.root, keyring)

    def may_be_written(self) -> bool:
        return os.access(self.files.wal, os.W_OK) and not self.ledger.moved_to()

    def is_held(self) -> bool:
        return is_held(self.files.lock)

    def copies(self) -> tuple[str, ...]:
        return tuple(copied.root.name for copied in self.files.copies())

    def must_reach(self) -> None:
        must_reach(self.files)

    def remove_page_from_copies(self, path: str) -> None:
        remove_page(self.disk, self.files, path)

    def lost_rows(self) -> bool:
        is_lost, self._store.is_lost = self._store.is_lost, False
        return is_lost

    def discard_rows(self) -> None:
        self._tables.is_bad = True
        with self.ledger.hold():
            pass


def in_folder(opened: OpenLedger, what: str) -> OpenFolder:
    """The open folder. Refused, if it is in a database: `what` is about files."""
    if not isinstance(opened, OpenFolder):
        raise Refused(f"{what} needs a memory in a folder, and this one is in {opened.place}", "unsupported")
    return opened


def _reach(disk: Disk, folder: Folder, ids: Collection[str]) -> None:
    """Erase words from the pages too."""
    from tallystick.stores.page_files import cut_out  # only where something is erased

    cut_out(disk, folder, ids)

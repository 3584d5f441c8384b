"""A graph in a folder of plain files, see `layout`. No memory and no ledger is needed.

Acknowledged means on disk: a save returns after the sync, and one call is whole or absent, however many records and
files it touches. (The events of an imported envelope are appended last: if the power fails just before, the same import
again adds them.) Several processes may use one folder: a writer holds the system's lock, and every call first reads
what others wrote, which it detects by a mark in the lock file, and only the files that changed. A file that was edited
by hand is read when the folder is opened, when somebody saves to it, or by `refresh`. What a newer program wrote is
read as far as it is understood, and never written to.

Reading a folder creates nothing in it; it need not even exist.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import RLock

from tallystick.ledger.disk import Disk, write_new
from tallystick.ledger.lock import Lock, Witness
from tallystick.records.errors import Damaged, NotWritable, NotWritten, Refused
from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
from tallystick.stores.phase.event_log.line_file import READ_ONLY, TIMEOUT, not_written
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import KeptGraph
from tallystick.stores.phase.graph.contents import PARTS, Changes, Contents
from tallystick.stores.phase.graph.files import GraphFiles, commit, finish, is_unfinished, own_folder
from tallystick.stores.phase.graph.layout import Problem


class FileBackedMemoryGraphStore(KeptGraph):
    """A `MemoryGraphStore` in the folder `root`, which the first save creates. Any thread may call it."""

    def __init__(self, root: str | Path, *, timeout: float = TIMEOUT, disk: Disk | None = None) -> None:
        self.root = Path(os.path.abspath(os.fspath(root)))
        self._disk, self._timeout, self._threads = disk or Disk(), timeout, RLock()
        self._files = GraphFiles(self.root)
        self._lock: Lock | None = None
        self._pid = os.getpid()
        self._mark: Witness | None = None  # the witness in the lock file when the files were read
        self._is_fresh = False
        self._log = JsonlMemoryEventLog(self.root / layout.EVENTS, timeout=timeout, disk=self._disk)

    # -- the folder ----------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Create an empty workspace. An existing one stays as it is."""
        self._save(Changes())

    def __del__(self) -> None:
        """An unused store keeps no file open."""
        if "_threads" in self.__dict__:
            with suppress(OSError):
                self.close()

    def close(self) -> None:
        """Close the lock file. The next call opens it again."""
        with self._threads:
            if self._lock is not None:
                self._lock.close()
            self._lock = None

    def __enter__(self) -> FileBackedMemoryGraphStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Check every file again, as after one was edited by hand."""
        with self._threads:
            self._is_fresh = False

    def problems(self) -> list[Problem]:
        """The problems found in reading, file by file."""
        with self._reading():
            return self._files.problems()

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote any of it."""
        with self._reading():
            self._files.must_be_known()

    def broken(self) -> list[str]:
        """The files of records in which something could not be read."""
        with self._reading():
            return self._files.broken()

    def edited(self) -> list[str]:
        """The files that are not as tallystick wrote them, though all in them could be read."""
        with self._reading():
            return self._files.edited()

    # -- reading -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Contents]:
        with self._threads, self._shared():
            yield self._files.contents

    @contextmanager
    def _shared(self) -> Iterator[None]:
        lock = self._opened(make=is_unfinished(self.root))
        if lock is None:  # no folder, or a copy that nobody has written to
            self._refresh_if_changed(None)
            yield
            return
        if is_unfinished(self.root):
            with lock.exclusive():
                self._finish(lock)
        with lock.shared():
            self._refresh_if_changed(lock.witness())
            yield

    def _opened(self, *, make: bool) -> Lock | None:
        """The lock; None where there is none and none is to be created. A forked child opens its own."""
        if self._pid != os.getpid():
            self.close()
        path = self.root / layout.LOCK
        if self._lock is None and (make or path.exists()):
            if path.is_symlink():
                raise Refused(f"{path} is a symlink; remove it", "place")
            if path.exists() and not path.is_file():
                raise Refused(f"{path} is not a regular file; remove it", "place")
            self._lock, self._pid = Lock(path, self._disk, timeout=self._timeout), os.getpid()
        return self._lock

    def _finish(self, lock: Lock) -> None:
        """Complete a change that was interrupted."""
        if not is_unfinished(self.root):
            return
        if not lock.writable:
            raise NotWritable(f"a change of {self.root} was interrupted; open it once with write access")
        finish(self._disk, self.root)
        self._is_fresh = False
        self._leave_mark(lock)

    def _refresh_if_changed(self, mark: Witness | None) -> None:
        if not self._is_fresh or mark != self._mark:
            self._is_fresh = False
            self._files.read_changes()
            self._mark, self._is_fresh = mark, True

    # -- writing -------------------------------------------------------------------------------------------------------

    def _save(self, changes: Changes) -> None:
        with self._threads:
            try:
                own_folder(self._disk, self.root)
                lock = self._opened(make=True)
                if lock is None or not lock.writable:
                    raise NotWritable(f"{self.root} is read-only; write to a copy of it")
                with lock.exclusive():
                    self._finish(lock)
                    self._refresh_if_changed(lock.witness())
                    self._files.must_be_known()
                    for part in PARTS:
                        own_folder(self._disk, self.root / part)
                    with self._log.alongside(changes.events) if changes.events else nullcontext():
                        self._put(changes, lock)
            except OSError as error:
                self._is_fresh = False
                raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> Refused | NotWritten | Damaged:
        if is_unfinished(self.root):
            return Damaged(f"{self.root}: the disk failed half-way ({error.strerror}); the next call continues")
        if error.errno in READ_ONLY:
            return NotWritable(f"{self.root} is read-only ({error.strerror}); write to a copy of it")
        return not_written(self.root, error)

    def _put(self, changes: Changes, lock: Lock) -> None:
        made = self._files.plan(changes)
        if made.files or made.gone:
            self._is_fresh = False  # until what is on disk is known again
            broken, folder = self._files.broken(), self.root / layout.DAMAGED
            for place in [place for place in (*made.files, *made.gone) if place in broken]:
                own_folder(self._disk, folder)
                data = (self.root / place).read_bytes()
                write_new(self._disk, folder / layout.kept_name(place, data), data)
                self._disk.sync_folder(folder)
            commit(self._disk, self.root, made.files, made.gone)
            self._files.apply(changes, made)
            self._leave_mark(lock)
            self._is_fresh = True

    def _leave_mark(self, lock: Lock) -> None:
        """Let others know that something changed."""
        lock.leave((self._mark.seq if self._mark else 0) + 1, os.urandom(32).hex(), 0)
        self._mark = lock.witness()

    # -- events --------------------------------------------------------------------------------------------------------

    def _event_lines(self) -> list[bytes]:
        """The lines of the log. It reports itself which lines are no events."""
        return self._log.lines()

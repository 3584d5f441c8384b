"""A graph in a folder of plain files, see `layout`. No memory and no ledger is needed.

Acknowledged means on disk: a save returns after the sync, and one call is whole or absent, however many records and
files it touches. (The events of an imported envelope are appended last: should the power fail just before, the same
import again adds them.) Several processes may use one folder: who writes holds the system's lock, and every call first
takes in what others wrote, which it knows from a mark in the lock file, and reads only the files that changed. A file
that was changed by hand is taken in when the folder is opened, when somebody saves to it, or by `refresh`. What a newer
program wrote is read as far as it is understood, and never written to.

Reading a folder makes nothing in it; it need not even be there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import RLock

from tallystick.ledger.disk import Disk, write_new
from tallystick.ledger.lock import Lock, Witness
from tallystick.records.errors import Damaged, NotWritable, NotWritten, Refused
from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import KeptGraph
from tallystick.stores.phase.graph.commit import commit, finish, is_unfinished, own_folder
from tallystick.stores.phase.graph.contents import PARTS, Changes, Contents
from tallystick.stores.phase.graph.files import GraphFiles
from tallystick.stores.phase.graph.layout import Problem
from tallystick.stores.phase.graph.plan import note, plan

PATIENCE = 30.0
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


class FileBackedMemoryGraphStore(KeptGraph):
    """A `MemoryGraphStore` in the folder `root`, which is made with the first save. Any thread may call it."""

    def __init__(self, root: str | Path, *, timeout: float = PATIENCE, disk: Disk | None = None) -> None:
        self.root = Path(os.path.abspath(os.fspath(root)))
        self._disk, self._timeout, self._threads = disk or Disk(), timeout, RLock()
        self._files = GraphFiles(self.root)
        self._lock: Lock | None = None
        self._pid = os.getpid()
        self._mark: Witness | None = None  # what the lock file said when the files were read
        self._is_fresh = False
        self._log = JsonlMemoryEventLog(self.root / layout.EVENTS, timeout=timeout, disk=self._disk)

    # -- the folder ----------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Make an empty workspace. One that is there already stays as it is."""
        self._save(Changes())

    def __del__(self) -> None:
        """A store that nobody holds on to holds no file open."""
        if "_threads" in self.__dict__:
            with suppress(OSError):
                self.close()

    def close(self) -> None:
        """Let go of the lock file. The next call opens it again."""
        with self._threads:
            if self._lock is not None:
                self._lock.close()
            self._lock = None

    def __enter__(self) -> FileBackedMemoryGraphStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Look at every file again, as after one was changed by hand."""
        with self._threads:
            self._is_fresh = False

    def problems(self) -> list[Problem]:
        """What was passed over in reading, file by file."""
        with self._reading():
            return self._files.problems()

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote any of it: what it means by it is not known here."""
        with self._reading():
            self._files.must_be_known()

    def broken(self) -> list[str]:
        """The files of records in which something could not be read."""
        with self._reading():
            return self._files.broken()

    def edited(self) -> list[str]:
        """The files that are not as a tallystick wrote them, though all in them could be read."""
        with self._reading():
            return self._files.edited()

    # -- reading -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Contents]:
        with self._threads, self._shared():
            yield self._files.held

    @contextmanager
    def _shared(self) -> Iterator[None]:
        lock = self._opened(make=is_unfinished(self.root))
        if lock is None:  # no folder, or a copy that nobody has written to
            self._take_in(None)
            yield
            return
        if is_unfinished(self.root):
            with lock.exclusive():
                self._finish(lock)
        with lock.shared():
            self._take_in(lock.witness())
            yield

    def _opened(self, *, make: bool) -> Lock | None:
        """The lock; None where there is none and none is to be made. A forked child opens its own."""
        if self._pid != os.getpid():
            self.close()
        path = self.root / layout.LOCK
        if self._lock is None and (make or path.exists()):
            if path.is_symlink():
                raise Refused(f"{path} is a link, and nothing is written through links; remove it", "place")
            if path.exists() and not path.is_file():
                raise Refused(f"{path} is no file, and nothing can be held by it; remove it", "place")
            self._lock, self._pid = Lock(path, self._disk, timeout=self._timeout), os.getpid()
        return self._lock

    def _finish(self, lock: Lock) -> None:
        """Carry out a change that was interrupted."""
        if not is_unfinished(self.root):
            return
        if not lock.writable:
            raise NotWritable(f"a change of {self.root} was interrupted; open it once where it may be written")
        finish(self._disk, self.root)
        self._is_fresh = False
        self._leave_mark(lock)

    def _take_in(self, mark: Witness | None) -> None:
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
                    raise NotWritable(f"{self.root} may only be read; write to a copy of it")
                with lock.exclusive():
                    self._finish(lock)
                    self._take_in(lock.witness())
                    self._files.must_be_known()
                    self._record(changes, lock)
            except OSError as error:
                self._is_fresh = False
                raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> Refused | NotWritten | Damaged:
        if is_unfinished(self.root):
            return Damaged(f"{self.root}: the disk refused half-way ({error.strerror}); the next call goes on with it")
        if error.errno in _READ_ONLY:
            return NotWritable(f"{self.root} may only be read ({error.strerror}); write to a copy of it")
        return NotWritten(f"{self.root} was not written ({error.strerror}); make room and try again")

    def _record(self, changes: Changes, lock: Lock) -> None:
        for part in PARTS:
            own_folder(self._disk, self.root / part)
        with self._log.alongside(changes.events) if changes.events else nullcontext():
            self._put(changes, lock)

    def _put(self, changes: Changes, lock: Lock) -> None:
        made = plan(self._files, changes)
        if not made.is_empty():
            self._is_fresh = False  # until what is on disk is known again
            self._keep_broken([place for place in (*made.files, *made.gone) if place in self._files.broken()])
            commit(self._disk, self.root, made.files, made.gone)
            note(self._files, changes, made)
            self._leave_mark(lock)
            self._is_fresh = True

    def _keep_broken(self, places: list[str]) -> None:
        """Keep files that are about to be written over though something in them could not be read."""
        folder = self.root / layout.DAMAGED
        for place in places:
            own_folder(self._disk, folder)
            data = (self.root / place).read_bytes()
            write_new(self._disk, folder / layout.kept_name(place, data), data)
            self._disk.sync_folder(folder)

    def _leave_mark(self, lock: Lock) -> None:
        """Let others know that something changed."""
        lock.leave((self._mark.seq if self._mark else 0) + 1, os.urandom(32).hex(), 0)
        self._mark = lock.witness()

    # -- events --------------------------------------------------------------------------------------------------------

    def _event_lines(self) -> list[bytes]:
        """What the log holds. It tells itself about lines that are no events."""
        return self._log.lines()

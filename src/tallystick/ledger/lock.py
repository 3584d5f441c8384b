"""The lock of a folder, and the witness in it.

The lock is the system's own (`flock` on the file `lock`), so it is free again when its holder dies, however it
dies. The file is never removed: two processes must always lock the same one.

The file holds the **witness**: the seq and hash of the last event that was synced, and the length of `events.wal`
at that moment, with a checksum. It is written after each sync and is itself not synced: after a power cut it may be
old or gone, but if it is there, then the event it names was on disk. A ledger that is shorter than, or other than, its
witness was rolled back.

A witness may be marked, and then the next process must recover first: `recover` means that more is in progress than the
ledger shows (a restore), `refused` that bytes beyond its length were refused to their writer and could not be removed.
A mark is removed by a witness that *is* synced, so that a power cut cannot bring it back.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tallystick.ledger.disk import Disk
from tallystick.records.errors import Busy, RolledBack

_WITNESS = re.compile(rb"(ok|recover|refused) (\d+) ([0-9a-f]{64}) (\d+) ([0-9a-f]{8})\n")
_ROOM = 128
_PIN_LINE = re.compile(rb"([0-9a-f]{32}) (\d{1,16}) ([0-9a-f]{64}) ([0-9a-f]{8})\n")
_PIN_ROOM = 160
_PROGRESS = re.compile(rb"(\d{3}) %")
PIN = "the pin outside the folder"  # the name of a witness


class Witness(NamedTuple):
    """A record that event `seq` had this hash. Only the lock's own witness knows the `length`."""

    seq: int
    hash: str
    length: int = -1
    mark: str = "ok"
    name: str = "the lock file"

    @property
    def recover(self) -> bool:
        """True if recovery comes before the next write."""
        return self.mark != "ok"


Pins = Callable[[str], Sequence[Witness]]  # the witnesses that are kept elsewhere, by ledger id


def rolled_back(why: str, way_out: str = "`tallystick restore`") -> RolledBack:
    """The error for a ledger that is not what a witness of it has seen."""
    accept = "; if that was intended, `tallystick ledger checkpoint --repin` accepts it" if PIN in why else ""
    return RolledBack(
        f"the ledger was rolled back or replaced: {why}; run `tallystick check`, then {way_out}{accept}"
    )


class Lock:
    """The lock of one folder, held by at most one writer, or any number of readers."""

    def __init__(
        self, path: Path, disk: Disk, *, timeout: float, make: bool = True, replaced: Callable[[], None] | None = None
    ) -> None:
        """`replaced` is called when the file was replaced or removed; it raises if the new one must not be locked."""
        self.path, self._disk, self.timeout, self._make = path, disk, timeout, make
        self._replaced = replaced
        self._name, self._fd, self._inode = os.fspath(path), -1, -1
        self._pid, self.held = os.getpid(), False
        self._left = b""  # what this process last wrote into the file
        self._open()

    def _open(self) -> None:
        fd, self.writable = _open(self.path, self._disk, self._make)
        self.close()
        self._fd, self._inode = fd, os.fstat(fd).st_ino if fd >= 0 else -1

    def close(self) -> None:
        if self._fd >= 0:
            self._disk.close(self._fd)
        self._fd = -1

    def take(self) -> None:
        """Take it exclusively, until `release`."""
        self._take(fcntl.LOCK_EX)
        self.held = True

    def take_now(self) -> bool:
        """Take it exclusively, if that needs no waiting; False, if others have it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        self.held = self.has_its_name()
        if not self.held:
            self.release()
        return self.held

    def release(self) -> None:
        """Release it. A forked child shares the lock with its parent, which still needs it."""
        self.held = False
        if self._fd >= 0 and os.getpid() == self._pid:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold it exclusively; nothing changes if this process does already."""
        if self.held:
            yield
            return
        self.take()
        try:
            yield
        finally:
            self.release()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Keep writers out. Without a lock file (a folder on a read-only medium) there are none.

        Nothing changes if this process holds it exclusively: asking the system again would weaken it.
        """
        if self._fd < 0 or self.held:
            yield
            return
        self._take(fcntl.LOCK_SH)
        try:
            yield
        finally:
            self.release()

    def _take(self, how: int) -> None:
        """Lock the file of that name. If it was removed meanwhile, all processes agree on the one that is there now."""
        while True:
            try:
                fcntl.flock(self._fd, how | fcntl.LOCK_NB)
            except BlockingIOError:
                self._wait(how)
            if self.has_its_name() or not (self.writable or self.path.exists()):
                return
            self.release()
            if self._replaced is not None:
                self._replaced()
            self._open()

    def has_its_name(self) -> bool:
        """True if the open file is still the one in the folder."""
        try:
            return os.stat(self._name).st_ino == self._inode
        except FileNotFoundError:
            return False

    def _wait(self, how: int) -> None:
        give_up, pause = time.monotonic() + self.timeout, 0.0002
        while True:
            time.sleep(pause)
            with suppress(BlockingIOError):
                fcntl.flock(self._fd, how | fcntl.LOCK_NB)
                return
            if time.monotonic() > give_up:
                raise Busy(f"{self.path.parent} is being written by another process; try again in a moment")
            pause = min(pause * 1.5, 0.01)

    def unchanged(self) -> bool:
        """True if the file holds exactly what this process wrote there: no other has written since."""
        return self._fd >= 0 and os.pread(self._fd, _ROOM, 0) == self._left

    def witness(self) -> Witness | None:
        """The witness of the last writer; None if none can be read."""
        found = _WITNESS.match(os.pread(self._fd, _ROOM, 0)) if self._fd >= 0 else None
        if found is None or zlib.crc32(found[0][:-9]) != int(found[5], 16):
            return None
        return Witness(int(found[2]), found[3].decode(), int(found[4]), found[1].decode())

    def note_progress(self, total: int, done: int) -> None:
        """Note for those who wait how far some work is that is done outside the lock."""
        self._disk.pwrite(self._fd, b"%03d %%" % (100 * done // max(total, 1)), _ROOM)

    def progress(self) -> str:
        """How far the work outside the lock was when it was last noted."""
        found = _PROGRESS.match(os.pread(self._fd, 5, _ROOM))
        return f"{int(found[1])} %" if found else "begun"

    def leave(self, seq: int, hashed: str, length: int) -> None:
        """Write a witness. A failing disk is ignored: an older witness is still true."""
        try:
            self._put(seq, hashed, length, b"ok")
        except OSError:
            self._left = b""

    def mark(self, seq: int, hashed: str, length: int, mark: str) -> None:
        """Write a witness that makes every process recover first."""
        self._put(seq, hashed, length, mark.encode())

    def settle(self, seq: int, hashed: str, length: int) -> None:
        """Replace a witness that is marked or no longer true, for good: the new one is synced."""
        self._put(seq, hashed, length, b"ok")
        self._disk.sync(self._fd)

    def _put(self, seq: int, hashed: str, length: int, mark: bytes) -> None:
        text = b"%b %d %b %d " % (mark, seq, hashed.encode(), length)
        line = (text + b"%08x\n" % zlib.crc32(text)).ljust(_ROOM)
        self._disk.pwrite(self._fd, line, 0)
        self._left = line if mark == b"ok" else b""


def _open(path: Path, disk: Disk, make: bool) -> tuple[int, bool]:
    """Open the file; return it and whether it is writable. A symlink is not followed."""
    try:
        if make:
            return disk.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW), True
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise
    try:
        return disk.open(path, os.O_RDONLY | os.O_NOFOLLOW), False
    except (FileNotFoundError, PermissionError):
        return -1, False


@contextmanager
def read_locked(path: Path) -> Iterator[Witness | None]:
    """Keep writers out during the block, and return the witness; writes nothing. A copy has no lock file."""
    lock = Lock(path, Disk(), timeout=30.0, make=False)
    try:
        with lock.shared():
            yield lock.witness()
    finally:
        lock.close()


def is_held(path: Path) -> bool:
    """True if a process, this one included, holds the lock exclusively. `path` may be a locked folder."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


@contextmanager
def only_one(folder: Path, lock: Lock) -> Iterator[bool]:
    """Let one process at a time do what takes long: False, if another one has just done it. Busy, with its progress."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    give_up, waited = time.monotonic() + lock.timeout, False
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = True
            if time.monotonic() > give_up:
                what = f"the state of the memory at {folder} is being rebuilt by another process ({lock.progress()})"
                raise Busy(f"{what}; try again in a moment")
            time.sleep(0.01)
        yield not waited
    finally:
        os.close(fd)


def name_of(root: Path | str) -> bytes:
    """The name of a ledger's place: of its folder, or that in a database."""
    return root.encode() if isinstance(root, str) else os.fsencode(root.resolve())


class HeadPin:
    """The head of the ledger at `root`, kept outside its folder: the last event that this user's programs wrote there.

    A copy of the whole folder, put back in its place, is in order by itself; only somebody outside knows that it is
    older. The pin is made by the first write and follows every write. It is for one place: a copy elsewhere has a pin
    of its own, and another ledger in the same place is another matter (see `checkpoint`). It is true as long as it can
    be read, so nothing is lost if it is removed, or cannot be written.
    """

    def __init__(self, pins: Path, root: Path | str) -> None:
        self.path = pins / f"{sha256(name_of(root)).hexdigest()[:32]}.head"
        self._name, self._fd, self._is_off = os.fspath(self.path), -1, False
        self._known = b"", "", Witness(-1, "")  # the bytes last seen, whose they are, and what

    def read(self, ledger: str) -> Witness | None:
        """What was seen of that ledger; None if nothing was, or the pin cannot be read."""
        try:
            fd = os.open(self._name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return self._read(fd, ledger)
        finally:
            os.close(fd)

    def _read(self, fd: int, ledger: str) -> Witness | None:
        try:
            raw = os.pread(fd, _PIN_ROOM, 0)
        except OSError:
            return None
        if raw != self._known[0]:
            found = _PIN_LINE.match(raw)
            is_whole = found is not None and zlib.crc32(found[0][:-10]) == int(found[4], 16)
            whose, seq, hashed = found.group(1, 2, 3) if found and is_whole else (b"", b"-1", b"")
            self._known = raw, whose.decode(), Witness(int(seq), hashed.decode(), name=PIN)
        return self._known[2] if self._known[1] == ledger else None

    def write(self, ledger: str, seq: int, hashed: str) -> None:
        """Keep the head. Where that is not possible, nothing is kept."""
        if self._is_off:
            return
        try:
            self._open()
            text = b"%b %d %b" % (ledger.encode(), seq, hashed.encode())
            raw = (text + b" %08x\n" % zlib.crc32(text)).ljust(_PIN_ROOM)
            os.pwrite(self._fd, raw, 0)
            self._known = raw, ledger, Witness(seq, hashed, name=PIN)
        except OSError:
            self._is_off = True

    def advance(self, ledger: str, seq: int, hashed: str) -> None:
        """Keep the head where several may write at once: a pin that has seen more stays. The file is closed again, for
        many ledgers may be open."""
        with suppress(OSError):
            self._open()
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            found = self._read(self._fd, ledger)
            if found is None or found.seq < seq:
                self.write(ledger, seq, hashed)
        self.close()

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        if self._fd < 0:
            try:
                self._fd = os.open(self._name, flags, 0o600)
            except FileNotFoundError:
                os.makedirs(self.path.parent, mode=0o700, exist_ok=True)
                self._fd = os.open(self._name, flags, 0o600)

    def close(self) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
        self._fd = -1

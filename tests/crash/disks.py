"""Disks that fail on purpose. Each is the real disk, and then something happens.

`Watched` sees every call; `DyingDisk` ends the process at one; `FailingDisk` answers one with an error; `ShortDisk`
writes less than it is asked to. The disk that forgets what was not synced is in `power.py`.
"""

from __future__ import annotations

import errno
import os
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tallystick.ledger.disk import Disk

DIED = 77


class Watched(Disk):
    """Counts calls and bytes, by name. `reach` is passed before each call."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.places: dict[int, Path] = {}

    def reach(self, call: str, what: object = None, size: int = 0) -> None:
        self.calls[call] += 1

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        self.reach("open", path)
        fd = super().open(path, flags, mode)
        self.places[fd] = path
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.reach("write", fd, len(data))
        done = super().write(fd, data)
        self.bytes["write"] += done
        return done

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        self.reach("pwrite", fd, len(data))
        done = super().pwrite(fd, data, offset)
        self.bytes["pwrite"] += done
        return done

    def truncate(self, fd: int, length: int) -> None:
        self.reach("truncate", fd)
        super().truncate(fd, length)

    def sync(self, fd: int) -> None:
        self.reach("sync", fd)
        super().sync(fd)

    def sync_folder(self, path: Path) -> None:
        self.reach("sync_folder", path)
        super().sync_folder(path)

    def rename(self, old: Path, new: Path) -> None:
        self.reach("rename", old)
        super().rename(old, new)

    def remove(self, path: Path) -> None:
        self.reach("remove", path)
        super().remove(path)

    def make_folder(self, path: Path) -> None:
        self.reach("make_folder", path)
        super().make_folder(path)


class Listing(Watched):
    """Writes down each call, for those who choose at which of them to die."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: list[str] = []
        self.writes: list[int] = []  # the numbers of the calls, from 1 on, that have a halfway

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        at = len(self.listed)
        fd = super().open(path, flags, mode)
        if flags & (os.O_CREAT | os.O_TRUNC):
            self.listed[at] = "create"
        return fd

    def reach(self, call: str, what: object = None, size: int = 0) -> None:
        super().reach(call)
        self.listed.append(call)
        if size:
            self.writes.append(len(self.listed))

    @property
    def changed(self) -> list[int]:
        """The calls before which a death leaves what no death at an earlier call does: the call before changed files.

        A sync changes none: what a process has written is there for the next one, unless the power fails.
        """
        alike = ("open", "sync", "sync_folder")
        return [1, *(at for at, before in enumerate(self.listed[:-1], 2) if before not in alike)]


class DyingDisk(Watched):
    """The process ends at the n-th call: before it, or, for a write, in the middle of it. Nothing is cleaned up."""

    def __init__(self, at: int, *, halfway: bool = False) -> None:
        super().__init__()
        self.at, self.halfway = at, halfway

    def reach(self, call: str, what: object = None, size: int = 0) -> None:
        super().reach(call)
        if self.calls.total() == self.at and not (self.halfway and size):
            os._exit(DIED)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        done = super().write(fd, data[: self._share(data)])
        self._perhaps_die()
        return done

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        done = super().pwrite(fd, data[: self._share(data)], offset)
        self._perhaps_die()
        return done

    def _share(self, data: bytes | memoryview) -> int:
        return len(data) // 2 if self.halfway and self.calls.total() + 1 == self.at else len(data)

    def _perhaps_die(self) -> None:
        if self.calls.total() == self.at:
            os._exit(DIED)


class FailingDisk(Watched):
    """Answers the n-th of certain calls with an error, and, if `for_good`, all such calls after it.

    `short` lets a write that fails put down half of its bytes first, as a disk does that is running full.
    """

    def __init__(
        self, calls: tuple[str, ...], at: int, code: int = errno.EIO, *, for_good: bool = False, short: bool = False
    ) -> None:
        super().__init__()
        self.failing, self.at, self.code, self.for_good, self.short = calls, at, code, for_good, short
        self.armed, self.seen, self.failed = True, 0, list[tuple[str, object]]()  # what failed, and where

    def reach(self, call: str, what: object = None, size: int = 0) -> None:
        super().reach(call)
        if not self.armed or call not in self.failing:
            return
        self.seen += 1
        if self.seen == self.at or (self.for_good and self.seen > self.at):
            self.failed.append((call, self.places.get(what) if isinstance(what, int) else what))
            if self.short and call == "write" and size:
                os.write(what, b'{"seq":')  # type: ignore[arg-type]
            raise OSError(self.code, os.strerror(self.code))


class ShortDisk(Watched):
    """Never writes more than a few bytes at a time."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return super().write(fd, data[: 1 + self.calls["write"] % 7])

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        return super().pwrite(fd, data[: 1 + self.calls["pwrite"] % 7], offset)


class Child:
    """A forked process that does `work`. It has the imports of this one behind it, and shares none of its locks."""

    def __init__(self, work: Callable[[], object]) -> None:
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on: threads are not copied. None is used
            self.pid = os.fork()
        if self.pid == 0:
            _work_and_leave(work, write)
        os.close(write)
        self._told = open(read, encoding="utf-8")  # noqa: SIM115

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self) -> int:
        """Its status is 0 if it ended, DIED if its disk ended it, -9 if it was killed; errors raise here."""
        with self._told:
            wrong = self._told.read()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert not wrong, wrong
        return status


def in_a_child(work: Callable[[], object]) -> int:
    """Run `work` in a forked process, to its end."""
    return Child(work).wait()


def at_once(*works: Callable[[], object]) -> list[int]:
    """Run each in a forked process of its own, all at the same time, and return how they ended.

    Nothing that they open may be open here: SQLite takes what it knows of its files into the fork.
    """
    return [each.wait() for each in [Child(work) for work in works]]


def _work_and_leave(work: Callable[[], object], tell: int) -> None:
    try:
        work()
        os._exit(0)
    except BaseException:
        os.write(tell, traceback.format_exc().encode())
        os._exit(1)

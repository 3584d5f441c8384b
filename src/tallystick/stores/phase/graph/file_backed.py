"""A graph in a folder of plain files, see `layout`. No memory and no ledger is needed.

Acknowledged means on disk: a save returns after the sync. A file is replaced by a rename, so it is whole whatever
fails. Of a save of several files, a crash may leave some new and the others as they were; the same save again completes
it, and so does a runtime, from its log. The events of an imported envelope are appended first. Several processes may
use one folder: a writer holds the system's lock, and every call first reads what others wrote, which it detects by a
mark in the lock file. Only files that changed are read again; a file is recognised by its inode, size and times. A file
that was edited by hand is read when the folder is opened, by the next save, or by `refresh`. What a newer program wrote
is read as far as it is understood, and never written to.

When a part is divided into more files, the new ones are complete before the old ones go: a record that a crash left in
both counts once. Reading a folder creates nothing in it; it need not even exist. Nothing is written through a symlink.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any

from tallystick.ledger.disk import Disk, ensure_folder, remove_if_there, write_new
from tallystick.ledger.lock import Lock, Witness
from tallystick.records.errors import Damaged, NotWritable, Refused
from tallystick.stores.phase.event_log.line_file import READ_ONLY, TIMEOUT, not_written
from tallystick.stores.phase.event_log.protocol import JsonlMemoryEventLog
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import PARTS, Changes, Contents, KeptGraph
from tallystick.stores.phase.graph.layout import WORKSPACE, Problem, Shard, Stamp


class FileBackedMemoryGraphStore(KeptGraph):
    """A `MemoryGraphStore` in the folder `root`, which the first save creates. Any thread may call it."""

    def __init__(self, root: str | Path, *, timeout: float = TIMEOUT, disk: Disk | None = None) -> None:
        self.root = Path(os.path.abspath(os.fspath(root)))
        self._disk, self._timeout, self._threads = disk or Disk(), timeout, RLock()
        self._lock: Lock | None = None
        self._pid = os.getpid()
        self._mark: Witness | None = None  # the witness in the lock file when the files were read
        self._is_fresh = False
        self._contents = Contents()
        self._shards: dict[str, Shard] = {}  # by place, like `nodes/all.jsonl`
        self._workspace: Stamp | None = None
        self._workspace_problems: list[Problem] = []
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
        with self._reading():
            return self._problems()

    def _problems(self) -> list[Problem]:
        found = [problem for _, shard in sorted(self._shards.items()) for problem in shard.problems]
        return [*self._workspace_problems, *found]

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote any of it."""
        with self._reading():
            self._must_be_known()

    def _must_be_known(self) -> None:
        for problem in self._problems():
            if problem.code == layout.UNKNOWN_VERSION:
                raise NotWritable(f"{problem.place}: {problem.reason}; upgrade tallystick: nothing was written")

    def edited(self) -> list[str]:
        """The files that are not as tallystick wrote them, though all in them could be read."""
        with self._reading():
            return [place for place, shard in sorted(self._shards.items()) if not shard.is_neat and not shard.problems]

    # -- reading -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Contents]:
        with self._threads:
            lock = self._opened(make=False)
            with lock.shared() if lock else nullcontext():  # no lock: no folder, or a copy that nobody has written to
                mark = lock.witness() if lock else None
                if not self._is_fresh or mark != self._mark:
                    self._read_changes(mark)
                yield self._contents

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

    def _read_changes(self, mark: Witness | None) -> None:
        self._is_fresh = False
        for part in PARTS:
            self._read_part(part)
        stamp = self._stamp(WORKSPACE)
        if stamp != self._workspace:
            self._workspace, self._workspace_problems = stamp, []
            fields: dict[str, Any] = {}
            if stamp:
                data, _, fault = _read(self.root / WORKSPACE)
                problem = Problem(layout.MALFORMED, WORKSPACE, 0, 0, fault)
                fields, self._workspace_problems = ({}, [problem]) if fault else layout.read_workspace(data)
            self._contents.metadata, self._contents.extra = fields.get("metadata", {}), fields.get("extra", {})
            self._contents.head = str(fields.get("profile", ""))
        self._mark, self._is_fresh = mark, True

    def _read_part(self, part: str) -> None:
        known, folder = set(self._places(part)), self.root / part
        try:
            names = [] if folder.is_symlink() else os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            names = []
        there = {f"{part}/{name}" for name in names if layout.width_of(name) is not None}
        read = {place: shard.stamp for place, shard in self._shards.items()}
        changed = {place for place in known | there if self._stamp(place) != read.get(place)}
        several = len({layout.width_of(place) for place in known | there}) > 1
        if changed and (several or any(self._shards[place].problems for place in known)):
            changed = known | there  # an id that occurred twice may occur once now
        for place in changed & known:
            for name in self._shards.pop(place).names:
                self._contents.drop(part, name)
        for place in sorted(changed & there, key=lambda place: (-(layout.width_of(place) or 0), place)):
            self._read_file(part, place, is_divided=several)

    def _read_file(self, part: str, place: str, *, is_divided: bool) -> None:
        data, stamp, fault = _read(self.root / place)
        shard = self._shards[place] = Shard(stamp)
        if fault:
            shard.problems.append(Problem(layout.MALFORMED, place, 0, 0, fault))
            shard.is_file = False
            return
        table, rows = self._contents.tables[part], layout.trusted_rows(place, data)
        if rows is not None and table.keys().isdisjoint(names := [name for name, _ in rows]):
            shard.names = names
            for name, row in rows:
                self._contents.put(part, name, row)
            return
        for name, row, line, byte in layout.read_shard(place, data, shard):
            if name not in table:
                self._contents.put(part, name, row)
                shard.names.append(name)
            elif is_divided and table[name] == row.line and name not in shard.names:
                shard.is_neat = False  # a crash came while the part was divided into more files
            else:
                reason = f"the id {ascii(name)[:60]} exists already, further up or in another file"
                shard.problems.append(Problem(layout.TWICE, place, line, byte, reason))

    def _places(self, part: str) -> list[str]:
        """The files of a part that were read."""
        return [place for place in self._shards if place.startswith(f"{part}/")]

    def _stamp(self, place: str) -> Stamp | None:
        try:
            return _stamp_of(os.lstat(self.root / place))
        except (FileNotFoundError, NotADirectoryError):
            return None

    # -- writing -------------------------------------------------------------------------------------------------------

    def _save(self, changes: Changes) -> None:
        with self._threads:
            try:
                own_folder(self._disk, self.root)
                lock = self._opened(make=True)
                if lock is None or not lock.writable:
                    raise NotWritable(f"{self.root} is read-only; write to a copy of it")
                with lock.exclusive():
                    self._read_changes(lock.witness())
                    self._must_be_known()
                    for part in PARTS:
                        own_folder(self._disk, self.root / part)
                    if not changes.rewrite:  # what is moved is on disk before anything in it changes
                        self._write(lock, Changes(), self._planned(changes, is_moving=True))
                    files = self._planned(changes)
                    self._log.extend_new(changes.events)
                    self._write(lock, changes, files)
            except OSError as error:
                self._is_fresh = False
                if error.errno in READ_ONLY:
                    raise NotWritable(f"{self.root} is read-only ({error.strerror}); write to a copy of it") from error
                raise not_written(self.root, error) from error

    def _planned(self, changes: Changes, *, is_moving: bool = False) -> Plan:
        """The files that saving `changes` writes or removes. What is there already unchanged is not written again.

        If a file is not in order, all files of its part are written; with `is_moving`, only these, and unchanged.
        """
        made: Plan = {}
        for part, lines in changes.lines.items():
            table, shards = self._contents.tables[part], {place: self._shards[place] for place in self._places(part)}
            fresh = {name for name, line in lines.items() if table.get(name) != line}
            gone = (changes.gone.get(part, set()) & table.keys()) - lines.keys()
            is_odd = any(not shard.is_neat or (changes.rewrite and shard.problems) for shard in shards.values())
            if not (fresh or gone or (is_odd and changes.rewrite)):
                continue
            width = layout.width_for(len(table) - len(gone) + len(fresh - table.keys()))
            again = is_odd or any(layout.width_of(place) != width for place in shards)
            if is_moving:
                fresh, gone, lines = set(), set(), {}
            files: dict[str, set[str]] = {place: set() for place in shards} if again else {}
            for name in {*table, *fresh} if again else fresh | gone:
                place = f"{part}/{layout.file_of(name, width)}"
                if place not in files:
                    files[place] = set(shards[place].names) if place in shards and not again else set()
                files[place].add(name)
            for place, names in sorted(files.items()):
                self._must_be_whole(place, changes.rewrite)
                inside = sorted(names - gone)
                found = (lines[name] if name in fresh else table[name] for name in inside)
                made[place] = inside, layout.file_bytes(place, found) if inside else b""
        own = self._contents
        fields = (own.metadata | changes.metadata, own.extra | changes.extra, changes.head or own.head)
        if not is_moving and (self._workspace is None or fields != (own.metadata, own.extra, own.head)):
            self._must_be_whole(WORKSPACE)
            made[WORKSPACE] = [], layout.workspace_bytes(*fields)
        return made

    def _must_be_whole(self, place: str, rewrite: bool = False) -> None:
        """Refuse to overwrite what could not be read, unless its new content is known."""
        shard = self._shards.get(place, Shard())
        is_of_log = shard.is_file and place != WORKSPACE
        found = self._workspace_problems if place == WORKSPACE else shard.problems
        for problem in [] if rewrite and is_of_log else found:
            way = "`tallystick store replay --write` rewrites it from the log" if is_of_log else "fix or remove it"
            raise Damaged(f"{problem.place}: {problem.reason}; {way}: nothing was overwritten")

    def _write(self, lock: Lock, changes: Changes, files: Plan) -> None:
        """All files are written before the first is renamed, and all are in place before one is removed."""
        if not files:
            return
        self._is_fresh = False  # until what is on disk is known again
        lock.leave((self._mark.seq if self._mark else 0) + 1, os.urandom(32).hex(), 0)  # others read again
        self._mark = lock.witness()
        for place in [place for place in files if self._shards.get(place, Shard()).problems]:
            own_folder(self._disk, self.root / layout.DAMAGED)
            data = (self.root / place).read_bytes()
            name = f"{place.replace('/', '-')}.{sha256(data).hexdigest()[:8]}"  # the same bytes are stored once
            write_new(self._disk, self.root / layout.DAMAGED / name, data)
            self._disk.sync_folder(self.root / layout.DAMAGED)
        put = [place for place, (_, data) in files.items() if data]
        for place in put:
            remove_if_there(self._disk, self.root / f"{place}.new")
            write_new(self._disk, self.root / f"{place}.new", files[place][1])
        for place in put:
            self._disk.rename(self.root / f"{place}.new", self.root / place)
        self._sync(put)
        gone = [place for place in files if place not in put and remove_if_there(self._disk, self.root / place)]
        self._sync(gone)
        self._contents.apply(changes)
        for place, (names, _) in files.items():
            if place == WORKSPACE:
                self._workspace, self._workspace_problems = self._stamp(place), []
            elif names:
                self._shards[place] = Shard(self._stamp(place), names)
            else:
                self._shards.pop(place, None)
        self._is_fresh = True

    def _sync(self, places: Iterable[str]) -> None:
        for folder in sorted({(self.root / place).parent for place in places}):
            self._disk.sync_folder(folder)


Plan = dict[str, tuple[list[str], bytes]]  # the names in each file, and its content; without any, it is removed


def _stamp_of(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: Path) -> tuple[bytes, Stamp, str]:
    """The bytes of a file, its stamp, and why it could not be read if so."""
    stamp = _stamp_of(os.lstat(path))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return b"", stamp, "a symlink" if path.is_symlink() else f"unreadable: {error.strerror}"
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b"", stamp, "not a regular file"
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(), _stamp_of(os.fstat(fd)), ""
    finally:
        os.close(fd)


def own_folder(disk: Disk, path: Path) -> None:
    """Make sure that `path` is a folder of ours; it is created if need be. Refused, if it is a symlink."""
    if path.is_symlink():
        raise Refused(f"{path} is a symlink; replace it with a folder", "place")
    try:
        ensure_folder(disk, path)
    except (FileExistsError, NotADirectoryError):
        raise Refused(f"{path} is not a folder; choose another place, or move it away", "place") from None

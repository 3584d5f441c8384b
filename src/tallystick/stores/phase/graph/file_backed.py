"""A graph in a folder of plain files, see `layout`. No memory and no ledger is needed.

Acknowledged means on disk: a save returns after the sync, and one call is whole or absent, however many records and
files it touches. (The events of an imported envelope are appended last: if the power fails just before, the same import
again adds them.) Several processes may use one folder: a writer holds the system's lock, and every call first reads
what others wrote, which it detects by a mark in the lock file, and only the files that changed. A file that was edited
by hand is read when the folder is opened, when somebody saves to it, or by `refresh`. What a newer program wrote is
read as far as it is understood, and never written to.

Reading a folder creates nothing in it; it need not even exist.

Only files that changed are read again; a file is recognised by its inode, size and times. One file is replaced by a
rename. Of several, all are changed or none: the new files are written and synced in `.pending/`, then a list of what
goes where is put there by a rename, and from that moment on the change has happened: whoever finds the list moves what
is not moved yet. Without the list, the files in `.pending/` were promised to nobody, and are removed. Nothing is
written through a symlink.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

import orjson

from tallystick.ledger.disk import Disk, ensure_folder, remove_if_there, replace, write_new
from tallystick.ledger.lock import Lock, Witness
from tallystick.records.errors import Busy, Damaged, NotWritable, NotWritten, Refused
from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
from tallystick.stores.phase.event_log.line_file import READ_ONLY, TIMEOUT, not_written
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import KeptGraph
from tallystick.stores.phase.graph.contents import PARTS, Changes, Contents
from tallystick.stores.phase.graph.layout import PENDING, WORKSPACE, Problem, Shard, Stamp


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


# -- reading and planning ----------------------------------------------------------------------------------------------


_LIST = "list.json"
_TARGET = re.compile(r"(?:[a-z_]+/)?[a-z0-9]+\.jsonl?\Z")
_TRIES = 4

Names = dict[str, list[str]]  # the names in each file


@dataclass(slots=True)
class Plan:
    """Files to write and files to remove, and the records of each file."""

    files: dict[str, bytes] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    names: Names = field(default_factory=dict)


class GraphFiles:
    """The files of one folder as they were last read: their contents, and what could not be read."""

    def __init__(self, root: Path) -> None:
        self.root, self.contents = root, Contents()
        self._shards: dict[str, Shard] = {}  # by place, like `nodes/all.jsonl`
        self._workspace: Stamp | None = None
        self._workspace_problems: list[Problem] = []

    # -- reading -------------------------------------------------------------------------------------------------------

    def read_changes(self) -> None:
        """Read what changed since the last time."""
        for part in PARTS:
            self._read_part(part)
        stamp = self._stamp(WORKSPACE)
        if stamp == self._workspace:
            return
        self._workspace, self._workspace_problems = stamp, []
        fields: dict[str, Any] = {}
        if stamp:
            data, _, fault = _read(self.root / WORKSPACE)
            problem = Problem(layout.MALFORMED, WORKSPACE, 0, 0, fault)
            fields, self._workspace_problems = ({}, [problem]) if fault else layout.read_workspace(data)
        self.contents.metadata, self.contents.extra = fields.get("metadata", {}), fields.get("extra", {})
        self.contents.head = str(fields.get("profile", ""))

    def _read_part(self, part: str) -> None:
        known, folder = set(self._places(part)), self.root / part
        try:
            names = [] if folder.is_symlink() else os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            names = []
        there = {f"{part}/{name}" for name in names if layout.width_of(name) is not None}
        changed = {place for place in known | there if self._is_changed(place)}
        if changed and any(each.code == layout.TWICE for place in known for each in self._shards[place].problems):
            changed = known | there  # an id that occurred twice may occur once now
        for place in changed & known:
            for name in self._shards.pop(place).names:
                self.contents.drop(part, name)
        for place in sorted(changed & there):
            self._read_file(part, place)

    def _read_file(self, part: str, place: str) -> None:
        data, stamp, fault = _read(self.root / place)
        shard = self._shards[place] = Shard(stamp)
        if fault:
            shard.problems.append(Problem(layout.MALFORMED, place, 0, 0, fault))
            shard.is_file = False
            return
        table, rows = self.contents.tables[part], layout.trusted_rows(place, data)
        if rows is not None and table.keys().isdisjoint(names := [name for name, _ in rows]):
            shard.names = names
            for name, row in rows:
                self.contents.put(part, name, row)
            return
        for name, row, line, byte in layout.read_shard(place, data, shard):
            if name in table:
                reason = f"the id {ascii(name)[:60]} exists already, further up or in another file"
                shard.problems.append(Problem(layout.TWICE, place, line, byte, reason))
            else:
                self.contents.put(part, name, row)
                shard.names.append(name)

    def _places(self, part: str) -> list[str]:
        """The files of a part that were read."""
        return [place for place in self._shards if place.startswith(f"{part}/")]

    def _is_changed(self, place: str) -> bool:
        """True if a file is not as it was read, or gone, or new."""
        return self._stamp(place) != (self._shards[place].stamp if place in self._shards else None)

    def _stamp(self, place: str) -> Stamp | None:
        try:
            return _stamp_of(os.lstat(self.root / place))
        except (FileNotFoundError, NotADirectoryError):
            return None

    # -- problems ------------------------------------------------------------------------------------------------------

    def problems(self) -> list[Problem]:
        """The problems found in reading, file by file."""
        found = [problem for _, shard in sorted(self._shards.items()) for problem in shard.problems]
        return [*self._workspace_problems, *found]

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote any of it."""
        for problem in self.problems():
            if problem.code == layout.UNKNOWN_VERSION:
                raise NotWritable(f"{problem.place}: {problem.reason}; upgrade tallystick: nothing was written")

    def broken(self) -> list[str]:
        """The files of records in which something could not be read."""
        return [place for place, shard in sorted(self._shards.items()) if shard.problems]

    def edited(self) -> list[str]:
        """The files that are not as tallystick wrote them, though all in them could be read."""
        return [place for place, shard in sorted(self._shards.items()) if not shard.is_neat and not shard.problems]

    def _must_be_whole(self, place: str, rewrite: bool = False) -> None:
        """Refuse to overwrite what could not be read, unless its new content is known."""
        shard = self._shards.get(place, Shard())
        is_of_log = shard.is_file and place != WORKSPACE
        found = self._workspace_problems if place == WORKSPACE else shard.problems
        for problem in [] if rewrite and is_of_log else found:
            way = "`tallystick store replay --write` rewrites it from the log" if is_of_log else "fix or remove it"
            raise Damaged(f"{problem.place}: {problem.reason}; {way}: nothing was overwritten")

    # -- writing -------------------------------------------------------------------------------------------------------

    def plan(self, changes: Changes) -> Plan:
        """The files that saving `changes` writes and removes. What is there already unchanged is not written again."""
        made, own = Plan(), self.contents
        for part, fresh in changes.lines.items():
            names = self._names_by_file(part, changes)
            if not names:
                continue
            widths = {layout.width_of(place) for place in names}
            for place in sorted(set(self._places(part)) - names.keys()):  # whose records are all elsewhere now
                if layout.width_of(place) not in widths or not self._shards[place].is_neat:
                    self._must_be_whole(place, changes.rewrite)
                    made.gone.append(place)
            table = own.tables[part]
            for place, inside in names.items():
                self._must_be_whole(place, changes.rewrite)
                if inside:
                    lines = (fresh[name] if name in fresh else table[name] for name in inside)
                    made.files[place], made.names[place] = layout.file_bytes(place, lines), inside
                elif place in self._shards:
                    made.gone.append(place)
        fields = (own.metadata | changes.metadata, own.extra | changes.extra, changes.head or own.head)
        if self._workspace is None or fields != (own.metadata, own.extra, own.head):
            self._must_be_whole(WORKSPACE)
            made.files[WORKSPACE] = layout.workspace_bytes(*fields)
        return made

    def _names_by_file(self, part: str, changes: Changes) -> Names:
        """The records of each file that has to be written: the files that are touched, or all of them again."""
        table, lines = self.contents.tables[part], changes.lines[part]
        for _ in range(_TRIES):
            fresh = [name for name, line in lines.items() if table.get(name) != line]
            gone = (changes.gone.get(part, set()) & table.keys()) - lines.keys()
            places = self._places(part)
            is_broken = changes.rewrite and any(self._shards[place].problems for place in places)
            if not (fresh or gone or is_broken):
                return {}
            width = layout.width_for(len(table) - len(gone) + sum(name not in table for name in fresh))
            misplaced = (layout.width_of(place) != width or not self._shards[place].is_neat for place in places)
            again = is_broken or any(misplaced)
            files: dict[str, set[str]] = {}
            for name in {*table, *fresh} if again else {*fresh, *gone}:
                files.setdefault(f"{part}/{layout.file_of(name, width)}", set()).add(name)
            if not any(map(self._is_changed, {*files, *(places if again else ())})):
                break
            self._read_part(part)  # a file was changed by hand since it was read
        else:
            raise Busy(f"{self.root / part} is being changed by another program; try again in a moment")
        if not again:
            for place, names in files.items():
                names.update(self._shards[place].names if place in self._shards else ())
        found = {place: sorted(names - gone) for place, names in sorted(files.items())}
        return found or {place: [] for place in self._places(part)}

    def apply(self, changes: Changes, done: Plan) -> None:
        """Use what is on disk now."""
        self.contents.apply(changes)
        for place in done.gone:
            del self._shards[place]
        for place, names in done.names.items():
            stamp = self._stamp(place)
            if stamp is not None:
                self._shards[place] = Shard(stamp, names)
        if WORKSPACE in done.files:
            self._workspace, self._workspace_problems = self._stamp(WORKSPACE), []


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


# -- several files at once ---------------------------------------------------------------------------------------------


def commit(disk: Disk, root: Path, files: dict[str, bytes], gone: list[str]) -> None:
    """Write `files` (paths below the root) and remove `gone`."""
    for folder in {(root / name).parent for name in files}:
        own_folder(disk, folder)
    if len(files) == 1 and not gone:
        [(name, data)] = files.items()
        remove_if_there(disk, root / (name + ".new"))
        replace(disk, root / name, data)
        return
    pending = root / PENDING
    own_folder(disk, pending)
    _clear(disk, pending)
    for number, data in enumerate(files.values()):
        write_new(disk, pending / str(number), data)
    disk.sync_folder(pending)
    replace(disk, pending / _LIST, orjson.dumps({"put": list(files), "remove": gone}))
    finish(disk, root)


def is_unfinished(root: Path) -> bool:
    """True if a change has happened that is not completed yet."""
    return os.path.lexists(root / PENDING / _LIST)


def finish(disk: Disk, root: Path) -> None:
    """Complete what the list says. Doing it twice is the same as doing it once."""
    pending = root / PENDING
    own_folder(disk, pending)
    put, gone = _listed(pending / _LIST)
    folders = sorted({(root / name).parent for name in (*put, *gone)})
    for folder in folders:
        own_folder(disk, folder)
    for number, name in enumerate(put):
        if (pending / str(number)).exists():
            disk.rename(pending / str(number), root / name)
    for name in gone:
        remove_if_there(disk, root / name)
    for folder in folders:
        disk.sync_folder(folder)
    disk.remove(pending / _LIST)
    disk.sync_folder(pending)
    _clear(disk, pending)
    pending.rmdir()
    disk.sync_folder(root)


def _listed(path: Path) -> tuple[list[str], list[str]]:
    try:
        listed = orjson.loads(path.read_bytes())
        put, gone = listed["put"], listed["remove"]
        if all(_TARGET.match(name) for name in (*put, *gone)):
            return put, gone
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise Damaged(f"{path} is not as it was written; restore the folder from a copy, or remove {path.parent}")


def _clear(disk: Disk, pending: Path) -> None:
    for path in sorted(pending.iterdir()):
        disk.remove(path)


def own_folder(disk: Disk, path: Path) -> None:
    """Make sure that `path` is a folder of ours; it is created if need be. Refused, if it is a symlink."""
    if path.is_symlink():
        raise Refused(f"{path} is a symlink; replace it with a folder", "place")
    try:
        ensure_folder(disk, path)
    except (FileExistsError, NotADirectoryError):
        raise Refused(f"{path} is not a folder; choose another place, or move it away", "place") from None

"""The files of a graph as they were last read: what is held, what could not be read, and what changed since.

Only what changed is read again. A file is known by its inode, size and times. Whoever calls holds the lock.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.records.errors import NotWritable
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.contents import PARTS, Contents
from tallystick.stores.phase.graph.layout import Problem, Shard


class Stamp(NamedTuple):
    """By what a file is known to be as it was."""

    inode: int
    size: int
    mtime: int
    ctime: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Stamp:
        return cls(seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


class FileState(NamedTuple):
    """A file as it was read."""

    stamp: Stamp
    shard: Shard


class GraphFiles:
    """What is in the files of one folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.held = root, Contents()
        self.seen: dict[str, FileState] = {}  # by place, like `nodes/all.jsonl`
        self.workspace: Stamp | None = None
        self.workspace_problems: list[Problem] = []

    def read_changes(self) -> None:
        """Read what changed since the last look."""
        for part in PARTS:
            self.take_in_part(part)
        self._take_in_workspace()

    def take_in_part(self, part: str) -> None:
        known, there = set(self.places(part)), set(self._places_on_disk(part))
        changed = {place for place in known | there if self.is_changed(place)}
        if changed and any(each.code == layout.TWICE for place in known for each in self.seen[place].shard.problems):
            changed = known | there  # what stood twice may stand once now
        for place in changed & known:
            for name in self.seen.pop(place).shard.names:
                self.held.drop(part, name)
        for place in sorted(changed & there):
            self._read_file(part, place)

    def places(self, part: str) -> list[str]:
        """The files of a part that were read."""
        return [place for place in self.seen if place.startswith(f"{part}/")]

    def _places_on_disk(self, part: str) -> list[str]:
        """The files of a part that are there. A folder that is a link is not looked into."""
        folder = self.root / part
        try:
            names = [] if folder.is_symlink() else os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [f"{part}/{name}" for name in names if layout.width_of(name) is not None]

    def is_changed(self, place: str) -> bool:
        """Whether a file is not as it was read, gone, or new."""
        return self.stamp(place) != (self.seen[place].stamp if place in self.seen else None)

    def stamp(self, place: str) -> Stamp | None:
        try:
            return Stamp.of(os.lstat(self.root / place))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _read_file(self, part: str, place: str) -> None:
        data, stamp, fault = _read(self.root / place)
        shard = Shard()
        self.seen[place] = FileState(stamp, shard)
        if fault:
            shard.problems.append(Problem(layout.MALFORMED, place, 0, 0, fault))
            shard.is_file = False
            return
        table, rows = self.held.tables[part], layout.trusted_rows(place, data)
        if rows is not None and table.keys().isdisjoint(names := [name for name, _ in rows]):
            shard.names = names
            self.held.put_new(part, rows)
            return
        for found in layout.read_shard(place, data, shard):
            if found.name in table:
                reason = f"the id {ascii(found.name)[:60]} stands further up or in another file already"
                shard.problems.append(Problem(layout.TWICE, place, found.line, found.byte, reason))
            else:
                self.held.put(part, found.name, found.row)
                shard.names.append(found.name)

    def _take_in_workspace(self) -> None:
        stamp = self.stamp(layout.WORKSPACE)
        if stamp == self.workspace:
            return
        told: dict[str, Any] = {}
        self.workspace, self.workspace_problems = stamp, []
        if stamp:
            data, _, fault = _read(self.root / layout.WORKSPACE)
            told, self.workspace_problems = layout.read_workspace(data) if not fault else (told, [_unreadable(fault)])
        self.held.metadata, self.held.extra = told.get("metadata", {}), told.get("extra", {})
        self.held.head = str(told.get("profile", ""))

    def problems(self) -> list[Problem]:
        """What was passed over, file by file."""
        found = [problem for _, seen in sorted(self.seen.items()) for problem in seen.shard.problems]
        return [*self.workspace_problems, *found]

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote any of it."""
        for problem in self.problems():
            if problem.code == layout.UNKNOWN_VERSION:
                raise NotWritable(f"{problem.place}: {problem.reason}; upgrade tallystick: nothing was written")

    def broken(self) -> list[str]:
        """The files of records in which something could not be read."""
        return [place for place, seen in sorted(self.seen.items()) if seen.shard.problems]

    def edited(self) -> list[str]:
        """The files that are not as a tallystick wrote them, though all in them could be read."""
        files = sorted(self.seen.items())
        return [place for place, seen in files if not seen.shard.is_neat and not seen.shard.problems]


def _unreadable(fault: str) -> Problem:
    return Problem(layout.MALFORMED, layout.WORKSPACE, 0, 0, fault)


def _read(path: Path) -> tuple[bytes, Stamp, str]:
    """The bytes of a file, by what it is known, and why it could not be read if so."""
    stamp = Stamp.of(os.lstat(path))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        fault = "a link, and links are not followed" if path.is_symlink() else f"unreadable: {error.strerror}"
        return b"", stamp, fault
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b"", stamp, "no file"
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(), Stamp.of(os.fstat(fd)), ""
    finally:
        os.close(fd)

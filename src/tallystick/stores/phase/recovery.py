"""Whose turn it is, and what was under way when somebody died.

One action at a time, in all processes that share a log. Before an action is recorded, its name is noted, and the note
is cleared when the store was changed; so whoever comes next knows from one small file whether something is unfinished.
A note whose event is not in the log means that nothing happened; one that cannot be read, that nobody knows, so all is
done that the log says.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from tallystick.ledger.disk import Disk, ensure_folder, replace
from tallystick.ledger.lock import Lock
from tallystick.records.errors import Damaged, NotWritable, NotWritten, Refused
from tallystick.records.json import loads

SCHEMA_VERSION = 1
PATIENCE = 30.0


class Turn:
    """The turn of one runtime. Without a place to lock it is a matter of threads, without a note one of memory."""

    def __init__(self, lock: Path | None, note: Path | None, disk: Disk | None = None) -> None:
        self._path, self._note, self._disk = lock, note, disk or Disk()
        self._threads = threading.RLock()
        self._under_way = ""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold off everybody else."""
        with self._threads:
            if self._path is None:
                yield
                return
            lock = self._opened(self._path)
            try:
                with lock.exclusive():
                    yield
            finally:
                lock.close()

    def _opened(self, path: Path) -> Lock:
        try:
            ensure_folder(self._disk, path.parent)
            lock = Lock(path, self._disk, timeout=PATIENCE)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Refused(f"{path} is a link, and nothing is written through links; remove it", "place") from error
            raise NotWritten(f"{path} was not written ({error.strerror}); make room and try again") from error
        if not lock.writable:
            lock.close()
            raise NotWritable(f"{path.parent} may only be read; write to a copy of it")
        return lock

    def under_way(self) -> str | None:
        """The name of the action that was noted last; nothing, if it was finished; None, if the note cannot be read.

        NotWritable, if a newer program made the note, Damaged, if there is something else in its place.
        """
        if self._note is None:
            return self._under_way
        if not os.path.lexists(self._note):
            return ""
        if self._note.is_symlink() or not self._note.is_file():
            raise Damaged(f"{self._note}: it is no file; move it elsewhere")
        try:
            told = loads(self._note.read_bytes())
        except FileNotFoundError:
            return ""
        except ValueError:
            return None
        version = told.get("schema_version") if type(told) is dict else None
        if type(version) is int and version > SCHEMA_VERSION:
            known = f"schema version {version}, and this program knows {SCHEMA_VERSION}"
            raise NotWritable(f"{self._note}: {known}; upgrade tallystick: nothing was written")
        if type(version) is not int or version != SCHEMA_VERSION or type(told.get("applying")) is not str:
            return None
        return str(told["applying"])

    def note(self, name: str) -> None:
        """Note what is under way; nothing, when it is finished. NotWritten, if the disk refuses."""
        if self._note is None:
            self._under_way = name
            return
        told = {"applying": name, "schema_version": SCHEMA_VERSION}
        try:
            ensure_folder(self._disk, self._note.parent)
            replace(self._disk, self._note, orjson.dumps(told, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            raise NotWritten(f"{self._note} was not written ({error.strerror}); make room and try again") from error

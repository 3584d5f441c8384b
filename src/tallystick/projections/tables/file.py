"""`state.db`: the file of all tables that follow from the ledger, and the state in it.

The file is never repaired: one that cannot be used is replaced by a new one, which the ledger fills; the index, the
pages and the graph follow (see `table_set`). Where it cannot be written (a folder that is read-only here, a full disk),
the rows of the state are in a temporary database of this process, and what was not written stays in memory.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, suppress
from mmap import mmap
from pathlib import Path
from urllib.parse import quote

from tallystick.projections.database import inode_of, transaction
from tallystick.projections.table_set import LOST, SET_POSITION, Bookmark, TableSet
from tallystick.projections.tables.rows import SHAPE, Recorded
from tallystick.projections.tables.sealed import SealedRows
from tallystick.projections.tables.sqlite import SCHEMA, TablesInSqlite
from tallystick.records.errors import NotWritten
from tallystick.records.event import Event, Position

_PRAGMAS = (
    "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA temp_store=MEMORY", "PRAGMA cache_size=-16000",
)  # fmt: skip
_PRIVATE = ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-16000")
_TIMEOUT = 30.0
_MANY = 20_000  # changed rows that are written before the end
_ENDS = ("-wal", "-shm", "-journal")
_PLAIN = ("belief.", "episode.put")  # events of one thing alone


_Numbered = tuple[int, Callable[[sqlite3.Connection], TableSet]]


class _SetFailed(Exception):
    """A set of tables that follow could not take the events: its place."""


class StateFile:
    """The rows of a state in a folder. The ledger's lock says who may write, and `StateStore` what calls promise."""

    def __init__(self, path: Path) -> None:
        self.path, self._name, self.tables = path, os.fspath(path), TablesInSqlite()
        self._db: sqlite3.Connection | None = None
        self._inode = -1  # of the file that is attached; -1: none is, or a temporary one
        self._version = -1  # SQLite's own, which rises when others write
        self._fixed: tuple[int, int] | None = None  # the size and time of a file that is read as if nobody wrote it
        self._is_alone = False  # the temporary database is to be put in the place of the file
        self._is_writable = False
        self._refused: tuple[int, int, int] | None = None  # the inode and stamp of a file that could not be used
        self._recorded: Recorded | None = None
        self.followers: list[Callable[[sqlite3.Connection], TableSet]] = []  # tables that follow every write
        self._following: dict[int, TableSet] = {}  # those of the file that is attached
        self.is_lost = False  # there was a file that could not be used
        self.followed: dict[str, int] = {}  # the last event that each set has taken here

    # -- opening -----------------------------------------------------------------------------------------------------

    def look(self, *, writable: bool) -> Position | None:
        try:
            if self.tables.is_bad or not self._is_in_place():
                self._open(writable)
            if self._db is None:
                return None
            self.tables.discard()
            return self._looked()
        except (sqlite3.Error, OSError, ValueError):
            self.is_lost = True
            self.close()
            return None

    def _looked(self) -> Position | None:
        assert self._db is not None
        [self._version] = self._db.execute("PRAGMA data_version").fetchone()
        return self.tables.look()

    def _is_in_place(self) -> bool:
        """True if the file is the one that is attached. SQLite does not notice changes of one that it has as fixed."""
        is_same = self._db is not None and self._inode == inode_of(self._name)
        if not is_same or self._fixed is None:
            return is_same
        return self._fixed == _stamp(self.path) and not os.path.exists(f"{self.path}-wal")

    def _open(self, writable: bool) -> None:
        self.close()
        self._is_writable = writable
        if writable:
            self._put_folders_aside()
        inode = inode_of(self.path)
        if writable and inode >= 0 and not os.access(self.path, os.W_OK):  # it is somebody else's
            self.is_lost = True
            return
        if inode < 0 or (self._refused is not None and self._refused == (inode, *_stamp(self.path))):
            return
        is_fixed = not writable and not os.path.exists(f"{self.path}-wal")  # nobody writes it now
        how = "mode=rw" if writable else "mode=ro&immutable=1" if is_fixed else "mode=ro"
        stamp = _stamp(self.path) if is_fixed else None
        db = _connect(f"file:{quote(os.fsencode(self.path))}?{how}", uri=True)
        try:
            for pragma in _PRAGMAS if writable else ():
                db.execute(pragma)
            if db.execute("SELECT 1 FROM positions WHERE name = 'state' AND shape = ?", (SHAPE,)).fetchone():
                self._attach(db, inode, stamp)
        finally:
            if self._db is not db:
                db.close()

    def restart(self, *, alone: bool, had_events: bool = False, refused: bool = False) -> None:
        self.close()
        self.is_lost = self.is_lost or refused
        self._is_alone = self._is_writable = alone
        lost = [(LOST, 0, -1, "", b"")] if had_events and not os.path.exists(self.path) else []
        if alone and not os.path.lexists(self.path):
            with suppress(sqlite3.Error, OSError):
                db = self._made(self.path)
                db.executemany(SET_POSITION, lost)
                self._attach(db, inode_of(self.path), is_new=True)
                self._looked()
                self.tables.recorded = None  # until the ledger is read, what it says is not known
                return
        db = _connect("", uri=True)  # so that another can be attached by one
        for statement in (*_PRIVATE, *SCHEMA):
            db.execute(statement)
        db.executemany(SET_POSITION, lost)
        self._attach(db, -1, is_new=True)
        self._looked()
        self.tables.recorded = None

    def compare_with(self, recorded: Recorded, sealed: Callable[[], tuple[int, mmap] | None]) -> None:
        self._recorded = self.tables.recorded = recorded
        made: list[tuple[mmap, SealedRows]] = []

        def rows() -> SealedRows | None:
            if (found := sealed()) is None:
                return None
            if not made or made[0][0] is not found[1]:
                made[:] = [(found[1], SealedRows(*found))]
            return made[0][1]

        self.tables.sealed = rows

    def _attach(
        self, db: sqlite3.Connection, inode: int, stamp: tuple[int, int] | None = None, *, is_new: bool = False
    ) -> None:
        self.tables.attach(db, is_new=is_new)
        self.tables.recorded = self._recorded
        self._db, self._inode, self._fixed, self._following = db, inode, stamp, {}

    def _made(self, path: Path) -> sqlite3.Connection:
        """A new file with empty tables."""
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        db = _connect(path)
        try:
            for statement in (*_PRAGMAS, "BEGIN", *SCHEMA, "COMMIT"):
                db.execute(statement)
        except BaseException:
            db.close()
            raise
        return db

    def _replace_file(self, change: Callable[[sqlite3.Connection], None] | None = None) -> None:
        """Put a copy of the rows, in which nothing is left of removed ones, in the place of the file.

        Before that `change` changes it, while nobody else has it open; of what it removes nothing is left either.
        """
        assert self._db is not None
        fresh = self.path.with_name(f"{self.path.name}.new")
        with suppress(FileNotFoundError):
            os.remove(fresh)
        os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            self._db.execute("VACUUM INTO ?", (os.fspath(fresh),))
            if change is not None:
                with closing(_connect(fresh)) as db:
                    for pragma in ("PRAGMA journal_mode=OFF", "PRAGMA secure_delete=ON"):
                        db.execute(pragma)
                    with transaction(db):
                        change(db)
        except sqlite3.Error:
            os.remove(fresh)
            raise
        with open(fresh, "rb+") as file:
            os.fsync(file.fileno())
        self.close()
        self._remove_files()
        os.replace(fresh, self.path)
        self._open(writable=True)
        if self._db is not None:
            self._looked()

    def close(self) -> None:
        """Close it. A file that could not be used is removed: whoever opens the memory next makes another."""
        db, self._db, inode, self._inode = self._db, None, self._inode, -1
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()
            if inode >= 0 and self.tables.is_bad:
                with suppress(OSError):
                    self._refused = (inode, *_stamp(self.path))
                self._remove_files()

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def is_bad(self) -> bool:
        return self.tables.is_bad or (self._inode >= 0 and not self._is_in_place())

    @property
    def head(self) -> str:
        return self.tables.position.hash if self.tables.position else ""

    def has_moved(self) -> bool:
        if self._db is None:
            return True
        if self._inode < 0:
            return False
        try:
            [version] = self._db.execute("PRAGMA data_version").fetchone()
            if version != self._version and self.tables.saved_position() == self.tables.position:
                self._version = version  # others wrote rows that are not of the state
            return self.is_bad or version != self._version
        except sqlite3.Error:
            return True

    def pin(self, seq: int) -> bool:
        # rows of earlier events do no harm: what is in memory hides them
        if self._db is None:
            return False
        if self._inode < 0 or self._db.in_transaction:
            return not self.tables.is_bad
        try:
            self._db.execute("BEGIN")
            [version] = self._db.execute("PRAGMA data_version").fetchone()
            if self.is_bad:
                return False
            if version == self._version and self._fixed is None:
                return True
            position = self.tables.saved_position()
            if position != self.tables.position or self._fixed is not None:
                self.tables.forget()
            if position is None or position.seq > seq:
                return False
            self._version = version
            return True
        except sqlite3.Error:
            self.tables.is_bad = True
            return False

    @property
    def is_pinned(self) -> bool:
        return self._db is not None and self._db.in_transaction

    def unpin(self) -> None:
        if self._db is not None and self._db.in_transaction:
            try:
                self._db.execute("COMMIT")
            except sqlite3.Error:
                self.tables.is_bad = True

    # -- writing -----------------------------------------------------------------------------------------------------

    def everything(self) -> Iterator[tuple[object, ...]]:
        self.tables.save(None)
        return self.tables.everything()

    def spill(self) -> None:
        if self.tables.changes() > _MANY:
            with suppress(sqlite3.Error, OSError):
                self.tables.save(None)

    def save(self, position: Position | None, events: Sequence[Event] = (), after: str = "") -> None:
        is_idle = position is None and not self.followers
        if self._db is None or is_idle or self.tables.is_bad:
            return
        sets = list(enumerate(self.followers)) if events and self._inode >= 0 else []
        with suppress(sqlite3.Error, OSError):
            while True:
                try:
                    taken = self._saved(position, events, after, sets)
                    break
                except _SetFailed as failed:  # the write stands without it; its next reader looks closer
                    del sets[failed.args[0]]
                    self._following.clear()
            self.followed.update(taken)
            if position and self._inode < 0 and self._is_alone:
                self._replace_file()

    def _saved(
        self, position: Position | None, events: Sequence[Event], after: str, sets: Sequence[_Numbered]
    ) -> dict[str, int]:  # fmt: skip
        """Save in one transaction, and return the last event that each set has taken.

        There is no savepoint for each set: SQLite would copy every page before it is changed.
        """
        taken = dict[str, int]()

        def take() -> None:
            assert self._db is not None
            for place, (number, make) in enumerate(sets):
                try:
                    rows = self._following[number] = self._following.get(number) or make(self._db)
                    mark = rows.catch_up(events, expected=Bookmark(events[0].seq - 1, after, rows.shape))
                except Exception as error:  # also a mistake of ours
                    raise _SetFailed(place) from error
                if mark.seq == events[-1].seq:
                    taken[rows.name] = mark.seq

        if position is None:
            with self.tables.writing():
                take()
        else:
            self.tables.save(position, take)
            self.tables.recorded = self._recorded
        return taken

    def rewrite(self, names: Collection[str], seq: int, ops: Collection[str], *, is_whole: bool) -> None:
        """The index keeps what others say, if it is certain what that is; if events were moved away, in any case. The
        other tables that follow are filled again. What is local stays, but for pages with such an entry."""
        if self._db is None or self._inode < 0:
            self._remove_files()
            return

        def forget(db: sqlite3.Connection) -> None:
            from tallystick.projections.graph.open_database import GraphFile  # only where something is erased
            from tallystick.projections.index.file import IndexFile
            from tallystick.projections.pages.open_database import PagesFile

            there = {name for (name,) in db.execute("SELECT name FROM positions WHERE seq >= 0")}
            if "pages" in there:
                pages = PagesFile(db)
                pages.forget(names, seq)
                pages.empty()
            if "index" in there:
                index, is_plain = IndexFile(db), bool(ops) and all(op.startswith(_PLAIN) for op in ops)
                if not ((is_plain or not is_whole) and index.forget(names, exactly=is_whole)):
                    index.empty()
            if "graph" in there:
                GraphFile(db, "").empty()

        try:
            self._replace_file(forget)
        except sqlite3.Error as error:
            self.tables.is_bad = True
            self.close()  # the file goes, with the words in it
            raise NotWritten(f"{self.path} could not be written without what was erased: {error}") from error

    def _remove_files(self) -> None:
        self._put_folders_aside()
        for end in ("", *_ENDS) if self._is_writable else ():
            with suppress(OSError):
                os.remove(f"{self.path}{end}")

    def replace_with(self, path: Path) -> None:
        if path.exists():
            self._is_writable = True
            self.close()
            self._remove_files()
            os.replace(path, self.path)

    def _put_folders_aside(self) -> None:
        """A folder in the place of the file, or of SQLite's files of it, is somebody's."""
        for path in [f"{self.path}{end}" for end in ("", *_ENDS)]:
            if os.path.isdir(path) and not os.path.islink(path):
                self.is_lost = True
                with suppress(OSError):
                    os.rename(path, f"{path}.aside-{os.urandom(4).hex()}")


def _connect(name: Path | str, **options: bool) -> sqlite3.Connection:
    return sqlite3.connect(
        name, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False, cached_statements=256, **options
    )


def _stamp(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


"""Comparing derived files with the ledger: the index, the vectors, the graph, the pages and their tables.

The index and the tables of the pages are built a second time in a temporary file without a name, and compared row by
row, both in their order and in step. The events are read once for all files, some at a time, so a long ledger needs no
more memory than a short one. This needs no lock: events that were read do not change. The live file is copied by SQLite
as of one moment, and all reading is done on the copy. An erasure does change events, and another process may write a
file without a journal while it is read: then the file has changed afterwards, and what was found in it is dropped.

A file that is missing or lags behind is not a finding: it is updated with the next use.

Vectors are computed from the index, and again if they are missing; so missing ones are not a finding. One too many is:
an erased text can be guessed from its vector. Those of an embedder that is not used any more are kept for its next use,
and count like the others.

A page that a person edited is a note: the next sync imports it, and until then the edits do not count. One that a sync
does not import, or that differs from the memory after a sync, is compared entry by entry, and wrong until they agree.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Protocol

from tallystick.ledger import format as fmt
from tallystick.ledger.fold import lift
from tallystick.ledger.folder.chain import Chain
from tallystick.ledger.folder.layout import Folder
from tallystick.projections.database import ATTACHED, Difference, Stale, differing
from tallystick.projections.graph.open_database import NAMES as GRAPH, GraphFile
from tallystick.projections.index import file as index_file, statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.markdown import parse
from tallystick.projections.markdown.zone import zone_named
from tallystick.projections.pages import open_database as page_rows
from tallystick.projections.pages.edits import Known, compare, conflict_line, is_truncated, loses_most, unreadable
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.render import new
from tallystick.projections.pages.rows import File, digest_of, mark_of
from tallystick.projections.table_set import TableSet
from tallystick.records.errors import Damaged
from tallystick.records.event import Event, at_origin
from tallystick.records.trust import Distrust
from tallystick.repair.findings import Finding, found
from tallystick.repair.scan import Extent
from tallystick.repair.witness import connect, copied, readonly

_ASIDE = ""  # SQLite's name for a file without a name
_LITTLE = "PRAGMA cache_size=-8000"  # the memory that a temporary file may use
_AT_ONCE = 2 << 20  # bytes of lines whose events are in memory
_SHOWN = 20
_TRIES = 5
_PAUSE = 0.05  # seconds
_MAX_PAGE = 64 << 20  # bytes of a page that is read
_WRONG = (sqlite3.Error, Stale, ArithmeticError, LookupError, TypeError, ValueError)  # of bad rows
_HEAD = re.compile(r"[0-9a-f]{24}\.json\Z")  # of the vectors of one user
_HANGING = (  # table, rows of it that refer to nothing, and what is wrong with them
    ("blocks", "SELECT id FROM blocks WHERE id NOT IN (SELECT block_id FROM index_sources WHERE block_id IS NOT NULL)",
     "blocks without a source"),
    ("blocks", "SELECT id FROM blocks WHERE id NOT IN (SELECT block_id FROM index_lives)", "blocks without a user"),
    ("index_sources",
     "SELECT id FROM index_sources WHERE block_id IS NOT NULL AND block_id NOT IN (SELECT id FROM blocks)",
     "sources whose block is missing"),
    ("index_lives", "SELECT block_id FROM index_lives WHERE block_id NOT IN (SELECT id FROM blocks)",
     "lives of missing blocks"),
)  # fmt: skip


class Reader(Protocol):
    """Compares a part of `state.db` with the events that it is given, up to the `last` one that it needs."""

    last: int

    def take(self, events: Sequence[Event]) -> None: ...
    def findings(self) -> list[Finding]: ...
    def close(self) -> None: ...


Kind = Callable[[Folder, Extent, "Copy"], Reader]


class Copy:
    """A copy of `state.db` in the temporary folder, made when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="tallystick-")
        self.path, self.place = path, os.path.join(self._home.name, path.name)
        self._db: sqlite3.Connection | None = None
        self.is_damaged = False

    def rows(self) -> sqlite3.Connection:
        if self._db is None:
            self.is_damaged = True
            db = connect(copied(self.path, self._home.name))
            try:
                for pragma in (_LITTLE, "PRAGMA synchronous=OFF", "PRAGMA journal_mode=OFF"):  # it is here alone
                    db.execute(pragma)
            except BaseException:
                db.close()
                raise
            self._db, self.is_damaged = db, False
        return self._db

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._home.cleanup()


def findings(folder: Folder, extent: Extent, kinds: Sequence[Kind]) -> list[Finding]:
    """What readers of these kinds find. The events are read once for all of them.

    In a file that somebody wrote to meanwhile, or right after, it is looked for again; nothing is found in one that
    changes all the time, nor in one that is missing: whoever rebuilds it has removed it, and may take a while.
    """
    for attempt in range(1, _TRIES + 1):
        before = _file_state(folder.state)
        doubtful = [(kind, some) for kind, some in _read_once(folder, extent, kinds) if some]
        if not doubtful:
            break
        time.sleep(_PAUSE * attempt)  # time for a process that is writing it to go on
        if before and _file_state(folder.state) == before:
            return [each for _, some in doubtful for each in some]
        kinds = [kind for kind, _ in doubtful]
    return []


def _read_once(folder: Folder, extent: Extent, kinds: Sequence[Kind]) -> list[tuple[Kind, list[Finding]]]:
    """The kinds of readers, and what they found."""
    with ExitStack() as opened:
        copy = opened.enter_context(closing(Copy(folder.state)))
        readers = [opened.enter_context(closing(kind(folder, extent, copy))) for kind in kinds]
        last = max((reader.last for reader in readers), default=-1)
        for events in _events(folder, extent) if last >= 0 else ():
            for reader in readers:
                reader.take(events)
            if events[-1].seq >= last:
                break
        return [(kind, reader.findings()) for kind, reader in zip(kinds, readers, strict=True)]


def _events(folder: Folder, extent: Extent) -> Iterator[list[Event]]:
    """All events that are here, some at a time. Those that were scanned are not checked again."""
    chain, some, size = Chain(folder), list[Event](), 0
    seq = chain.first - 1
    for path, offset, raw in chain.raw(chain.first):
        if seq < extent.last:
            event = _scanned(raw, extent, f"{path.name}, byte {offset}")
        elif line := fmt.try_parse(raw):  # what was written since is checked
            event = line.event()
        else:
            break
        some.append(lift(event))
        seq, size = event.seq, size + len(raw)
        if size >= _AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _scanned(raw: bytes, extent: Extent, place: str) -> Event:
    """The event of a line that was scanned."""
    try:
        event = fmt.split_event(raw)
        if event.hash not in extent.hollow:
            return at_origin(event)
    except (fmt.BadLine, ValueError, IndexError):
        pass
    line = fmt.try_split(raw)
    if line is None:
        raise Damaged(f"{place}: it was changed during the check; run `tallystick check` again")
    return line._replace(sound=line.sound and line.hash not in extent.hollow).event()


_FileState = list[tuple[int, int, int]]


def _file_state(path: Path) -> _FileState:
    """Inode, size and time of a file and its journal; empty if it is missing."""
    found_there = _FileState()
    with suppress(OSError):
        for each in (f"{path}", f"{path}-wal"):
            info = os.stat(each)
            found_there.append((info.st_ino, info.st_size, info.st_mtime_ns))
    return found_there


class _Rebuilt(ABC):
    """A database that is built again from the events up to its bookmark, and compared."""

    def __init__(
        self, copy: Copy, kind: Callable[[sqlite3.Connection], TableSet], again: TableSet, code: str
    ) -> None:  # fmt: skip
        self.path, self._again, self._code = copy.path, again, code
        self._found = list[Finding]()
        self.last = -1  # the last event that is applied; -1: there is nothing to compare
        self._is_readable = self.path.is_file()
        again.db.execute(_LITTLE)
        if not self._is_readable:
            return
        with self._reading():
            self._live = kind(copy.rows())
            self._begin()
            again.db.execute(f"ATTACH ? AS {ATTACHED}", (copy.place,))
        if copy.is_damaged and kind is not IndexFile:  # it is one finding
            self._found.clear()

    @abstractmethod
    def _begin(self) -> None:
        """Look at the file alone, and set the last event."""

    @abstractmethod
    def _compare(self) -> Iterator[Finding]:
        """Compare the two."""

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except _WRONG as error:
            why = "it holds data that was erased" if isinstance(error, Stale) else "its rows cannot be read"
            self._found, self.last, self._is_readable = [found(self._code, self.path.name, why)], -1, False

    def take(self, events: Sequence[Event]) -> None:
        if self.last >= events[0].seq:
            with self._reading():
                self._again.catch_up([event for event in events if event.seq <= self.last])

    def findings(self) -> list[Finding]:
        with self._reading():
            self._found += self._compare() if self._is_readable else ()
        return self._found

    def _differing(self, code: str, differences: Iterable[Difference], text: str) -> Iterator[Finding]:
        """Rows that differ, by what names them and never by their texts: anyone may see a finding."""
        others, named = list(islice(differences, _SHOWN + 1)), dict[str, dict[str, None]]()
        for each in others[:_SHOWN]:
            name = str(each.row[1] if each.table == "files" else each.row[0])
            named.setdefault(each.table, {})[name[:64]] = None
        more = " and more" if len(others) > _SHOWN else ""
        for table, names in named.items():
            what = f"rows that differ from the ledger: {', '.join(names)}{more}"
            yield found(code, f"{self.path.name}, {table}", what)
        if not others and (trouble := self._live.text_trouble()):
            yield found(code, f"{self.path.name}, {text}", f"the full text does not match the rows: {trouble}")

    def close(self) -> None:
        self._again.close()


class FileReader:
    """Asks SQLite whether the file is in order. It needs no events, and no copy."""

    last = -1

    def __init__(self, folder: Folder, *_: object) -> None:
        self._path = folder.state

    def take(self, events: Sequence[Event]) -> None:
        """There is nothing to compare with them."""

    def findings(self) -> list[Finding]:
        if not self._path.is_file():
            return []
        why = "its rows cannot be read"
        with suppress(sqlite3.Error, OSError), readonly(self._path) as db:
            db.execute(_LITTLE)
            is_sound = db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            why = "" if is_sound else "its pages do not belong together"
        return [found("index-damaged", self._path.name, why)] if why else []

    def close(self) -> None:
        """Nothing is open."""


# -- the index ---------------------------------------------------------------------------------------------------------


class IndexReader(_Rebuilt):
    """Compares the index with the ledger."""

    _live: IndexFile
    _again: IndexFile

    def __init__(self, folder: Folder, extent: Extent, copy: Copy) -> None:
        self._folder, self._end, self._is_ours, self._has_vectors = folder, extent.last, False, False
        super().__init__(copy, IndexFile, IndexFile(_ASIDE, making=True, rows_only=True), "index-damaged")

    def _begin(self) -> None:
        mark = self._live.bookmark()
        self._is_ours = mark.shape == index_file.SHAPE and mark.seq >= 0
        self._has_vectors = self._is_ours and mark.seq == self._end
        self.last = mark.seq if self._is_ours and Chain(self._folder).first == 0 else -1

    def _compare(self) -> Iterator[Finding]:
        if not self._is_ours:
            return
        wrong = list[Finding]()
        if self.last >= 0:
            differences = index_file.differences(self._live, self._again)
            wrong += self._differing("index-differs", differences, "index_texts")
        hanging = list(self._hanging()) if wrong or self.last < 0 else []  # where nothing differs, there are none
        yield from hanging or wrong
        vectors = self._folder.root / "vectors"
        if self._has_vectors and not hanging and vectors.is_dir():
            yield from _vectors(vectors, self._live)

    def _hanging(self) -> Iterator[Finding]:
        """The index alone shows these, also if earlier events were moved away."""
        for table, statement, what in _HANGING:
            rows = [str(row[0]) for row in self._live.db.execute(statement).fetchmany(_SHOWN + 1)]
            if rows:
                listed = ", ".join(row[:64] for row in rows[:_SHOWN]) + (" and more" if len(rows) > _SHOWN else "")
                yield found("block-loose", f"{self.path.name}, {table}", f"{what}: {listed}")


def _vectors(folder: Path, index: IndexFile) -> Iterator[Finding]:
    """The findings in the vectors, given an index that has read everything."""
    import numpy as np  # only if there are vectors

    from tallystick.projections.vectors.file import blocks_of
    from tallystick.projections.vectors.names import file_name, read_head
    from tallystick.projections.vectors.rows import ROW

    users = {file_name(row[0]): row[0] for row in index.db.execute(sql.USERS)}
    for path in sorted(folder.glob("*/*.json")):
        if not _HEAD.match(path.name):
            continue
        place, head, user = f"vectors/{path.parent.name}/{path.name}", read_head(path), users.get(path.stem)
        if head is None:
            yield found("vectors-damaged", place, "it does not say which vectors count")
            continue
        rows = path.with_name(f"{path.stem}-{head['generation']}.rows")
        try:
            blocks = np.fromfile(rows, dtype=ROW, count=rows.stat().st_size // ROW.itemsize)["block"]
        except (OSError, ValueError):
            yield found("vectors-damaged", place, "the vectors that it names are missing")
            continue
        known = np.zeros(0, dtype=np.uint64) if user is None else blocks_of(index, user)
        loose = np.unique(blocks[~np.isin(blocks, known)])
        if len(loose):
            yield found("vectors-loose", place, f"vectors of {len(loose)} blocks that the index does not have")


# -- the pages ---------------------------------------------------------------------------------------------------------


class PageReader(_Rebuilt):
    """Compares the pages and their tables with the ledger."""

    _live: PagesFile
    _again: PagesFile

    def __init__(self, folder: Folder, _: Extent, copy: Copy) -> None:
        self._folder = folder
        super().__init__(copy, PagesFile, PagesFile(_ASIDE, rows_only=True), "pages-damaged")

    def _begin(self) -> None:
        mark = self._live.bookmark()
        self._is_readable = mark.seq >= 0  # else they are filled with the next use
        self.last = mark.seq if mark.shape == page_rows.SHAPE and Chain(self._folder).first == 0 else -1

    def _compare(self) -> Iterator[Finding]:
        wrong = list(self._found)
        if self.last >= 0:
            differences = page_rows.differences(self._live, self._again)
            wrong += self._differing("pages-differ", differences, "entries_fts")
        yield from wrong[len(self._found) :]
        yield from _in_files(self._folder, self._live, is_sound=not wrong)


def _in_files(folder: Folder, live: PagesFile, *, is_sound: bool) -> Iterator[Finding]:
    """Compare the files with what was last read, and with the tables if those are sound."""
    if folder.pages.is_symlink() or not folder.pages.is_dir():
        return
    known = [row[0] for row in live.db.execute("SELECT path FROM files ORDER BY path")]
    for path in known:
        parts, file = PurePosixPath(path).parts, live.file(path)
        is_inside = 0 < len(parts) <= 2 and not PurePosixPath(path).is_absolute() and ".." not in parts
        if file is not None and file.digest is not None and not file.is_gone and is_inside:
            yield from _in_file(folder.pages / path, f"memory/{path}", file, live, is_sound=is_sound)
    for path in sorted(_pages_in(folder.pages).difference(known)):
        yield found("page-unsynced", f"memory/{path}", "it is new")


def _pages_in(pages: Path) -> set[str]:
    """The files that a sync would import."""
    folders = [pages, *(folder for folder in pages.glob("@*/") if not folder.is_symlink())]
    found = [path for folder in folders for path in folder.glob("*.md") if not path.name.startswith(".")]
    return {path.relative_to(pages).as_posix() for path in found}


def _in_file(page: Path, place: str, file: File, live: PagesFile, *, is_sound: bool) -> Iterator[Finding]:
    """Compare one file, if a sync would read it."""
    try:
        info = os.lstat(page)
        if not stat.S_ISREG(info.st_mode) or page.parent.is_symlink() or info.st_size > _MAX_PAGE:
            return
        data = page.read_bytes()
    except FileNotFoundError:
        yield found("page-unsynced", place, "it is missing; the next sync writes it again")
        return
    if is_sound and (wrong := _wrong_in(data, file, live)):
        yield found("page-differs", place, wrong)
    elif digest_of(data) == file.digest:
        return
    elif live.was_rendered(file.path, digest_of(data)):
        yield found("page-unsynced", place, "it is an earlier version; the next sync updates it")
    else:
        yield found("page-unsynced", place, "it was edited")


def _wrong_in(data: bytes, file: File, live: PagesFile) -> str:
    """The first difference between a page and the memory that a sync does not import."""
    if why := unreadable(data):
        return why
    zone, rows = zone_named(file.zone) or UTC, live.entries(file.path)
    if data == new(file, rows, zone).data:  # as nearly all are, but for those that a person has edited
        return ""
    page = parse(data, zone)
    if line := conflict_line(page, {row.id: row for row in rows}):
        return f"line {line}: a merge left conflict markers here"
    mark = mark_of(data)
    base = live.base(file.path, mark)
    if digest_of(data) != file.digest:
        if is_truncated(page, rows, base, partial(live.ends, file.path, mark)):
            return "it is truncated"
        gone = compare(page, file, rows, _KNOWN, base).removed
        return f"{len(gone)} entries are missing, most of what it had" if loses_most(gone, rows, base) else ""
    if file.is_due:  # what is new is not written there yet
        return ""
    edits = compare(page, file, rows, _KNOWN, base)
    notes = [f"line {note.line}: {note.what}" if note.line else note.what for note in edits.notes]
    notes += [f"line {each.line}: {each.kind}, and not as the memory has it" for each in edits.changes]
    more = f", and {len(notes) - 1} more" if len(notes) > 1 else ""
    return f"{notes[0]}{more}" if notes else ""


_KNOWN = Known(lambda _: False, lambda *_: False, lambda _: True, lambda _: -1)  # as far as the tables show


# -- the graph ---------------------------------------------------------------------------------------------------------


class GraphReader(_Rebuilt):
    """Compares the graph with the ledger, if there is one. One that was made under other distrusts is made again."""

    _live: GraphFile
    _again: GraphFile

    def __init__(self, folder: Folder, _: Extent, copy: Copy, *, distrusts: list[Distrust], ledger: str) -> None:
        self._folder, self._distrusts = folder, distrusts
        super().__init__(copy, partial(GraphFile, ledger=ledger), GraphFile(_ASIDE, ledger), "state-differs")

    def _begin(self) -> None:
        mark, is_whole = self._live.bookmark(), Chain(self._folder).first == 0
        is_made_so = all(each.is_made_under(self._distrusts) for each in (self._again, self._live))
        self.last = mark.seq if mark.shape == self._live.shape and is_made_so and is_whole else -1

    def _compare(self) -> Iterator[Finding]:
        """Their tables alone: the names of nodes are somebody's words."""
        differences = differing(GRAPH, self._live.db, self._again.db) if self.last >= 0 else ()
        for table in dict.fromkeys(each.table for each in differences):
            yield found(self._code, f"{self.path.name}, {table}", "rows that differ from the ledger")

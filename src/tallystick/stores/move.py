"""Moving a memory: from a folder to a database, or back. Every line is the same byte for byte.

1. The source is verified whole. The target is begun: nobody opens it yet.
2. Lines are copied in chunks, while others go on writing to the source.
3. The source is closed for writing, in every process; from now on it says where it has moved to.
4. The rest is copied, and every line is read back and compared. Lines that were erased in the source meanwhile are
   erased in the target too.
5. The target gets the rows of the state, the settings and the checkpoints, and is opened, all at once.

So at most one of the two can be written to, whenever this is killed; between steps 3 and 5 neither can. Moving again
goes on where it stopped, and after the end says that it is done. Pins are those of the ledger, wherever it is; the
target is noted as its place. The source stays as it was, and the last line that both have names it as a copy: an
erasure does not reach it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.arriving import Arriving
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.fold import LedgerMetadata, fold_line, moved_away
from tallystick.ledger.folder.arrive import ArrivingFolder
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.projections.tables.file import StateFile
from tallystick.projections.tables.rows import SHAPE
from tallystick.records.errors import Busy, Damaged, NotWritable, NotWritten, Refused, Unfinished
from tallystick.records.progress import Progress
from tallystick.records.transfer import Move
from tallystick.state.state import State
from tallystick.stores.open_database import OpenDatabase
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.open_ledger import OpenLedger, scratch

_LINES, _BYTES = 1000, 4 << 20  # of a chunk
_ROUNDS = 5  # of copying what others wrote meanwhile, before they are kept out
_SPILL = 5_000  # lines, after which rows are written if they are many

Scratch = tuple[State, StateFile]
Bar = Callable[[int], AbstractContextManager[Progress]]  # a progress bar of so many steps


def move(opened: OpenLedger, target: Arriving, *, root: Path | str, keyring: Keyring, bar: Bar | None = None) -> Move:
    """Move an open memory to `target`, which is at `root`. Nothing is read or written there before it is safe to."""
    ledger, here = opened.ledger, place_of(opened)
    moved, state, name = ledger.moved_to(), target.state, ledger.standing.ledger
    if moved and moved != target.place:
        raise NotWritable(moved_away(here, moved))
    if state in ("open", "moved") and target.ledger not in ("", name):
        raise Refused(f"there is another memory at {target.place}; name a place of its own", "exists")
    if state == "open" or (state == "moved" and moved):
        if not moved:
            raise Refused(f"there is a memory at {target.place} already; name another place", "exists")
        _pin(keyring, name, root)
        return Move(source=here, target=target.place, events=ledger.head.seq + 1, how="done before")
    try:
        _must_be_whole(opened, keyring, is_moved=bool(moved))
        _must_continue(opened, target)
        target.begin(here)
        _must_continue(opened, target)
        how = "resumed" if target.head.seq >= 0 else "moved"
        steps = 2 * (ledger.head.seq + 1)
        with (bar or (lambda _: nullcontext(lambda _: None)))(steps) as on_progress:
            _Moving(opened, target, on_progress).run(is_moved=bool(moved))
        _pin(keyring, name, root)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        if ledger.moved_to():
            again = "neither place can be written to until then"
            raise Unfinished(f"not moved yet: {why}; make room, then move again: {again}") from error
        raise NotWritten(f"not moved, and {here} is as it was: {why}; make room, then move again") from error
    return Move(source=here, target=target.place, events=ledger.head.seq + 1, how=how)


@contextmanager
def arriving_folder(root: Path, ledger: str) -> Iterator[Arriving]:
    """The folder to which the ledger of that id is moved. One that exists is empty, or was begun before."""
    there = ArrivingFolder(root, ledger)
    try:
        yield there
    finally:
        there.close()


def place_of(opened: OpenLedger) -> str:
    """The place of an open memory, as `moved-to` names it."""
    return opened.place if opened.root is None else str(opened.root.resolve())


def _must_be_whole(opened: OpenLedger, keyring: Keyring, *, is_moved: bool) -> None:
    """Raise what keeps the memory from being moved."""
    ledger, here = opened.ledger, place_of(opened)
    ledger.must_be_whole()
    ledger.standing.must_be_known(here)
    if not (ledger.writable or is_moved):
        raise NotWritable(f"{here} cannot be moved by this user, who may only read it; ask its owner")
    if ledger.first:
        raise Refused(
            f"{here} lacks the events before {ledger.first}: `tallystick ledger prune` moved them away;"
            " put their files back into sealed/, then move it", "state"
        )  # fmt: skip
    if isinstance(opened, OpenDatabase) and not is_moved:
        opened.settings.ledger.finish_erasing()
    if ledger.standing.erasing:
        raise Refused(
            f"{here} has erased words that are hidden, and not destroyed in its files yet;"
            " run `tallystick sweep` there, then move it", "state",
        )  # fmt: skip
    report = opened.verify(keyring, ("", ""), processes=1, on_progress=None)
    if not report.ok:
        raise Damaged(f"{here} is not as it was written: {report.bad}; run `tallystick check`")


def _must_continue(opened: OpenLedger, target: Arriving) -> None:
    """Refused, if the target has other lines than the beginning of the source."""
    head, ledger = target.head, opened.ledger
    is_other = target.ledger not in ("", ledger.standing.ledger)
    if is_other or (head.seq >= 0 and ledger.hash_at(head.seq) != head.hash):
        raise Refused(
            f"{target.place} has other events than {place_of(opened)}, or later ones; name another place", "mismatch"
        )


class _Moving:
    """One move, once both places are known to fit."""

    def __init__(self, opened: OpenLedger, target: Arriving, on_progress: Progress) -> None:
        self._opened, self._ledger, self._target, self._on_progress = opened, opened.ledger, target, on_progress
        self._standing, self._tree = LedgerMetadata(), Range()  # of the lines that were read

    def run(self, *, is_moved: bool) -> None:
        target, ledger = self._target, self._ledger
        self._notes()  # Refused before anything is done
        with self._scratch() as rows:
            for _ in range(0 if is_moved else _ROUNDS):
                self._copy(rows)
                ledger.refresh()
                if target.head.seq == ledger.head.seq:
                    break
            ledger.move_away(target.place)
            ledger.refresh()
            if ledger.moved_to() != target.place:  # the connection was lost, perhaps before that was done
                raise Busy(f"{place_of(self._opened)} could not be closed for writing; move again")
            self._copy(rows)
            erased = self._compare()
            if not erased:
                self._add_rows(rows)
        if erased:
            with self._scratch() as rows:  # without what their words were
                self._standing, self._tree = LedgerMetadata(), Range()
                self._copy(rows)
                self._add_rows(rows)
        saved = orjson.dumps({"tree": self._tree.to_json(), "standing": self._standing.dump()})
        target.open(erased, saved, SHAPE, self._opened.settings.text(), self._notes())

    def _scratch(self) -> AbstractContextManager[Scratch | None]:
        return scratch() if self._target.has_rows else nullcontext(None)

    def _copy(self, rows: Scratch | None) -> None:
        """Read the lines that were not read, and add those that the target lacks."""
        chunk, size = list[fmt.Line](), 0
        for line in self._ledger.lines(self._tree.end):
            self._tree.append(leaf_hash(line.slice))
            if rows:
                fold_line(line, rows[0], self._standing)
                if line.seq % _SPILL == 0:
                    rows[1].spill()
            if line.seq > self._target.head.seq:
                chunk.append(line)
                size += len(line.data)
            if len(chunk) == _LINES or size > _BYTES:
                self._target.add(chunk)
                self._on_progress(len(chunk))
                chunk, size = [], 0
        self._target.add(chunk)
        self._on_progress(len(chunk))

    def _compare(self) -> list[fmt.Line]:
        """Compare every line. Those of the target whose data was erased in the source since it was copied."""
        head, there, erased = self._ledger.head, self._target.head, list[fmt.Line]()
        if (head.seq, head.hash) != (there.seq, there.hash) or self._tree.root() != self._ledger.tree().root():
            raise Damaged(f"the lines of {self._target.place} are not those of the source; remove them, and move again")
        for mine, theirs in zip(self._ledger.lines(), self._target.lines(), strict=True):
            if mine.slice != theirs.slice or (mine.data != theirs.data and not fmt.is_hollow(mine.data)):
                raise Damaged(f"event {mine.seq} is not the same at {self._target.place}; remove that, and move again")
            if mine.data != theirs.data:
                erased.append(theirs)
            if mine.seq % _LINES == _LINES - 1:
                self._on_progress(_LINES)
        return erased

    def _add_rows(self, rows: Scratch | None) -> None:
        if rows:
            self._target.add_rows(rows[1].everything())

    def _notes(self) -> list[str]:
        """The checkpoints beside the source, the one that saw most first."""
        if isinstance(self._opened, OpenDatabase):
            return self._opened.settings.ledger.checkpoints()
        assert isinstance(self._opened, OpenFolder)
        path = self._opened.files.checkpoint
        if not path.exists():
            return []
        from tallystick.ledger.signed_note import Checkpoint, NoteError

        try:
            note = path.read_text("utf-8")
            Checkpoint.parse(note.rpartition("\n\n")[0] + "\n")
        except (NoteError, UnicodeDecodeError):
            raise Refused(f"{path} is not a checkpoint; remove it, then move", "file") from None
        return [note]


def _pin(keyring: Keyring, ledger: str, root: Path | str) -> None:
    """Note for this user that the ledger is there now, if it is pinned."""
    path = keyring.pin_path(ledger)
    if path.exists():
        keyring.set_pin(ledger, path.read_text("utf-8"), root)

"""Opening a ledger and keeping up with it, while others write.

Opening never raises because of damage: what is good is shown, `trouble` says what is wrong, and writing is refused.
Only a folder from which nothing can be shown (a segment is missing) raises.

Readers take a shared lock to read the length, so they never see a line that is not on disk. If the length is not the
one the last writer left in the lock file, a writer died: then the next process that may write checks the end under the
exclusive lock, sets aside what is torn, and goes on.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, ensure_folder
from tallystick.ledger.fold import Folded, LedgerMetadata, Scratch, StateStore, fold_line, lift
from tallystick.ledger.folder import load as loading, recover, sealed_state
from tallystick.ledger.folder.backup import finish, left_in
from tallystick.ledger.folder.chain import Chain, last_line, missing, raw_lines
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.scan import scan
from tallystick.ledger.gate import Gate
from tallystick.ledger.lock import HeadPin, Lock, Pins, Witness, only_one, rolled_back
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.scan import START, Place
from tallystick.records.errors import (
    Damaged,
    Missing,
    NotFound,
    NotWritten,
    Refused,
    RolledBack,
    TallystickError,
)
from tallystick.records.event import Event, Position

if TYPE_CHECKING:
    from tallystick.records.status import ChainFile

_SELF = "this process"
_LOOKS = 10
_MANY_SLICES = 1000  # lines, of about 300 bytes each


class _Reading:
    """The context of a read: one moment holds for all of it, and for those within it. A generator costs more."""

    def __init__(self, owner: LedgerReader) -> None:
        self._owner = owner
        self._pinned: list[bool] = []  # by each of those that are in progress

    def __enter__(self) -> None:
        self._owner._gate.enter()
        try:
            self._pinned.append(self._owner._begin_reading())
        except BaseException:
            self._owner._gate.leave()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._owner._end_reading(is_pinned=self._pinned.pop())
        finally:
            self._owner._gate.leave()


class LedgerReader:
    """A ledger folder, open, and its state. `protocol.Ledger` says what its calls promise."""

    trouble: TallystickError | None

    def __init__(
        self, folder: Path, state: Folded, *, disk: Disk, read_only: bool, timeout: float, pins: Pins | None = None,
        head: HeadPin | None = None, store: StateStore | None = None, scratch: Scratch | None = None,
    ) -> None:  # fmt: skip
        self._scratch = scratch or (lambda _: nullcontext((type(state)(), None)))
        self.folder, self.state, self._pins, self._store = Folder(folder), state, pins, store
        self.standing, self.trouble, self._head = LedgerMetadata(), None, head
        self._disk, self.dead = disk, ""  # why it cannot be used any more
        self._gate, self._reading = Gate(self), _Reading(self)
        self._wal, self._moved = os.fspath(self.folder.wal), os.fspath(self.folder.moved_to)
        self._fd, self._inode, self._segment, self._end = -1, -1, 0, START
        self._known = START  # the furthest that this process has read without finding anything wrong
        self._saved = -1  # the last event of the rows that are kept
        self.began = -1  # the event that the rows began with: they do not say what was before; -1: all was after it
        self._tree, self._slices = Range(), list[bytes]()
        self._tip = (0, b"")  # where the last line begins, and its header
        self._lines: Chain | None = None  # for `recorded`
        self._sealed: tuple[tuple[int, str], mmap | None] = ((-1, ""), None)  # for `_sealed_rows`
        if store is not None:
            store.compare_with(self.recorded, self._sealed_rows)
        try:
            self.writable = not read_only and self._may_write()
            if not self.writable and not self.folder.root.is_dir():
                raise NotFound(f"no memory at {folder}, and this user may not create one there")
            make = self.writable
            self._lock = Lock(self.folder.lock, disk, timeout=timeout, make=make, replaced=self.must_be_here)
            self.writable = make and self._lock.writable
        except OSError as error:
            raise _unopened(folder, error) from error
        try:
            self._open()
        except OSError as error:
            self.close()
            raise _unopened(folder, error) from error
        except BaseException:
            self.close()
            raise

    @property
    def place(self) -> str:
        return str(self.folder.root)

    def must_be_whole(self) -> None:
        if self.trouble is not None:
            raise type(self.trouble)(*self.trouble.args)

    def _may_write(self) -> bool:
        """Create the folder if it does not exist; False if nobody, or not this user, may write there."""
        try:
            ensure_folder(self._disk, self.folder.root)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
        if self.moved_to():
            return False
        wal = self.folder.wal  # a compaction renames it for a moment: then ask again
        return os.access(self.folder.root, os.W_OK) and any(
            os.access(wal, os.W_OK) or not wal.exists() for _ in range(_LOOKS)
        )

    def _open(self) -> None:
        if self.writable:
            with self._lock.exclusive():
                self._restart()
            return
        with self._lock.shared():
            recover.must_have_arrived(self.folder)
            if not self.folder.wal.exists():
                if self.folder.sealed_segments() or self.folder.restoring.exists():
                    why = "a compaction or restore was interrupted; open it for writing to finish that"
                    raise NotFound(f"{self.folder.root}: {why}")
                raise NotFound(f"no memory at {self.folder.root}")
            self._reload()

    # -- what the writer does on opening; see ledger.py --------------------------------------------------------------

    def _after_loading(self) -> None:
        """Finish what a crash cut short."""

    def _first_line(self) -> bytes:
        raise NotImplementedError

    def _fix(self, verdict: recover.Verdict, size: int) -> None:
        raise NotImplementedError

    # -- reading -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the folder, after the write that is in progress. Closing twice is the same as closing once."""
        with self._gate.thread if self._gate.is_mine() else nullcontext():  # a forked child has none to wait for
            if self._gate.is_mine():
                with suppress(OSError):
                    self._save_at_last()
            if self._fd >= 0:
                self._disk.close(self._fd)
            self._fd = -1
            if self._store is not None:
                self._store.close()
            if self._head is not None:
                self._head.close()
            self._lock.close()
            self.dead = self.dead or f"the memory at {self.folder.root} is closed; open it again"

    def turn(self) -> Gate:
        return self._gate

    def moved_to(self) -> str:
        if not os.access(self._moved, os.F_OK):  # it is asked for by each write: no error is made for it
            return ""
        moved = recover.MovedTo.read(self.folder)
        return moved.place if moved else ""

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self.turn(), self._lock.exclusive() if self.writable else self._lock.shared():
            try:
                self._catch_up() if self.writable else self._look()
            except OSError as error:
                raise _unread(self.folder, error) from error
            yield

    @property
    def head(self) -> Place:
        """The last event known here: its seq, hash and time, and the length of the live segment."""
        return self._end

    @property
    def first(self) -> int:
        sealed = self.folder.sealed_segments() if self._segment else ()
        return sealed[0].first if sealed else self._segment

    def refresh(self) -> None:
        """Read what others wrote. Costs one `stat` if they wrote nothing."""
        with self.turn():
            with suppress(FileNotFoundError):
                found = os.stat(self._wal)
                if found.st_ino == self._inode and found.st_size == self._end.offset:
                    return
            try:
                with self._lock.shared():
                    if self._look() or not self.writable:
                        return
                with self._lock.exclusive():
                    self._catch_up()
            except OSError as error:
                raise _unread(self.folder, error) from error

    def _look(self) -> bool:
        """Under a shared lock: keep up. A process that may not write, and so may not recover, reads all again."""
        if self._keep_up():
            return True
        if not self.writable:
            self.must_be_here()
            if self.folder.wal.exists():
                self._reload()
        return False

    def reading(self) -> _Reading:
        return self._reading

    def _begin_reading(self) -> bool:
        """Read what others wrote, and pin the rows. False, if they are pinned already, or not to be."""
        if self._store is not None and self._store.is_pinned:  # within another read: it is the same moment
            return False
        self.refresh()
        if self._store is None or self._lock.held:
            return False
        self._pin(self._store)
        return True

    def _end_reading(self, *, is_pinned: bool) -> None:
        if is_pinned and self._store is not None:
            self._store.unpin()

    def _pin(self, store: StateStore) -> None:
        """Read the rows of the last event known here, and no others. Somebody may write meanwhile: then look again."""
        for _ in range(_LOOKS):
            if store.pin(self._end.seq):
                return
            store.unpin()
            with self._lock.shared():
                if self._look() or not self.writable:
                    continue
            with self._lock.exclusive():
                self._catch_up()
        store.pin(self._end.seq)

    def _keep_up(self) -> bool:
        """Under any lock: read what a writer finished. False if recovery may be needed."""
        if self.trouble is not None or (self._store is not None and self._store.is_bad):
            return False
        try:
            found = os.stat(self._wal)
        except FileNotFoundError:
            return False
        if found.st_ino == self._inode and found.st_size == self._end.offset and self._lock.unchanged():
            return self._tip_is_mine()
        witness = self._lock.witness()
        if found.st_ino != self._inode or witness is None or witness.recover or witness.length != found.st_size:
            return False
        if self._store is not None and self._store.has_moved() and not self._adopt(self._store, found.st_size):
            return False
        if witness.length == self._end.offset:
            return witness.hash == self._end.hash and self._tip_is_mine()
        return found.st_size > self._end.offset and self._follow(found.st_size)

    def _adopt(self, store: StateStore, size: int) -> bool:
        """Go to the place of the rows that others have written. False, if they are of no use here."""
        saved = loading.usable(store.look(writable=self.writable), self._fd, self._segment, size)
        if saved is None or saved.segment != self._segment or saved.standing.ledger != self.standing.ledger:
            return False
        if not self._tip_is_mine():  # the lines that this process knows are not there any more
            return False
        self._end, self.standing, self._tree, self._slices = saved.place, saved.standing, saved.tree, []
        self._saved, self.began = self._end.seq, saved.began
        self._remember_tip()
        return True

    def must_be_here(self) -> None:
        """Raise if the folder was removed since it was opened, or another ledger was put in its place.

        A restored copy of another ledger names the head it left behind, and is accepted.
        """
        known = self.standing.ledger
        if not known:  # it is being opened, or too damaged to have an id
            return
        if not self.folder.wal.exists() and not self._lock.has_its_name():
            raise RolledBack(f"{self.folder.root} is not there any more; put it back, or open the memory again")
        if recover.named_in(self.folder.wal) in ("", known):
            return
        if not (self._lock.has_its_name() and any(seq >= self._end.seq for seq, _ in left_in(self.folder))):
            raise RolledBack(f"{self.folder.root} holds another ledger than when it was opened; open it again")

    def _follow(self, size: int) -> bool:
        """Check and apply the lines up to `size`. False, and nothing applied, if one is bad."""
        found = scan(self._fd, self._end, size)
        if found.first_bad() or found.open_group:
            return False
        for _, raw in raw_lines(self._fd, self._end.offset, size):
            line = fmt.parse(raw)
            self._inode, inode = -1, self._inode  # if this fails, everything must be read again
            fold_line(line, self.state, self.standing)
            self._keep_slices([line.slice])
            self._inode = inode
        self._end = found.end
        self._remember_tip()
        return True

    def _remember_tip(self) -> None:
        """Keep the last line's header, to notice when the file is another one."""
        line = last_line(self._fd, self._end.offset)
        self._tip = (self._end.offset - len(line), line[: line.find(b',"data":')])

    def _tip_is_mine(self) -> bool:
        at, header = self._tip
        return os.pread(self._fd, len(header), at) == header

    def _catch_up(self) -> None:
        """Under the exclusive lock: read everything, and recover from a crash."""
        if not self._keep_up():
            self.must_be_here()
            self._restart()
        elif self.standing.erasing:
            self._after_loading()
            self._save()

    def _restart(self) -> None:
        """Under the exclusive lock: finish a restore, read everything again, and recover from a crash."""
        torn: recover.Verdict | None = None
        for at_length in (False, True):
            finish(self._disk, self.folder, self._lock)
            recover.ensure_wal(self._disk, self.folder, self._lock.witness(), self._first_line)
            try:
                torn = self._reload(at_length=at_length)
                break
            except loading.RowsNeeded:
                self._build_rows()
        if self.trouble is None:
            try:
                self._recover(torn)
            except (OSError, NotWritten) as error:  # what is there can still be read
                if self.dead:
                    raise
                why = error.strerror if isinstance(error, OSError) else error
                where = f"{self.folder.root} cannot be recovered after a crash"
                self.trouble = NotWritten(f"{where}: {why}; free some space, or check the disk")

    def _build_rows(self) -> None:
        """Make the rows of a long ledger without the lock, which is held before and after. One process does it; others
        wait, and `Busy` says how far it is if that takes too long."""
        witness = self._lock.witness()
        self._lock.release()
        try:
            with only_one(self.folder.root, self._lock) as is_first:
                if is_first:
                    loading.build_rows(self.folder, witness, self._scratch, self._lock.note_progress)
                    with self._lock.exclusive():
                        if self._store is not None:
                            self._store.replace_with(self.folder.building)
        finally:
            self._lock.take()

    def _recover(self, torn: recover.Verdict | None) -> None:
        witness = self._lock.witness()
        if torn:
            self._fix(torn, os.fstat(self._fd).st_size)
        if witness and (witness.recover or (witness.seq, witness.hash) in self.standing.abandoned):
            self._lock.settle(self._end.seq, self._end.hash, self._end.offset)
        else:
            self._leave()
        self._after_loading()
        self._save()

    def _leave(self) -> None:
        """Tell the witnesses what the last event is: it is on disk."""
        self._lock.leave(self._end.seq, self._end.hash, self._end.offset)
        if self._head is not None:
            self._head.write(self.standing.ledger, self._end.seq, self._end.hash)

    def _save(self, every: int = 1) -> None:
        """Keep the state with its position, if so many events have come since it was last kept. The lock is held.

        A state without the events that a newer program wrote is not kept: that program, or this one once it is newer,
        would take it for whole.
        """
        if self._store is not None and self._end.seq - self._saved >= every and not self.standing.strange:
            self._store.save(self._position())
            self._saved = self._end.seq

    def _position(self) -> Position:
        return loading.Saved(self._end, self._segment, self.tree(), self.standing, self.began).position()

    def _save_at_last(self) -> None:
        """The same before closing, if nobody else is at it: else they know all of it too."""
        is_due = self._store is not None and self._fd >= 0 and self._end.seq > self._saved
        if is_due and self.writable and not self.dead and self.trouble is None and self._lock.take_now():
            try:
                if self._keep_up():
                    self._save()
            finally:
                self._lock.release()

    def _reload(self, *, at_length: bool = True) -> recover.Verdict | None:
        """Read the folder again, judge it by every witness, this process among them; return the verdict if torn.

        Raises RowsNeeded if many lines would be folded, and that is not to be done `at_length`.
        """
        if self.trouble is None:
            self._known = self._end
        self._reopen()
        try:
            size, witness = os.fstat(self._fd).st_size, self._lock.witness()
            loaded = self._load(size, witness, at_length)
            if witness and (witness.seq, witness.hash) in loaded.standing.abandoned:
                witness = None  # a restore or a repair left that head behind, and died before it replaced the witness
                loaded = self._load(size, witness, at_length)
        except BaseException:
            self._inode = -1  # the state is not that of this file: read it again before the next use
            raise
        self._end, self._segment = loaded.verdict.end, loaded.segment
        self.standing, self._tree, self._slices = loaded.standing, loaded.tree, []
        self._saved, self.began = loaded.saved, loaded.began
        self._remember_tip()
        pinned = list(self._pins(self.standing.ledger)) if self._pins else []
        if (moved := recover.MovedTo.read(self.folder)) is not None:  # what is later was written there
            pinned = [each for each in pinned if each.seq <= moved.seq]
        head = self._head.read(self.standing.ledger) if self._head else None
        if head and (head.seq, head.hash) in self.standing.abandoned:
            head = None
        witnesses = (witness, *pinned, head, Witness(self._known.seq, self._known.hash, name=_SELF), loaded.seen)
        self.trouble = self._judge(loaded.verdict, [each for each in witnesses if each is not None and each.seq >= 0])
        return loaded.verdict if loaded.verdict.kind == "torn" else None

    def _load(self, size: int, witness: Witness | None, at_length: bool) -> loading.Loaded:
        return loading.load(
            self.folder, self._fd, size, self.state, witness, self._store, alone=self.writable and self._lock.held,
            writable=self.writable, at_length=at_length,
        )  # fmt: skip

    def _reopen(self) -> None:
        """Open the live segment. Its last lines, and its name, may not be on the medium yet: sync them."""
        fd = self._disk.open(self.folder.wal, (os.O_RDWR | os.O_APPEND) if self.writable else os.O_RDONLY)
        if self._fd >= 0:
            self._disk.close(self._fd)
        self._fd, self._inode = fd, os.fstat(fd).st_ino
        if self.writable:
            self._sync()
            self._disk.sync_folder(self.folder.root)
        else:
            with suppress(OSError):  # some systems do not sync what was opened for reading
                self._disk.sync(fd)

    def _sync(self) -> None:
        """Sync the live segment. If that fails, the medium may hold anything, and this handle is closed."""
        try:
            self._disk.sync(self._fd)
        except OSError as error:
            why = f"a sync of {self.folder.wal} failed ({error.strerror})"
            self.dead = f"{why}; check the disk, then open the memory again"
            raise

    def _judge(self, verdict: recover.Verdict, witnesses: list[Witness]) -> TallystickError | None:
        if verdict.kind == "damaged":
            return Damaged(f"events.wal is damaged: {verdict.why}; run `tallystick check`")
        if verdict.kind == "rolled back":
            return rolled_back(verdict.why)
        try:
            for witness in witnesses:
                if why := self._contradiction(witness):
                    return rolled_back(why)
        except Damaged as damage:  # the event that a witness names cannot be read
            return damage
        return None

    def _contradiction(self, witness: Witness) -> str:
        """The difference from what `witness` has seen; empty if there is none."""
        if witness.name == _SELF and any(seq >= witness.seq for seq, _ in self.standing.abandoned):
            return ""  # a restore left behind what this process knew
        if witness.seq > self._end.seq:
            return f"it ends at event {self._end.seq}, but {witness.name} has seen event {witness.seq}"
        if self.chain().hash_at(witness.seq) in (None, witness.hash):
            return ""
        return f"event {witness.seq} is not the one that {witness.name} has seen"

    def chain(self) -> Chain:
        """The files of the chain, up to the last event known here."""
        return Chain(self.folder, self._end.offset)

    def lines(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[fmt.Line]:  # fmt: skip
        return self.chain().lines(start, stop, having=having, naming=naming)

    def line(self, seq: int) -> fmt.Line:
        return self.chain().line(seq)

    def slices(self, start: int, stop: int) -> Iterator[bytes]:
        return self.chain().slices(start, stop)

    def hash_at(self, seq: int) -> str | None:
        return self.chain().hash_at(seq)

    def dates(self) -> Callable[[int], str]:
        return self.chain().dates()

    def missing(self, start: int) -> Missing:
        return missing(self.folder, start, self.first)

    def segments(self) -> list[ChainFile]:
        """The files of the chain that are here. One that is being moved meanwhile has no size."""
        from tallystick.records.status import ChainFile  # much to load

        root, found = self.folder.root, list[ChainFile]()
        for path, first, last in self.chain().segments:
            size = path.stat().st_size if path.exists() else 0
            found.append(ChainFile(str(path.relative_to(root)), first, last, size))
        return found

    def events(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[Event]:  # fmt: skip
        if stop is None or stop > self._end.seq + 1:
            self.refresh()
        stop = self._end.seq + 1 if stop is None else min(stop, self._end.seq + 1)
        for line in self.chain().lines(start, stop, having=having, naming=naming):
            yield (line if line.sound or fmt.is_hollow(line.data) else self._read_again(line.seq)).event()

    def recorded(self, seqs: Iterable[int]) -> dict[int, Event | None]:
        wanted = set(seqs)
        if self._lines is None or self._lines.folder is not self.folder or not wanted:  # some may be pruned since
            self._lines = Chain(self.folder)
        witness = self._lock.witness()
        heads = {self._end.hash, witness.hash if witness else "", self._store.head if self._store else ""}
        try:
            lines = self._lines.recorded(wanted, heads)
        except (OSError, Missing):
            lines = {}
        if len(lines) < len(wanted):  # it was compacted or pruned since
            self._lines = Chain(self.folder)
            lines = self._lines.recorded(wanted, heads)
        first = self._lines.first
        gone = dict.fromkeys(seq for seq in (-1, *wanted) if seq < first) if first else {}
        sound = {seq: line.sound or fmt.is_hollow(line.data) for seq, line in lines.items()}
        whole = (line if sound[seq] else self._read_again(seq) for seq, line in lines.items())
        return {**gone, **{line.seq: lift(line.event()) for line in whole}}

    def _sealed_rows(self) -> tuple[int, mmap] | None:
        """The state file in place of what was moved away: its last event and its bytes. None, if it is not there."""
        state = self.standing.sealed_state
        if self._sealed[0] != state or self._sealed[1] is None:  # a new one is recorded before it is in its place
            self._sealed = state, sealed_state.mapped(self.folder, *state)
        return None if self._sealed[1] is None else (state[0], self._sealed[1])

    def _read_again(self, seq: int) -> fmt.Line:
        """Read a line again while nobody writes, in case an erasure was in progress. Else it is damage."""
        with self.turn(), self._lock.shared():
            line = self.chain().line(seq)
        being_erased = any(line.hash in lines for lines in self.standing.erasing.values())
        if line.sound or fmt.is_hollow(line.data) or being_erased:
            return line
        raise Damaged(f"event {seq} is not as it was written; run `tallystick check`")

    def _keep_slices(self, slices: list[bytes]) -> None:
        """Keep lines for the tree, which is seldom needed, but not too many in a long-lived process."""
        self._slices += slices
        if len(self._slices) >= _MANY_SLICES:
            self.tree()

    def tree(self) -> Range:
        if self._slices:
            self._tree.extend([leaf_hash(piece) for piece in self._slices])
            self._slices = []
        return self._tree


def _unopened(folder: Path, error: OSError) -> TallystickError:
    if error.errno in (errno.EACCES, errno.EPERM):
        return Refused(f"this user may not read {error.filename or folder}; ask its owner", "permission")
    return NotWritten(f"{folder} could not be opened: {error.strerror}; nothing that was recorded is lost")


def _unread(folder: Folder, error: OSError) -> NotWritten:
    return NotWritten(f"{folder.root} could not be read to its end: {error.strerror}; try again, or check the disk")

"""Opening a ledger and keeping up with it, while others write.

Opening never raises because of damage: what is good is shown, `trouble` says what is wrong, and writing is refused.
Only a folder from which nothing can be shown (a stretch is missing) raises.

A folder that was taken away since, or in which another ledger was put, is not followed there: every read and write
raises RolledBack, and goes on when the ledger is back.

Readers take a shared lock to read the length, so they never see a line that is not on disk. If the length is not the
one the last writer left in the lock file, someone died while writing: then whoever may write looks at the end under the
exclusive lock, sets aside what is torn, and goes on.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tallystick.ledger import format as fmt, genesis as begin, recover
from tallystick.ledger.chain import Chain, last_line, raw_lines
from tallystick.ledger.disk import Disk, ensure_folder
from tallystick.ledger.kept_checkpoint import PIN
from tallystick.ledger.layout import Folder
from tallystick.ledger.load import START, Folded, Loaded, fold_line, load
from tallystick.ledger.lock import Lock, Witness
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.metadata import LedgerMetadata
from tallystick.ledger.restore import left_in
from tallystick.ledger.scan import Place, scan
from tallystick.ledger.snapshot import Snapshot
from tallystick.ledger.threads import Gate
from tallystick.records.errors import Damaged, NotFound, NotWritten, Refused, RolledBack, TallystickError
from tallystick.records.event import Event

_SELF = "this process"
_LOOKS = 10
_MANY_SLICES = 1000  # lines, of about 300 bytes each

Pins = Callable[[str], Sequence[Witness]]  # the witnesses outside the folder, for the ledger of that id


def _no_pins(_: str) -> Sequence[Witness]:
    return ()


class LedgerReader:
    """A ledger folder, open, and what is held in it."""

    def __init__(
        self, folder: Path, state: Folded, *, disk: Disk, read_only: bool, timeout: float, pins: Pins | None = None
    ) -> None:
        self.folder, self.state, self._pins = Folder(folder), state, pins or _no_pins
        self.standing, self.trouble = LedgerMetadata(), None
        self._disk, self.dead = disk, ""  # why nothing can be done with it any more
        self._gate = Gate(self)
        self._wal = os.fspath(self.folder.wal)
        self._fd, self._inode, self._segment, self._end = -1, -1, 0, START
        self._known = START  # the furthest that this process has seen, and has found nothing wrong with
        self._tree, self._slices = Range(), list[bytes]()
        self._tip = (0, b"")  # where the last line begins, and its header
        self._loaded: Snapshot | None = None  # the snapshot that the last loading started from
        try:
            self._make_or_find(read_only, timeout)
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

    trouble: TallystickError | None

    def must_be_whole(self) -> None:
        """Raise what is wrong with the folder, if anything: each time anew, as an error of its own."""
        if self.trouble is not None:
            raise type(self.trouble)(*self.trouble.args)

    def _make_or_find(self, read_only: bool, timeout: float) -> None:
        self.writable = not read_only and _may_make(self.folder, self._disk)
        if not self.writable and not self.folder.root.is_dir():
            raise NotFound(f"there is no memory at {self.folder.root}, and it may not be made there")
        self._lock = Lock(
            self.folder.lock, self._disk, timeout=timeout, make=self.writable, replaced=self.must_be_here
        )
        self.writable = self.writable and self._lock.writable

    def _open(self) -> None:
        if self.writable:
            with self._lock.exclusive():
                self._restart()
        else:
            with self._lock.shared():
                if not self.folder.wal.exists():
                    raise NotFound(_nothing_to_read(self.folder))
                self._reload()

    def _before_loading(self) -> None:
        """Finish what stands in the way of reading; see ledger.py."""

    def _after_loading(self) -> None:
        """Finish what a crash cut short; see ledger.py."""

    def _first_line(self) -> bytes:
        raise AssertionError("a ledger is begun by its writer")

    def _fix(self, verdict: recover.Verdict, size: int) -> None:
        raise AssertionError(f"{size - verdict.end.offset} torn bytes are set aside by a writer")

    def close(self) -> None:
        """Let go of the folder, when whatever is being written is written. Closing twice is closing once."""
        with self._gate.last():
            if self._fd >= 0:
                self._disk.close(self._fd)
            self._fd = -1
            self._lock.close()
            self.dead = self.dead or f"the memory at {self.folder.root} is closed; open it again"

    def turn(self) -> Gate:
        """One thread at a time, in the process that opened the ledger."""
        return self._gate

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep writers out for a moment, with everything they wrote known here."""
        with self.turn(), self._lock.exclusive() if self.writable else self._lock.shared():
            try:
                self._catch_up() if self.writable else self._look()
            except OSError as error:
                raise _unread(self.folder, error) from error
            yield

    @property
    def disk(self) -> Disk:
        return self._disk

    @property
    def end(self) -> Place:
        """The last event known here: its seq, hash and time, and the length of the living stretch."""
        return self._end

    def refresh(self) -> None:
        """Take in what others wrote. Costs one `stat` when nobody did."""
        with self.turn():
            if self._is_current():
                return
            try:
                self._read_on()
            except OSError as error:
                raise _unread(self.folder, error) from error

    def _read_on(self) -> None:
        with self._lock.shared():
            if self._look() or not self.writable:
                return
        with self._lock.exclusive():
            self._catch_up()

    def _look(self) -> bool:
        """Under a shared lock: keep up. Whoever may not write, and so may not set anything right, reads all anew."""
        if self._keep_up():
            return True
        if not self.writable:
            self.must_be_here()
            if self.folder.wal.exists():
                self._reload()
        return False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything that was written is known in the block, and nothing changes meanwhile in this process."""
        with self.turn():
            self.refresh()
            yield

    def _is_current(self) -> bool:
        try:
            seen = os.stat(self._wal)
        except FileNotFoundError:
            return False
        return seen.st_ino == self._inode and seen.st_size == self._end.offset

    def _keep_up(self) -> bool:
        """Under any lock: read what a writer finished. False if someone must look closer."""
        if self.trouble is not None:
            return False
        try:
            seen = os.stat(self._wal)
        except FileNotFoundError:
            return False
        if seen.st_ino == self._inode and seen.st_size == self._end.offset and self._lock.unchanged():
            return self._tip_is_mine()
        witness = self._lock.witness()
        if seen.st_ino != self._inode or witness is None or witness.recover or witness.length != seen.st_size:
            return False
        if witness.length == self._end.offset:
            return witness.hash == self._end.hash and self._tip_is_mine()
        return seen.st_size > self._end.offset and self._follow(seen.st_size)

    def must_be_here(self) -> None:
        """Raise if the folder was taken away since it was opened, or another ledger was put in its place.

        A restore of another ledger's copy says which head it left behind, and is followed.
        """
        known = self.standing.ledger
        if not known:  # it is being opened, or too damaged to say who it is
            return
        if not self.folder.wal.exists() and not self._lock.has_its_name():
            raise RolledBack(f"{self.folder.root} is not there any more; put it back, or open the memory again")
        if begin.named_in(self.folder.wal) in ("", known):
            return
        if not (self._lock.has_its_name() and any(seq >= self._end.seq for seq, _ in left_in(self.folder))):
            raise RolledBack(f"{self.folder.root} holds another ledger than when it was opened; open it again for that")

    def _follow(self, size: int) -> bool:
        """Check and fold the lines up to `size`. False, and nothing folded, if one is bad."""
        found = scan(self._fd, self._end, size)
        if found.settle() or found.open_group:
            return False
        for _, raw in raw_lines(self._fd, self._end.offset, size):
            line = fmt.parse(raw)
            self._inode, inode = -1, self._inode  # if this fails, what is held must be read anew
            fold_line(line, self.state, self.standing)
            self._keep_slices([line.slice])
            self._inode = inode
        self._end = found.end
        self._remember_tip()
        return True

    def _remember_tip(self) -> None:
        """Keep the last line's header, so that a look tells whether the file is still the one known."""
        line = last_line(self._fd, self._end.offset)
        self._tip = (self._end.offset - len(line), line[: line.find(b',"data":')])

    def _tip_is_mine(self) -> bool:
        at, header = self._tip
        return os.pread(self._fd, len(header), at) == header

    def _catch_up(self) -> None:
        """Under the exclusive lock: know all there is, and set right what a crash left."""
        if not self._keep_up():
            self.must_be_here()
            self._restart()
        elif self.standing.erasing:
            self._after_loading()

    def _restart(self) -> None:
        """Under the exclusive lock: finish what stands in the way, read everything, and set right what a crash left."""
        self._before_loading()
        begin.ensure(self._disk, self.folder, self._lock.witness(), self._first_line)
        torn = self._reload()
        if self.trouble is None:
            try:
                self._set_right(torn)
            except (OSError, NotWritten) as error:  # what is there can still be read
                if self.dead:
                    raise
                why = error.strerror if isinstance(error, OSError) else error
                where = f"{self.folder.root} cannot be set right after a crash"
                self.trouble = NotWritten(f"{where}: {why}; free some space, or check the disk")

    def _set_right(self, torn: recover.Verdict | None) -> None:
        witness = self._lock.witness()
        if torn:
            self._fix(torn, os.fstat(self._fd).st_size)
        if witness and (witness.recover or (witness.seq, witness.hash) in self.standing.abandoned):
            self._lock.settle(self._end.seq, self._end.hash, self._end.offset)
        else:
            self._lock.leave(self._end.seq, self._end.hash, self._end.offset)
        self._after_loading()

    def _reload(self) -> recover.Verdict | None:
        """Read the folder anew, judge it by every witness there is, this process among them; return what is torn."""
        if self.trouble is None:
            self._known = self._end
        self._reopen()
        try:
            loaded, witness = self._load()
        except BaseException:
            self._inode = -1  # what is held is not what this file says: read it anew before the next use
            raise
        self._adopt(loaded)
        mine = Witness(self._known.seq, self._known.hash, name=_SELF)
        witnesses = (witness, *self._pins(self.standing.ledger), mine)
        self.trouble = self._judge(loaded, [w for w in witnesses if w is not None and w.seq >= 0])
        return loaded.verdict if loaded.verdict.kind == "torn" else None

    def _load(self) -> tuple[Loaded, Witness | None]:
        size, witness = os.fstat(self._fd).st_size, self._lock.witness()
        loaded = load(self.folder, self._fd, size, self.state, witness)
        if witness and (witness.seq, witness.hash) in loaded.standing.abandoned:
            witness = None  # a restore or a repair left that head behind, and died before it could set the witness anew
            loaded = load(self.folder, self._fd, size, self.state, witness)
        return loaded, witness

    def _reopen(self) -> None:
        """Open the living stretch. Its last lines, and its name, may be known to the kernel alone: make them last."""
        fd = _open_wal(self.folder.wal, self._disk, writing=self.writable)
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
        """Put the living stretch on the medium. If that fails nobody knows what is there, and this handle is closed."""
        try:
            self._disk.sync(self._fd)
        except OSError as error:
            why = f"a sync of {self.folder.wal} failed ({error.strerror})"
            self.dead = f"{why}; check the disk, then open the memory again"
            raise

    def _adopt(self, loaded: Loaded) -> None:
        self._end, self._segment = loaded.verdict.end, loaded.segment
        self.standing, self._tree, self._slices = loaded.standing, loaded.tree, []
        self._loaded = loaded.snapshot
        self._remember_tip()

    def _judge(self, loaded: Loaded, witnesses: list[Witness]) -> TallystickError | None:
        verdict = loaded.verdict
        if verdict.kind == "damaged":
            return Damaged(f"events.wal is damaged: {verdict.why}; run `tallystick check`")
        if verdict.kind == "rolled back":
            return _rolled_back(verdict.why)
        try:
            for witness in witnesses:
                if why := self._contradiction(witness):
                    return _rolled_back(why)
        except Damaged as damage:  # what a witness speaks of cannot be read
            return damage
        return None

    def _contradiction(self, witness: Witness) -> str:
        """What `witness` saw that is not so, or nothing. What this process knew, a restore may have left behind."""
        if witness.name == _SELF and any(seq >= witness.seq for seq, _ in self.standing.abandoned):
            return ""
        if witness.seq > self._end.seq:
            return f"it ends at event {self._end.seq}, and {witness.name} has seen event {witness.seq}"
        if self.chain().hash_at(witness.seq) in (None, witness.hash):
            return ""
        return f"event {witness.seq} is not the one that {witness.name} has seen"

    def chain(self) -> Chain:
        """The files of the chain, up to the last event known here."""
        return Chain(self.folder, self._end.offset)

    def events(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[Event]:  # fmt: skip
        """The events from `start` on, as they are recorded. Erased ones have no body. The rest as in Chain.lines."""
        self.refresh()
        stop = self._end.seq + 1 if stop is None else min(stop, self._end.seq + 1)
        for line in self.chain().lines(start, stop, having=having, naming=naming):
            yield (line if line.sound or fmt.is_hollow(line.data) else self._read_again(line.seq)).event()

    def _read_again(self, seq: int) -> fmt.Line:
        """An erasure was under way as the line was read: look again while nobody writes. Else it is damage."""
        with self.turn(), self._lock.shared():
            line = self.chain().line(seq)
        being_erased = any(line.hash in lines for lines in self.standing.erasing.values())
        if line.sound or fmt.is_hollow(line.data) or being_erased:
            return line
        raise Damaged(f"event {seq} is not as it was written; run `tallystick check`")

    def _keep_slices(self, slices: list[bytes]) -> None:
        """Remember lines for the tree, which is seldom asked for; a long-lived process does not pile them up."""
        self._slices += slices
        if len(self._slices) >= _MANY_SLICES:
            self.tree()

    def tree(self) -> Range:
        """The Merkle tree of all events known here."""
        if self._slices:
            self._tree.extend([leaf_hash(piece) for piece in self._slices])
            self._slices = []
        return self._tree


def _rolled_back(why: str) -> RolledBack:
    meant = "; if that was meant, `tallystick ledger checkpoint --repin` accepts it" if PIN in why else ""
    return RolledBack(
        f"the ledger was rolled back or replaced: {why}; run `tallystick check`, then `tallystick restore`{meant}"
    )


def _unopened(folder: Path, error: OSError) -> TallystickError:
    """What to say when the system would not let a folder be opened."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return Refused(f"{error.filename or folder} may not be read by this user; ask its owner", "permission")
    return NotWritten(f"{folder} could not be opened: {error.strerror}; nothing that was recorded is lost")


def _unread(folder: Folder, error: OSError) -> NotWritten:
    return NotWritten(f"{folder.root} could not be read to its end: {error.strerror}; try again, or check the disk")


def _nothing_to_read(folder: Folder) -> str:
    if folder.sealed_segments() or folder.restoring.exists():
        return f"{folder.root} was left in the middle of a compaction or a restore; open it for writing to finish that"
    return f"there is no memory at {folder.root}"


def _may_make(folder: Folder, disk: Disk) -> bool:
    """Make the folder if need be; False if this user may not write there."""
    try:
        ensure_folder(disk, folder.root)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    return os.access(folder.root, os.W_OK) and _may_be_written(folder.wal)


def _may_be_written(path: Path) -> bool:
    """Whether a file may be written, or is not there. A compaction takes it away for a moment: then one looks again."""
    return any(os.access(path, os.W_OK) or not path.exists() for _ in range(_LOOKS))


def _open_wal(path: Path, disk: Disk, *, writing: bool) -> int:
    return disk.open(path, (os.O_RDWR | os.O_APPEND) if writing else os.O_RDONLY)

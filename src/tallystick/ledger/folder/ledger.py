"""The ledger of one folder: writing events, compaction, pruning and erasure.

**Acknowledged means on disk.** A write is always: lock, catch up, decide, record, sync, release. What it decides on is
never stale, because no other process can write between catching up and recording. The call returns after the sync, and
the state advances only then.

What a crash leaves: before the sync, some or none of the bytes, which the next writer recognises as torn and sets
aside; after it, the whole group. A failed write is cut back and the writer goes on. A failed sync is never retried,
because the medium may hold anything: the file is cut back, or the lock file is marked so that every process recovers
first, and this writer is closed for good.

`durability="group"` lets callers in several threads share one sync. Each still waits for it, and each decision sees the
ones before it. There is no weaker mode.

**Maintenance** (compaction, pruning, erasure) is done under the exclusive lock, in steps that may each be the last
before a crash. Whatever a crash leaves is either what was there before, or is finished by the next process that opens
the folder for writing.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, copy, ensure_folder, remove_all, remove_if_there, replace, write_all, write_new
from tallystick.ledger.drafts import (
    Before,
    Drafts,
    Pending,
    SharedWrite,
    Then,
    Ticket,
    decide_all,
    encode,
    hand_out,
    new_first_line,
)
from tallystick.ledger.fold import Folded, Scratch, StateStore, moved_away
from tallystick.ledger.folder import backup, erase_everywhere as erase, sealed_state
from tallystick.ledger.folder.layout import Folder, Segment
from tallystick.ledger.folder.load import write_state
from tallystick.ledger.folder.reader import LedgerReader
from tallystick.ledger.folder.recover import MovedTo, Verdict, last_hash
from tallystick.ledger.lock import HeadPin, Pins
from tallystick.ledger.merkle import leaf_hash
from tallystick.ledger.protocol import Decide
from tallystick.ledger.scan import Place
from tallystick.records.clock import Clock, read_clock, system_clock
from tallystick.records.errors import Closed, NotWritable, NotWritten, Refused, Unfinished
from tallystick.records.event import Draft, Event

Reach = Callable[[Disk, Folder, Collection[str]], None]

_EVERY = 64  # events, after which the rows of the state are written: so many are folded again after a crash


class _Writing:
    """The context of a write: the lock is taken, everything is known, and one moment holds. A generator costs more.

    In a transaction, the state is put back to what it was if the write fails. If more was recorded before the failure,
    it is read again.
    """

    def __init__(self, owner: FolderLedger, *, transaction: bool) -> None:
        self._owner, self._transaction = owner, transaction

    def __enter__(self) -> None:
        owner = self._owner
        owner._gate.enter()
        try:
            if not owner.writable:
                owner.must_not_have_moved()
                raise NotWritable(f"{owner.folder.root} is read-only here; ask its owner, or make a copy of your own")
            if owner._lock.held:
                raise Refused("a write is in progress in this thread; finish it first", "batch")
        except BaseException:
            owner._gate.leave()
            raise
        try:
            owner._lock.take()
            owner.must_not_have_moved()
            owner._catch_up()
            owner.must_be_whole()
            owner.standing.must_be_known(owner.place)
            owner._drafts.begin(read_clock(owner._clock))
            owner._doubt_times()
            self._end = owner._end
            if self._transaction:
                owner.state.begin()
        except OSError as error:
            self._leave()
            raise NotWritten(f"not written: {owner.dead or error.strerror}; nothing was changed") from error
        except BaseException:
            self._leave()
            raise

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        owner = self._owner
        try:
            if self._transaction and failure is None:
                owner.state.commit()
                owner._follow_up()
            elif self._transaction:
                owner.state.rollback()
                if owner._end is not self._end:
                    owner._inode = -1
        finally:
            self._leave()

    def _leave(self) -> None:
        owner = self._owner
        owner._drafts.end()
        owner._written = []
        owner._lock.release()
        owner._gate.leave()


class FolderLedger(LedgerReader):
    """The one long-lived handle of a process on a ledger. `protocol.Ledger` says what its calls promise."""

    def __init__(
        self, folder: Path, state: Folded, *, by: str = "python:local", durability: str = "full",
        clock: Clock = system_clock, disk: Disk | None = None, read_only: bool = False, timeout: float = 30.0,
        pins: Pins | None = None, head: HeadPin | None = None, begin_with: Mapping[str, Any] | None = None,
        reach: Reach | None = None, before: Before | None = None, then: Then | None = None,
        store: StateStore | None = None, scratch: Scratch | None = None,
    ) -> None:  # fmt: skip
        """Open `folder`, which is created if it does not exist; then `begin_with` goes into the first line.

        `reach` erases from files that are not the ledger's own. `scratch` makes an empty state of the same kind.
        """
        if durability not in ("full", "group"):
            raise Refused(f"durability is 'full' or 'group', not {durability!r}")
        self.by, self.durability, self._clock = fmt.check_by(by), durability, clock
        self._begin_with, self._reach = begin_with, reach
        self._then = then  # called with the written events, when they are on disk and the lock is free
        self._drafts = Drafts(state, lambda: read_clock(self._clock), before)
        self._shared = SharedWrite(self, self._write_all)
        self._batch: list[Pending] | None = None
        self._batch_owner = 0
        self._written: list[Event] = []  # by the write that is in progress
        self._written_after = ""  # the hash of the event before those
        self._write, self._transaction = _Writing(self, transaction=False), _Writing(self, transaction=True)
        super().__init__(
            folder, state, disk=disk or Disk(), read_only=read_only, timeout=timeout, pins=pins, head=head,
            store=store, scratch=scratch,
        )

    # -- opening -----------------------------------------------------------------------------------------------------

    def _first_line(self) -> bytes:
        return new_first_line(self.now(), self.by, self._begin_with)

    def _fix(self, verdict: Verdict, size: int) -> None:
        """Set aside what a crash tore. The bytes are kept first; only then is the file cut back."""
        name = f"torn-{verdict.end.seq + 1:012d}"
        kept = erase.keep_bytes(self._disk, self.folder, name, verdict.end.offset, size)
        self._disk.truncate(self._fd, verdict.end.offset)
        self._sync()
        self._own(fmt.TORN, {"after": verdict.end.seq, "bytes": size - verdict.end.offset, "kept": kept.name})

    def _after_loading(self) -> None:
        if self.trouble is not None:
            return
        if self.standing.sealed_state[1]:
            sealed_state.settle(self._disk, self.folder, *self.standing.sealed_state)
        for leftover in self.folder.leftovers():
            shutil.rmtree(leftover) if leftover.is_dir() else self._disk.remove(leftover)
        backup.discard_unfinished(self.folder.backups)
        self._finish_erasing()

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(self, decide: Decide, *, by: str | None = None) -> list[Event]:
        source = fmt.check_by(by) if by else self.by
        if self.in_batch():
            assert self._batch is not None
            taken = self._drafts.take(decide(), source, self._end.seq + 1 + len(self._batch))
            self._batch += taken
            return self._drafts.applied[len(self._drafts.applied) - len(taken) :]
        if self.durability == "group":
            events = self._shared.write(decide, source)
        else:
            with self._transaction:
                events = self._commit([self._drafts.take(decide(), source, self._end.seq + 1)])
        if self._then is not None and events:
            self._then(events)
        return events

    def _follow_up(self) -> None:
        """Let the rows follow what was written; those of the state are written when they are many."""
        events, self._written = self._written, []
        if self._store is not None and events and not self.standing.strange:
            is_due = self._end.seq - self._saved >= _EVERY
            self._store.save(self._position() if is_due else None, events, self._written_after)
            self._saved = self._end.seq if is_due else self._saved

    def append(self, drafts: Sequence[Draft], *, by: str | None = None) -> list[Event]:
        return self.write(lambda: drafts, by=by)

    @contextmanager
    def batch(self) -> Iterator[None]:
        with self.turn():
            if self.in_batch():
                raise Refused("a batch is open already; end it first", "batch")
            with self._transaction:
                self._batch, self._batch_owner = [], threading.get_ident()
                try:
                    yield
                    events = self._commit([self._batch])
                finally:
                    self._batch = None
        if self._then is not None and events:
            self._then(events)

    def in_batch(self) -> bool:
        return self._batch is not None and self._batch_owner == threading.get_ident()

    def refresh(self) -> None:
        """Read what others wrote. Inside a batch they cannot have written."""
        if not self.in_batch():
            super().refresh()

    def _write_all(self, tickets: list[Ticket]) -> None:
        with self._transaction:
            groups = decide_all(tickets, self._drafts, self._end.seq + 1)
            hand_out(groups, self._commit([group for _, group in groups]))

    def now(self) -> str:
        return self._drafts.now()

    def _commit(self, groups: Sequence[Sequence[Pending]]) -> list[Event]:
        """Encode, write and sync; then, and only then, advance."""
        if not self._gate.is_mine():
            parent = "only the parent process can finish this write"
            raise Closed(f"{self.folder.root} was opened before a fork; {parent}", "forked")
        made = encode(groups, self._end.seq, self._end.hash, self._end.ts)
        if made.events:
            blob = b"".join(made.lines)
            self._put_on_disk(blob)
            self._written_after = self._end.hash
            end = Place(self._end.offset + len(blob), made.seq, made.hash, made.ts)
            self._tip = (end.offset - len(made.lines[-1]), made.slices[-1] + b',"hash":"%b"' % made.hash.encode())
            self._advance(end, made.slices, made.events, made.stamps)
            self._written = made.events
        return made.events

    def _put_on_disk(self, blob: bytes) -> None:
        try:
            write_all(self._disk, self._fd, blob)
        except BaseException as error:
            self._cut_back(f"the disk failed ({error})", then_sync=True)
            if isinstance(error, OSError):
                why = f"{self.folder.wal}: {error.strerror}"
                raise NotWritten(f"not written, and nothing was changed: {why}") from error
            raise
        try:
            self._sync()
        except BaseException as error:
            self._cut_back(f"the disk failed ({error})")
            if isinstance(error, OSError):
                raise NotWritten(f"not written: {self.dead}") from error
            raise

    def _cut_back(self, why: str, *, then_sync: bool = False) -> None:
        """Remove what a failed write left. If even that fails, every process must recover before the next write.

        After a failed write that is synced, so that its bytes cannot come back in the middle of the next one. After a
        failed sync nothing is.
        """
        try:
            self._disk.truncate(self._fd, self._end.offset)
            if then_sync:
                self._sync()
        except OSError:
            self.dead = self.dead or f"{why}, and the bytes could not be removed; open the memory again"
            with suppress(OSError):
                self._lock.mark(self._end.seq, self._end.hash, self._end.offset, "refused")

    def _advance(self, end: Place, slices: list[bytes], events: list[Event], stamps: list[str]) -> None:
        self._inode, inode = -1, self._inode  # if this is interrupted, everything is read again
        self._end = end
        self._keep_slices(slices)
        for event, ts in zip(events, stamps, strict=True):
            self.standing.apply(event, ts)
        self._leave()
        self._inode = inode

    def _own(self, op: str, *bodies: dict[str, Any]) -> None:
        """Record something about the ledger itself, as one group. The lock is held."""
        if op != fmt.TIME:
            self._doubt_times()
        ts = self.now()
        for event in self._commit([[self._drafts.prepare(Draft(op, body), self.by, ts) for body in bodies]]):
            self.state.apply(event)

    def _doubt_times(self) -> None:
        """Record which earlier times the clock shows to be wrong, as a group of its own: it is true by itself."""
        times, now = self.standing.times, self.now()
        if not times.is_plain(now):
            chain = self.chain()
            if body := times.jump(now, chain.first, self._end.seq, chain.dates()):
                self._own(fmt.TIME, body)

    # -- backups -----------------------------------------------------------------------------------------------------

    def back_up(self, to: Path | None = None) -> Path:
        if to is not None and to.resolve().is_relative_to(self.folder.root.resolve()):
            raise Refused(f"{to} is inside the memory itself; name a folder outside, or none", "place")
        parent = to or self.folder.backups
        self.refresh()
        try:
            ensure_folder(self._disk, parent)
            backup.discard_unfinished(parent)
            with backup.new_copy(self._disk, parent, self.now()) as (making, target):
                self._fill(Folder(making))
                backup.check_copy(making)
        except OSError as error:
            raise NotWritten(f"no backup was made: {error.filename or parent}: {error.strerror}") from error
        if to is not None and self.writable and self.trouble is None:
            try:
                self.append([Draft(fmt.COPY, {"place": str(target.resolve())})])
            except NotWritten as error:
                raise Unfinished(f"the backup at {target} is complete, but could not be recorded: {error}") from error
        return target

    def _fill(self, target: Folder) -> None:
        """Copy everything; the end of the live segment under the lock."""
        source = self.folder
        for path in (source.checkpoint, source.settings):
            if path.exists():
                copy(self._disk, path, target.root / path.name)
        with self.hold():
            begun_at, inode, state = self._end, os.stat(source.wal).st_ino, self.standing.sealed_state
        try:
            backup.copy_segments(self._disk, source, target, begun_at.offset)
        except FileNotFoundError:
            inode = -1
        with self.hold():
            is_other = os.stat(source.wal).st_ino != inode or self.standing.sealed_state != state
            if is_other:  # compacted or pruned meanwhile: the segments are others now, so begin again
                shutil.rmtree(target.sealed)
                target.wal.unlink(missing_ok=True)
                backup.copy_segments(self._disk, source, target, self._end.offset)
            else:
                copy(self._disk, source.wal, target.wal, begun_at.offset, self._end.offset)
            erase.hollow_out(self._disk, target, backup.named_in(target))
        self._disk.sync_folder(target.root)

    def keep_checkpoint(self, note: str) -> None:
        if self.writable:
            replace(self._disk, self.folder.checkpoint, note.encode())

    # -- compaction and pruning --------------------------------------------------------------------------------------

    def _replace_state(self, last: int) -> None:
        """Write the state after event `last`, record it, and put it in the place of the one before."""
        digest = write_state(self._disk, self.folder, self._fd, self._end, self._segment, last, self._scratch)
        self._own(fmt.STATE, {"seq": last, "digest": digest})
        sealed_state.settle(self._disk, self.folder, last, digest)

    def _has_state_of(self, last: int) -> bool:
        """True if the state file stands for all events up to `last`."""
        seq, digest = self.standing.sealed_state
        return seq >= last and sealed_state.is_there(self.folder, seq, digest)

    def compact(self) -> int:
        self._refuse_in_batch("compact")
        with self._write:
            count = self.standing.callers
            if self._end.seq > self._segment:
                self._seal()
            return count

    def _seal(self) -> None:
        """Prepare the new segment, then rename twice. In between there is none: see recover.py."""
        last, first = self._end, self._end.seq + 1
        try:
            body = {
                "ledger": self.standing.ledger,
                "stretch": {"first": self._segment, "last": last.seq, "head": last.hash},
                "events": first - self._segment, "root": self.tree().root().hex(),
            }  # fmt: skip
            _, event_id, ts, by, data = self._drafts.prepare(Draft(fmt.SEAL, body), self.by, self.now())
            line, head, hashed = fmt.encode(first, ts, fmt.SEAL, event_id, by, first, 0, last.hash, data)
            write_new(self._disk, self.folder.new_wal, line)
            self._disk.make_folder(self.folder.sealed)
            self._disk.sync_folder(self.folder.root)
        except OSError as error:
            raise NotWritten(f"not compacted, and nothing was changed: {self.folder.root}: {error.strerror}") from error
        try:
            self._disk.rename(self.folder.wal, self.folder.sealed / f"{self._segment:012d}-{last.seq:012d}.wal")
            self._disk.sync_folder(self.folder.sealed)
            self._disk.sync_folder(self.folder.root)
            self._disk.rename(self.folder.new_wal, self.folder.wal)
            self._disk.sync_folder(self.folder.root)
            self._reopen()
        except OSError as error:
            self.dead = f"compacting {self.folder.root} was interrupted ({error.strerror}); open it again to finish it"
            raise Unfinished(self.dead) from error
        self._end, self._segment = Place(len(line), first, hashed, ts), first
        self._remember_tip()
        self._tree.append(leaf_hash(head))
        self.standing.callers, self.standing.epoch = 0, self.standing.epoch + 1
        self.standing.times.take(first, ts)
        self.state.apply(fmt.parse(line).event())
        self._leave()
        self._save()

    def prune(self, to: Path) -> list[Path]:
        self._refuse_in_batch("prune")
        with self._write:
            if to.resolve().is_relative_to(self.folder.root.resolve()):
                raise Refused(f"{to} is inside the memory itself; name a folder outside {self.folder.root}", "place")
            segments, moved = self.folder.sealed_segments(), list[Path]()
            try:
                if segments and not self._has_state_of(self._segment - 1):
                    self._replace_state(self._segment - 1)
                for segment in segments:
                    moved.append(self._move_away(segment, to))
                self._save()
            except (OSError, NotWritten) as error:
                place = (isinstance(error, OSError) and error.filename) or to
                why = f"nothing is lost: {place}: {_reason(error)}"
                if moved:
                    raise Unfinished(f"{len(moved)} of {len(segments)} segments were moved, and {why}") from error
                raise NotWritten(f"nothing was moved, and {why}") from error
            return moved

    def _move_away(self, segment: Segment, to: Path) -> Path:
        """Copy, record, remove: a crash leaves the segment in one place or in both."""
        ensure_folder(self._disk, to)
        target, fresh = to / segment.path.name, to / (segment.path.name + ".new")
        if target.exists() and last_hash(target) != last_hash(segment.path):
            raise Refused(f"{target} belongs to another ledger; name another folder", "mismatch")
        remove_if_there(self._disk, fresh)
        copy(self._disk, segment.path, fresh)
        self._disk.rename(fresh, target)
        self._disk.sync_folder(to)
        self._own(fmt.PRUNE, {"first": segment.first, "last": segment.last, "place": str(to.resolve())})
        self._disk.remove(segment.path)
        self._disk.sync_folder(self.folder.sealed)
        return target

    # -- erasure -----------------------------------------------------------------------------------------------------

    def erase(self, choose: Callable[[], tuple[Iterable[str], Callable[[Event], bool]]]) -> int:
        self._refuse_in_batch("erase")
        with self._write:
            erase.must_reach(self.folder)  # before anything is recorded
            if (first := self.chain().first) and not self._has_state_of(first - 1):
                raise sealed_state.trouble(self.folder, self.standing.sealed_state, first)
            short = [copied for copied in self.folder.copies() if copied.sealed_states()]
            gone, is_about = choose()
            chain = self.chain()
            about = [line for line in chain.lines(chain.first) if line.sound and is_about(line.event())]
            lines, ops, own = [line.hash for line in about], {line.op for line in about}, len(about)
            for copied in self.folder.copies():
                lines += [line.hash for line in erase.lines_in(copied) if line.sound and is_about(line.event())]
            lines, names = list(dict.fromkeys(lines)), list(gone)
            parts = range(0, max(len(lines), 1), fmt.PER_ERASURE)
            self._own(fmt.ERASE, *({"lines": lines[start : start + fmt.PER_ERASURE], "ids": names} for start in parts))
            try:
                self._finish_erasing(ops)
            except (OSError, NotWritten) as error:
                is_system = isinstance(error, OSError) or error.__cause__  # other messages have their own advice
                advice = "; free some space" if is_system else ""
                raise Unfinished(
                    f"the erasure is recorded, but not finished: {_reason(error)}{advice};"
                    f" the next process that opens {self.folder.root} finishes it"
                ) from error
        if short:  # they were removed
            self.back_up()
        return own

    def _finish_erasing(self, ops: Collection[str] = ()) -> None:
        """Carry out every erasure that is recorded and not done. Doing it twice is the same as doing it once.

        `ops` are of the events that are emptied, if there is one erasure, and that is known.

        Rows of words go with the file of all tables, because its journal and free pages would keep them.
        """
        pending = dict(self.standing.erasing)
        if not pending:
            return
        erase.must_reach(self.folder)
        remove_if_there(self._disk, self.folder.snapshot)
        backup.discard_unfinished(self.folder.backups)
        bodies = [self.chain().line(seq).event().body or {} for seq in pending]
        names = {name for body in bodies for name in body.get("ids", ())}
        if self._reach is not None:
            self._reach(self._disk, self.folder, names)
        first = self.chain().first
        if first:  # while the lines still have what they said: a thing may be recorded again without its words
            self._replace_state(self._end.seq)
        else:  # all events are here, perhaps because a prune was interrupted
            remove_all(self._disk, self.folder.sealed_states())
        self._save()  # rows of emptied lines could not be read any more, to remove them
        for lines in pending.values():
            erase.hollow_out_folder(self._disk, self.folder, lines)
        gone = frozenset(line for lines in pending.values() for line in lines)
        erase.hollow_out_audit(self._disk, self.folder, gone, first)
        if self._store is not None:
            self._store.rewrite(names, min(pending), ops, is_whole=not first)
        for seq in pending:
            self._own(fmt.ERASED, {"of": seq})
        self._save()

    # -- moving ------------------------------------------------------------------------------------------------------

    def must_not_have_moved(self) -> None:
        """NotWritable, with where to, if it was moved away."""
        if to := self.moved_to():
            self.writable = False
            raise NotWritable(moved_away(self.place, to))

    def move_away(self, to: str) -> None:
        self._refuse_in_batch("move")
        try:
            if self.moved_to() == to:
                self._disk.sync_folder(self.folder.root)  # whoever wrote it may have died before that
                return
            with self._write:
                if (here := str(self.folder.root.resolve())) not in self.standing.copies:
                    self._own(fmt.COPY, {"place": here})
                self._save()
                moved = MovedTo(to, self._end.seq, self._end.hash)._asdict()
                replace(self._disk, self.folder.moved_to, orjson.dumps(moved, option=orjson.OPT_APPEND_NEWLINE))
                self.writable = False
        except OSError as error:
            raise NotWritten(f"not moved: {error.filename or self.folder.root}: {error.strerror}") from error

    def _refuse_in_batch(self, what: str) -> None:
        if self.in_batch():
            raise Refused(f"cannot {what} inside a batch; end the batch first", "batch")


def _reason(error: OSError | NotWritten) -> object:
    """The system's own message, if there is one."""
    if isinstance(error, OSError):
        return error.strerror
    return error.__cause__.strerror if isinstance(error.__cause__, OSError) else error

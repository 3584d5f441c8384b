"""The ledger of one folder: what `append` and `follow` do, and the care it takes of itself.

Care is done under the exclusive lock and is made of steps that may each be the last before a crash. Whatever a crash
leaves is either what was there before, or is finished by the next one who opens the folder for writing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tallystick.ledger import (
    erase_everywhere as erase,
    format as fmt,
    genesis as begin,
    partial_copy as unfinished,
    recover,
    restore,
    snapshot,
)
from tallystick.ledger.disk import copy, ensure_folder, remove_all, remove_if_there, write_new
from tallystick.ledger.layout import Segment
from tallystick.ledger.merkle import leaf_hash
from tallystick.ledger.scan import Place
from tallystick.ledger.writer import LedgerWriter
from tallystick.records.errors import NotWritten, Refused, Unfinished
from tallystick.records.event import TIME, Draft, Event

Erased = Callable[[], Iterable[str]]


class Ledger(LedgerWriter):
    """A memory's truth, open."""

    # -- opening -----------------------------------------------------------------------------------------------------

    def _first_line(self) -> bytes:
        return begin.first_line(self.now(), self.by, self._begin_with)

    def _before_loading(self) -> None:
        restore.finish(self._disk, self.folder, self._lock)

    def _fix(self, verdict: recover.Verdict, size: int) -> None:
        """Set aside what a crash tore. The bytes are kept first; only then is the file cut back."""
        name = f"torn-{verdict.end.seq + 1:012d}"
        kept = erase.keep_bytes(self._disk, self.folder, name, verdict.end.offset, size)
        self._disk.truncate(self._fd, verdict.end.offset)
        self._sync()
        self._own(fmt.TORN, {"after": verdict.end.seq, "bytes": size - verdict.end.offset, "kept": kept.name})

    def _after_loading(self) -> None:
        if self.trouble is not None:
            return
        if self._loaded is not None and self._loaded.path == snapshot.fresh_path(self.folder):
            snapshot.install(self._disk, self.folder)
        for leftover in self.folder.leftovers():
            shutil.rmtree(leftover) if leftover.is_dir() else self._disk.remove(leftover)
        unfinished.discard(self.folder.backups)
        self._finish_erasing()

    def _own(self, op: str, *bodies: dict[str, Any]) -> None:
        """Record something about the ledger itself, as one group. The lock is held."""
        if op != TIME:
            self._doubt_times()
        ts = self.now()
        for event in self._commit([[self._prepare(Draft(op, body), self.by, ts) for body in bodies]]):
            self.state.apply(event)

    def _doubt_times(self) -> None:
        """A group of its own: if what it precedes is never written, it is as true without."""
        times, now = self.standing.times, self.now()
        if not times.is_plain(now):
            chain = self.chain()
            if body := times.jump(now, chain.first, self._end.seq, chain.dates()):
                self._own(TIME, body)

    # -- snapshots and compaction ------------------------------------------------------------------------------------

    def _care(self) -> None:
        """Write a snapshot when one is due. If the disk refuses, try again when the next would be, not sooner."""
        if snapshot.due(self._end.seq - self.standing.snapshot_seq, self.state.records()):
            try:
                self._take_snapshot()
            finally:
                self.standing.snapshot_seq = max(self.standing.snapshot_seq, self._end.seq)

    def _take_snapshot(self) -> None:
        """Write down what is held now. A crash leaves the old snapshot, or the new one under its `.new` name."""
        content = snapshot.compose(self._end, self._segment, self.tree(), self.standing.dump(), self.state.dump())
        digest = snapshot.write_fresh(self._disk, self.folder, content)
        self._own(fmt.SNAPSHOT, {"snapshot": digest, "seq": self._end.seq, "place": self.folder.snapshot.name})
        snapshot.install(self._disk, self.folder)

    def compact(self) -> int:
        """Close the living stretch and go on in a new file of one line; return how many events of callers it holds.

        The chain goes on, and nothing is lost: the old stretch stands whole in `sealed/`.
        """
        self._refuse_in_batch("compact")
        with self._writing():
            folded = self.standing.callers
            if self._end.seq > self._segment:
                self._seal()
            return folded

    def _seal(self) -> None:
        """Prepare the new stretch beside the old, then rename twice. In between there is none: see genesis.py."""
        last, first = self._end, self._end.seq + 1
        after = Place(0, last.seq, last.hash, last.ts)
        content = snapshot.compose(after, first, self.tree(), self.standing.dump(), self.state.dump())
        try:
            digest = snapshot.write_fresh(self._disk, self.folder, content)
            line, head, hashed, ts = self._seal_line(first, digest)
            write_new(self._disk, begin.fresh_wal(self.folder), line)
            self._disk.make_folder(self.folder.sealed)
            self._disk.sync_folder(self.folder.root)
        except OSError as error:
            raise NotWritten(f"not compacted, and nothing was changed: {self.folder.root}: {error.strerror}") from error
        try:
            self._disk.rename(self.folder.wal, self.folder.sealed_name(self._segment, last.seq))
            self._disk.sync_folder(self.folder.sealed)
            self._disk.sync_folder(self.folder.root)
            self._disk.rename(begin.fresh_wal(self.folder), self.folder.wal)
            self._disk.sync_folder(self.folder.root)
            snapshot.install(self._disk, self.folder)
            self._reopen()
        except OSError as error:
            self.dead = f"compacting {self.folder.root} was interrupted ({error.strerror}); open it again to finish it"
            raise Unfinished(self.dead) from error
        self._end, self._segment = Place(len(line), first, hashed, ts), first
        self._remember_tip()
        self._tree.append(leaf_hash(head))
        self.standing.callers, self.standing.snapshot_seq, self.standing.epoch = 0, first, self.standing.epoch + 1
        self.standing.times.take(first, ts)
        self._lock.leave(first, hashed, len(line))

    def _seal_line(self, seq: int, digest: str) -> tuple[bytes, bytes, str, str]:
        body = {
            "ledger": self.standing.ledger,
            "stretch": {"first": self._segment, "last": self._end.seq, "head": self._end.hash},
            "events": self._end.seq - self._segment + 1, "root": self.tree().root().hex(), "snapshot": digest,
        }  # fmt: skip
        pending = self._prepare(Draft(fmt.SEAL, body), self.by, self.now())
        line, head, hashed = fmt.encode(
            seq, pending.ts, fmt.SEAL, pending.id, pending.by, seq, 0, self._end.hash, pending.data
        )
        return line, head, hashed, pending.ts

    def prune(self, to: Path) -> list[Path]:
        """Move the sealed stretches to the folder `to`, and return where they are. What is held does not need them."""
        self._refuse_in_batch("prune")
        with self._writing():
            self._refuse_inside(to)
            segments, moved = self.folder.sealed_segments(), list[Path]()
            try:
                if segments:
                    self._take_snapshot()
                for segment in segments:
                    moved.append(self._move_away(segment, to))
            except (OSError, NotWritten) as error:
                place = (isinstance(error, OSError) and error.filename) or to
                why = f"nothing is lost: {place}: {_reason(error)}"
                if moved:
                    raise Unfinished(f"{len(moved)} of {len(segments)} were moved, and {why}") from error
                raise NotWritten(f"nothing was moved, and {why}") from error
            return moved

    def _move_away(self, segment: Segment, to: Path) -> Path:
        """Copy, record, remove: a crash leaves the stretch in one place or in both, never in none."""
        ensure_folder(self._disk, to)
        target, fresh = to / segment.path.name, to / (segment.path.name + ".new")
        if target.exists() and begin.last_hash(target) != begin.last_hash(segment.path):
            raise Refused(f"{target} is another ledger's; name another folder", "mismatch")
        remove_if_there(self._disk, fresh)
        copy(self._disk, segment.path, fresh)
        self._disk.rename(fresh, target)
        self._disk.sync_folder(to)
        self._own(fmt.PRUNE, {"first": segment.first, "last": segment.last, "place": str(to.resolve())})
        self._disk.remove(segment.path)
        self._disk.sync_folder(self.folder.sealed)
        return target

    def _refuse_inside(self, to: Path) -> None:
        if to.resolve().is_relative_to(self.folder.root.resolve()):
            raise Refused(f"{to} is inside the memory itself; name a folder outside {self.folder.root}", "place")

    # -- erasure -----------------------------------------------------------------------------------------------------

    def erase(self, choose: Callable[[], tuple[Iterable[str], Callable[[Event], bool]]]) -> int:
        """Destroy the words of events; return how many there were.

        `choose` is called under the lock and answers with the ids that are to go, and which events speak of them.
        """
        self._refuse_in_batch("erase")
        with self._writing():
            erase.must_reach(self.folder)  # before anything is recorded
            gone, speaks = choose()
            chain = self.chain()
            lines = [line.hash for line in chain.lines(chain.first) if line.sound and speaks(line.event())]
            own = len(lines)
            for copied in self.folder.copies():
                lines += [line.hash for line in erase.lines_in(copied) if line.sound and speaks(line.event())]
            lines, names = list(dict.fromkeys(lines)), list(gone)
            parts = range(0, max(len(lines), 1), erase.PER_EVENT)
            self._own(fmt.ERASE, *({"lines": lines[start : start + erase.PER_EVENT], "ids": names} for start in parts))
            try:
                self._finish_erasing()
            except (OSError, NotWritten) as error:
                advice = "; make room" if isinstance(error, OSError) or error.__cause__ else ""  # ours says what to do
                raise Unfinished(
                    f"the erasure is recorded, and not finished: {_reason(error)}{advice}:"
                    f" whoever opens {self.folder.root} next finishes it"
                ) from error
            return own

    def _finish_erasing(self) -> None:
        """Carry out every erasure that is recorded and not done. Doing it twice is doing it once.

        The indexes go as a whole: their journals and free pages would keep the words. They grow back.
        """
        pending = dict(self.standing.erasing)
        if not pending:
            return
        erase.must_reach(self.folder)
        remove_all(self._disk, self.folder.index_files())
        unfinished.discard(self.folder.backups)
        if self._reach is not None:
            said = [self.chain().line(seq).event().body or {} for seq in pending]
            self._reach(self._disk, self.folder, {name for body in said for name in body.get("ids", ())})
        for lines in pending.values():
            erase.hollow_out_folder(self._disk, self.folder, lines)
        erase.hollow_out_audit(self._disk, self.folder, frozenset(line for lines in pending.values() for line in lines))
        self._take_snapshot()
        for seq in pending:
            self._own(fmt.ERASED, {"of": seq})

    def _refuse_in_batch(self, what: str) -> None:
        if self.in_batch():
            raise Refused(f"cannot {what} inside a batch; end the batch first", "batch")


def _reason(error: OSError | NotWritten) -> object:
    """What the system said."""
    if isinstance(error, OSError):
        return error.strerror
    return error.__cause__.strerror if isinstance(error.__cause__, OSError) else error

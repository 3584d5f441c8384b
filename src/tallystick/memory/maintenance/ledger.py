"""`m.ledger`: the chain itself, for whoever wants it proved.

A chain shows that nothing inside it was changed. It cannot show that its end is gone, or that its holder rewrote all of
it; a checkpoint, signed and pinned outside the folder, can.

What is proved of an event is its header: number, time, kind, source, the digest of its words, the hash of the line
before. So an erased event is proved like any other. Against the last checkpoint that has the event, the proof convinces
others too; before there is one, it leads to the root of the tree as it is here, which nobody has signed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.ledger import format as fmt
from tallystick.memory import settings
from tallystick.records.clock import stamp
from tallystick.records.display import display_lists
from tallystick.records.errors import Refused
from tallystick.stores.places import is_old

if TYPE_CHECKING:  # heavy, and not needed to check a folder
    from tallystick.ledger.checkpoint import Keyring
    from tallystick.ledger.proof import Proof, Tree
    from tallystick.ledger.signed_note import Verifier
    from tallystick.records.progress import Progress
    from tallystick.records.report import Report
    from tallystick.records.status import ChainFile, Kept
    from tallystick.records.times import Span
    from tallystick.stores.open_ledger import OpenLedger


def verify_folder(
    folder: Path, *, processes: int = 1, on_progress: Progress | None = None, checkpoint: str = "", key: str = ""
) -> Report:
    """Check every line of a folder, which may be too damaged to open; against a `checkpoint` kept elsewhere too."""
    if is_old(folder):
        raise Refused(
            f"{folder} was written by chronomemory; `tallystick backup` imports it and makes a first copy", "place"
        )
    from tallystick.repair.verify import verify_folder as verify

    ring = settings.keyring() if settings.keys_folder().is_dir() else None  # without a key nothing can be checked
    return verify(folder, ring, processes=processes, on_progress=on_progress, checkpoint=checkpoint, key=key)


def check_proof(text: str, key: str) -> dict[str, Any]:
    """What a proof proves, by the verifier key that came with it; no memory is needed. Refused if it proves nothing."""
    from tallystick.ledger.proof import check_inclusion
    from tallystick.ledger.signed_note import NoteError, Verifier

    try:
        verifier = Verifier(key)
    except NoteError as error:
        raise Refused(f"not a verifier key: {error}", "proof") from None
    return check_inclusion(text, verifier)


@display_lists
class LedgerService:
    """The ledger of one open memory."""

    def __init__(self, opened: OpenLedger, keyring: Keyring, must: Callable[[str, str], None]) -> None:
        self._open, self._ledger, self._keyring, self._must = opened, opened.ledger, keyring, must

    @cached_property
    def _tree(self) -> Tree:
        from tallystick.ledger.proof import Tree

        return Tree(self._ledger)

    @property
    def id(self) -> str:
        return self._ledger.standing.ledger

    @property
    def folder(self) -> Path:
        """Where its files are, for whoever looks at these themselves. RolledBack if another ledger is there by now."""
        from tallystick.stores.open_folder import in_folder

        self._ledger.must_be_here()
        return in_folder(self._open, "looking at its files").root

    @property
    def size(self) -> int:
        """How many events it has, those that others wrote among them."""
        self._ledger.refresh()
        return self._ledger.head.seq + 1

    def doubted(self) -> list[Span]:
        """The events whose times are doubted, because a clock was wrong; each row of them with the time they go by."""
        self._ledger.refresh()
        return list(self._ledger.standing.times.doubted)

    def is_doubted(self, seq: int) -> bool:
        """Whether the time of event `seq` is doubted, as far as is known here."""
        return self._ledger.standing.times.doubts(seq) is not None

    @property
    def pin_path(self) -> Path:
        """Where the last checkpoint is kept, outside the folder."""
        return self._keyring.pin_path(self.id)

    @property
    def verifier_key(self) -> str:
        """What someone else needs to check a proof or a checkpoint. NotFound if nothing was ever signed here."""
        return self._verifier.key

    @property
    def _verifier(self) -> Verifier:
        from tallystick.ledger.checkpoint import verifier_of

        return verifier_of(self.id, self._keyring)

    def verify(
        self, *, processes: int = 1, on_progress: Progress | None = None, checkpoint: str = "", key: str = ""
    ) -> Report:
        """Check every line, from the first that is here to the last; against a `checkpoint` kept elsewhere too."""
        self._ledger.refresh()
        ring = self._keyring if settings.keys_folder().is_dir() else None
        brought = (checkpoint, key)
        return self._open.verify(ring, brought, processes=processes, on_progress=on_progress)

    def checkpoint(self, *, repin: bool = False) -> str:
        """Sign the ledger's size, head and root; keep the note in the folder and pin it outside.

        `repin` takes what is here for the truth, whatever was pinned before: for a person who knows why it is another.
        """
        from tallystick.ledger.checkpoint import take

        self._must("ledger", "repin" if repin else "checkpoint")
        note = self._repin() if repin else take(self._ledger, self._place, self._keyring)
        if self._ledger.standing.erasures:
            self.note_erasures()  # in case that failed when something was erased
        return note

    @property
    def _place(self) -> Path | str:
        return self._open.place if self._open.root is None else self._open.root

    def _repin(self) -> str:
        from tallystick.ledger.checkpoint import take

        again = self._open.again()
        try:
            note = take(again.ledger, self._place, self._keyring, repin=True)
        finally:
            again.close()
        self._ledger.refresh()
        return note

    def prove(self, seq: int) -> str:
        """That event `seq` is in the ledger, for someone who has only a checkpoint and the key to check it with."""
        from tallystick.ledger.proof import inclusion

        self._ledger.refresh()
        self._ledger.line(seq)  # if it is not there, nothing is signed for it either
        note = self.checkpoint()
        return inclusion(self._ledger, seq, note, self._verifier, self._tree)

    def proof(self, seq: int) -> Proof:
        """The same without signing or writing: against the last checkpoint that has it, or the tree as it is."""
        from tallystick.ledger.proof import Proof, header_of, inclusion

        self._ledger.refresh()
        ledger, tree = self._ledger, self._tree
        line = ledger.line(seq).slice
        header = header_of(line)

        def steps(size: int, root: bytes) -> tuple[str, ...]:
            return tuple(node.hex() for node in tree.steps(seq, size, root))

        for kept in self._kept():
            if kept.size > seq and kept.ledger == self.id:
                verifier, path = self._verifier, steps(kept.size, bytes.fromhex(kept.root))
                text = inclusion(ledger, seq, kept.note, verifier, tree)
                return Proof(header, line.decode(), kept.size, kept.root, path, text, verifier.key)
        size, root = ledger.head.seq + 1, ledger.tree().root()
        return Proof(header, line.decode(), size, root.hex(), steps(size, root))

    def checkpoints(self) -> list[Kept]:
        """The checkpoints that are kept, in the folder and outside it; the one that saw most first. One may be of
        another ledger: that is what is wrong with a folder that was replaced."""
        self._ledger.refresh()
        return self._kept() if settings.keys_folder().is_dir() else []

    def _kept(self) -> list[Kept]:
        from tallystick.records.status import Kept

        found = list[Kept]()
        for seen in self._open.claims(self._keyring):
            whose, witness, path = seen.ledger or self.id, seen.witness, seen.path
            place, at = (self._open.place, "") if path is None else (str(path), written(path))
            kept = Kept(place, witness.name, seen.outside, at, ledger=whose, trouble=seen.doubt)
            if seen.root:
                note = seen.note
                with suppress(OSError, UnicodeDecodeError):
                    note = note or (path.read_text("utf-8") if path else "")
                kept = replace(kept, note=note, size=witness.seq + 1, head=witness.hash, root=seen.root.hex())
            found.append(kept)
        return sorted(found, key=lambda each: each.size, reverse=True)

    def files(self) -> list[ChainFile]:
        """The files of the chain that are here: those that are sealed, then the one that grows. One that is being moved
        meanwhile has no size."""
        self._ledger.refresh()
        return self._ledger.segments()

    def check_proof(self, text: str, key: str | None = None) -> dict[str, Any]:
        """What a proof proves. Raises Refused if it proves nothing."""
        return check_proof(text, key or self.verifier_key)

    def compact(self) -> int:
        """Seal the live segment and continue in a new file; return how many events callers had written to it."""
        self._must("ledger", "compact")
        return self._ledger.compact()

    def prune(self, to: str | Path) -> list[Path]:
        """Move sealed segments to a folder of yours; return where they are."""
        self._must("ledger", "prune")
        return self._ledger.prune(settings.place_of(to))

    def note_erasures(self) -> None:
        """Add what was erased to the pin, so that a restore of an older copy erases it again."""
        if self._keyring.pin(self.id):
            events = self._ledger.events(self._ledger.first)
            gone = [line for event in events if event.op == fmt.ERASE and event.body for line in event.body["lines"]]
            self._keyring.add_erased(self.id, gone)


def written(path: Path) -> str:
    """When a file was last written; empty, if it is missing."""
    with suppress(OSError):
        return stamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    return ""

"""Proofs that an event is in the ledger, for anyone with a signed checkpoint and the key.

Proofs come from the Merkle tree alone. What is proved of an event is its line's header: its seq, time, kind, source and
the digest of its data. So an erased event can still be proved, and its data cannot be learned from the proof. Every
proof is checked before it is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tallystick.ledger import format as fmt, merkle
from tallystick.ledger.signed_note import InclusionNote, NoteError, Verifier
from tallystick.records.display import Displayable
from tallystick.records.errors import NotFound, Refused, RolledBack

if TYPE_CHECKING:  # heavy, and not needed to check a proof
    from tallystick.ledger.protocol import Ledger


def leaves(ledger: Ledger, start: int, stop: int) -> list[bytes]:
    """The leaves `start` … `stop - 1` of the tree. Raises Missing if their segments were moved away."""
    return [merkle.leaf_hash(piece) for piece in ledger.slices(start, stop)]


class Tree:
    """The tree of one ledger. The first proof reads every line; a later one, the batch of its event and new lines."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tops: list[bytes] = []  # of whole batches, in order

    def steps(self, seq: int, size: int, root: bytes) -> list[bytes]:
        """The path from event `seq` to the root of the first `size` events. RolledBack, if that is not their root."""
        found = self._steps(seq, size, root)
        if found is None:  # the kept roots may be of a ledger that was replaced
            self._tops.clear()
            found = self._steps(seq, size, root)
        if found is None:
            for _ in self._ledger.lines(0, size):  # raises Damaged, if a damaged line is the reason
                pass
            raise RolledBack("the ledger is not the one that the checkpoint signs; run `tallystick check`")
        return found

    def _steps(self, seq: int, size: int, root: bytes) -> list[bytes] | None:
        at, (whole, rest) = seq // merkle.BATCH, divmod(size, merkle.BATCH)
        for number in range(len(self._tops), whole):
            self._tops.append(self._root(number * merkle.BATCH, (number + 1) * merkle.BATCH))
        row = self._tops[:whole] + ([self._root(whole * merkle.BATCH, size)] if rest else [])
        batch = leaves(self._ledger, at * merkle.BATCH, min((at + 1) * merkle.BATCH, size))
        if merkle.root_of(row) != root or merkle.root_of(batch) != row[at]:
            return None
        return merkle.inclusion_proof(batch, seq % merkle.BATCH) + merkle.inclusion_proof(row, at)

    def _root(self, start: int, stop: int) -> bytes:
        return merkle.root_of(leaves(self._ledger, start, stop))


def inclusion(ledger: Ledger, seq: int, note: str, verifier: Verifier, tree: Tree | None = None) -> str:
    """The proof that event `seq` is in the ledger that `note` signs, as text."""
    try:
        signed = verifier.open(note)
    except NoteError as error:
        raise _nothing(error) from None
    if not 0 <= seq < signed.size:
        raise NotFound(f"the checkpoint covers events 0 to {signed.size - 1}, not {seq}; sign a new one if it is newer")
    path = (tree or Tree(ledger)).steps(seq, signed.size, signed.root)
    return InclusionNote(seq, tuple(path), note, ledger.line(seq).slice).text()


def check_inclusion(text: str, verifier: Verifier) -> dict[str, Any]:
    """Check a proof; return the event's header, and the checkpoint that covers it. Refused if it proves nothing."""
    try:
        proof = InclusionNote.parse(text)
        signed = proof.verify(verifier)
    except NoteError as error:
        raise _nothing(error) from None
    event = header_of(proof.line)
    if event["seq"] != proof.index:
        raise _nothing("the event's seq is not its place in the tree")
    return {
        "event": event, "size": signed.size, "root": signed.root.hex(), "head": signed.head, "origin": signed.origin,
    }  # fmt: skip


def header_of(line: bytes) -> dict[str, Any]:
    """The fields of a header, from the bytes that are hashed. Refused if it is not one."""
    header = fmt.HEADER.fullmatch(line + b',"hash":"' + b"0" * 64 + b'","data":')
    if header is None:
        raise _nothing("its leaf is not the header of an event")
    seq, ts, op, event_id, by, batch, left, digest, prev, _ = (group.decode() for group in header.groups())
    return {
        "seq": int(seq), "ts": ts, "op": op, "id": event_id, "by": by, "batch": int(batch), "left": int(left),
        "digest": digest, "prev": prev, "hash": sha256(line).hexdigest(),
    }  # fmt: skip


def _nothing(why: object) -> Refused:
    return Refused(f"this proves nothing: {why}", "proof")


@dataclass(frozen=True, slots=True)
class Proof(Displayable):
    """The path from an event to a root. `text` is the proof for others; empty until a checkpoint covers the event."""

    event: dict[str, Any]  # the header's fields, and its hash
    line: str  # the header, as hashed
    size: int  # events in the tree
    root: str
    steps: tuple[str, ...]  # the hashes to combine with the event, from the leaf up
    text: str = ""
    key: str = ""  # the verifier key that others need

    @property
    def is_signed(self) -> bool:
        return bool(self.text)

    @property
    def holds(self) -> bool:
        """True if the event leads to the root, computed again from the header up."""
        leaf, steps = merkle.leaf_hash(self.line.encode()), [bytes.fromhex(step) for step in self.steps]
        return merkle.verify_inclusion(leaf, self.event["seq"], self.size, steps, bytes.fromhex(self.root))

    def to_dict(self) -> dict[str, Any]:
        return {**Displayable.to_dict(self), "is_signed": self.is_signed, "holds": self.holds}

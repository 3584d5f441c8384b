"""Proofs that an event is in the ledger, or that the ledger only grew, for anyone with signed checkpoints and the key.

Proofs come from the Merkle tree alone. What is proved of an event is its line's header: its seq, time, kind, source and
the digest of its data. So an erased event can still be proved, and its data cannot be learned from the proof.

A proof is text: c2sp.org/tlog-proof for an event; for growth, what c2sp.org/tlog-witness sends to a witness. Every
proof is checked before it is returned. Checking one takes the text and the verifier key, and neither ledger nor
network.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tallystick.ledger import format as fmt, merkle
from tallystick.ledger.signed_note import Checkpoint, InclusionNote, NoteError, Verifier
from tallystick.records.display import Displayable
from tallystick.records.errors import Damaged, NotFound, Refused, RolledBack, TallystickError

if TYPE_CHECKING:  # heavy, and not needed to check a proof
    from tallystick.ledger.ledger import Ledger


def leaves(ledger: Ledger, start: int, stop: int) -> list[bytes]:
    """The leaves `start` … `stop - 1` of the tree. Raises Missing if their segments were moved away."""
    return [merkle.leaf_hash(piece) for piece in ledger.chain().slices(start, stop)]


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
            raise _another(self._ledger, size)
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
    signed = _opened(note, verifier)
    if not 0 <= seq < signed.size:
        raise NotFound(f"the checkpoint covers events 0 to {signed.size - 1}, not {seq}; sign a new one if it is newer")
    path = (tree or Tree(ledger)).steps(seq, signed.size, signed.root)
    return InclusionNote(seq, tuple(path), note, ledger.chain().line(seq).slice).text()


def consistency(ledger: Ledger, old_size: int, note: str, verifier: Verifier) -> str:
    """The proof that the ledger that `note` signs only added to its first `old_size` events, as text."""
    signed = _opened(note, verifier)
    if not 0 <= old_size <= signed.size:
        raise NotFound(f"the checkpoint covers {signed.size} events; it cannot be compared with one of {old_size}")
    row = leaves(ledger, 0, signed.size)
    if len(row) != signed.size or merkle.root_of(row) != signed.root:
        raise _another(ledger, signed.size)
    path = [b64encode(node).decode() for node in merkle.consistency_proof(row, old_size)]
    return "\n".join([f"old {old_size}", *path]) + "\n\n" + note


def check_inclusion(text: str, verifier: Verifier) -> dict[str, Any]:
    """Check a proof; return the event's header, and the checkpoint that covers it. Refused if it proves nothing."""
    try:
        proof = InclusionNote.parse(text)
        signed = _of_this_ledger(proof.verify(verifier), verifier)
    except NoteError as error:
        raise _nothing(error) from None
    event = header_of(proof.line)
    if event["seq"] != proof.index:
        raise _nothing("the event's seq is not its place in the tree")
    return {"event": event, **_as_dict(signed)}


def check_consistency(text: str, old_note: str, verifier: Verifier) -> dict[str, Any]:
    """Check a proof of growth between two signed checkpoints. Refused if it proves nothing."""
    old = _opened(old_note, verifier)
    size, path, note = _growth(text)
    new = _opened(note, verifier)
    if size != old.size or not merkle.verify_consistency(old.size, new.size, old.root, new.root, path):
        raise _nothing(f"it does not show that the ledger of {new.size} events begins with that of {old.size}")
    return {"old": _as_dict(old), **_as_dict(new)}


def to_dict(text: str) -> dict[str, Any]:
    """Either proof in parts, for a program. Only the form is checked."""
    try:
        if text.startswith("old "):
            size, path, note = _growth(text)
            return {"old": size, "proof": [node.hex() for node in path], "checkpoint": note}
        proof = InclusionNote.parse(text)
    except NoteError as error:
        raise _nothing(error) from None
    nodes = [node.hex() for node in proof.proof]
    return {"index": proof.index, "line": proof.line.decode(errors="replace"), "proof": nodes, "checkpoint": proof.note}


def _opened(note: str, verifier: Verifier) -> Checkpoint:
    try:
        return _of_this_ledger(verifier.open(note), verifier)
    except NoteError as error:
        raise _nothing(error) from None


def _of_this_ledger(signed: Checkpoint, verifier: Verifier) -> Checkpoint:
    if signed.origin != verifier.name:
        raise NoteError(f"the checkpoint is of {signed.origin}, but the key is that of {verifier.name}")
    return signed


def _another(ledger: Ledger, size: int) -> TallystickError:
    """The reason why the ledger does not have a root: a line is damaged, or it is another ledger."""
    try:
        for _ in ledger.chain().lines(0, size):
            pass
    except Damaged as error:
        return error
    return RolledBack("the ledger is not the one that the checkpoint signs; run `tallystick check`")


def _growth(text: str) -> tuple[int, list[bytes], str]:
    head, _, note = text.partition("\n\n")
    first, *path = head.split("\n")
    try:
        size = int(first.removeprefix("old "))
        nodes = [b64decode(node, validate=True) for node in path]
    except ValueError:
        raise _nothing("it is not in the format of a proof") from None
    if f"old {size}" != first or [b64encode(node).decode() for node in nodes] != path:
        raise _nothing("it is not in the format of a proof")
    return size, nodes, note


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


def _as_dict(signed: Checkpoint) -> dict[str, Any]:
    return {"size": signed.size, "root": signed.root.hex(), "head": signed.head, "origin": signed.origin}


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

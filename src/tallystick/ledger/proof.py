"""That one event is in the ledger, or that it only ever grew, shown to someone who has signed checkpoints and the key.

Proofs come from the Merkle tree alone. What is proved of an event is its line's header: its seq, time, kind, source and
the digest of its data. So an erased event can still be proved, and its words cannot be learned from the proof.

A proof is text: c2sp.org/tlog-proof for an event; for growth, what c2sp.org/tlog-witness sends to a witness. None is
handed out that does not hold. Checking one takes the text and the verifier key, and neither ledger nor network.
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
    """The leaves `start` … `stop - 1` of the tree. Raises Missing if their stretches were moved away."""
    return [merkle.leaf_hash(piece) for piece in ledger.chain().slices(start, stop)]


class Tree:
    """The tree of one ledger. The first proof reads every line; a later one, those beside its event and new ones."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tops: list[bytes] = []  # of whole batches, from the first on

    def steps(self, seq: int, size: int, root: bytes) -> list[bytes]:
        """What leads from event `seq` to the root of the first `size` events. RolledBack, if that is not their root."""
        found = self._steps(seq, size, root)
        if found is None:  # what is kept here may be of a ledger that another took the place of
            self._tops.clear()
            found = self._steps(seq, size, root)
        if found is None:
            raise _another(self._ledger, size)
        return found

    def _steps(self, seq: int, size: int, root: bytes) -> list[bytes] | None:
        row, at = self._row(size), seq // merkle.BATCH
        batch = leaves(self._ledger, at * merkle.BATCH, min((at + 1) * merkle.BATCH, size))
        if merkle.root_of(row) != root or merkle.root_of(batch) != row[at]:
            return None
        return merkle.inclusion_proof(batch, seq % merkle.BATCH) + merkle.inclusion_proof(row, at)

    def _row(self, size: int) -> list[bytes]:
        """The tops of the batches of the first `size` events; the last batch may be a part of one."""
        whole, rest = divmod(size, merkle.BATCH)
        for at in range(len(self._tops), whole):
            self._tops.append(merkle.root_of(leaves(self._ledger, at * merkle.BATCH, (at + 1) * merkle.BATCH)))
        last = [merkle.root_of(leaves(self._ledger, whole * merkle.BATCH, size))] if rest else []
        return self._tops[:whole] + last


def inclusion(ledger: Ledger, seq: int, note: str, verifier: Verifier, tree: Tree | None = None) -> str:
    """The proof that event `seq` is in the ledger that `note` signs, as text."""
    signed = _opened(note, verifier)
    if not 0 <= seq < signed.size:
        raise NotFound(f"the checkpoint has events 0 to {signed.size - 1}, not {seq}; sign a new one if it is newer")
    path = (tree or Tree(ledger)).steps(seq, signed.size, signed.root)
    return InclusionNote(seq, tuple(path), note, ledger.chain().line(seq).slice).text()


def consistency(ledger: Ledger, old_size: int, note: str, verifier: Verifier) -> str:
    """The proof that the ledger that `note` signs only added to its first `old_size` events, as text."""
    signed = _opened(note, verifier)
    if not 0 <= old_size <= signed.size:
        raise NotFound(f"the checkpoint holds {signed.size} events; it cannot be compared with one of {old_size}")
    row = leaves(ledger, 0, signed.size)
    if len(row) != signed.size or merkle.root_of(row) != signed.root:
        raise _another(ledger, signed.size)
    path = [b64encode(node).decode() for node in merkle.consistency_proof(row, old_size)]
    return "\n".join([f"old {old_size}", *path]) + "\n\n" + note


def check_inclusion(text: str, verifier: Verifier) -> dict[str, Any]:
    """What a proof proves: the event's header, and the checkpoint it is proved against. Raises Refused if nothing."""
    try:
        proof = InclusionNote.parse(text)
        signed = _of_this_ledger(proof.verify(verifier), verifier)
    except NoteError as error:
        raise _nothing(error) from None
    return {"event": _header(proof), **_as_dict(signed)}


def check_consistency(text: str, old_note: str, verifier: Verifier) -> dict[str, Any]:
    """What a proof of growth proves of two checkpoints that were signed. Raises Refused if nothing."""
    old = _opened(old_note, verifier)
    size, path, note = _growth(text)
    new = _opened(note, verifier)
    if size != old.size or not merkle.verify_consistency(old.size, new.size, old.root, new.root, path):
        raise _nothing(f"the ledger of {new.size} events is not shown to begin with that of {old.size}")
    return {"old": _as_dict(old), **_as_dict(new)}


def to_dict(text: str) -> dict[str, Any]:
    """Either proof in parts, for a program. Nothing is checked but the form."""
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
        raise NoteError(f"the checkpoint is of {signed.origin}, and the key is that of {verifier.name}")
    return signed


def _another(ledger: Ledger, size: int) -> TallystickError:
    """Why the ledger does not lead to a root: a line is not as it was written (Damaged), or it is another ledger."""
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
        raise _nothing("it is not written as a proof is") from None
    if f"old {size}" != first or [b64encode(node).decode() for node in nodes] != path:
        raise _nothing("it is not written as a proof is")
    return size, nodes, note


def header_of(line: bytes) -> dict[str, Any]:
    """The fields of a header, by the one strict layout. `line` are the bytes that are hashed. Refused if it is none."""
    header = fmt.HEADER.fullmatch(line + b',"hash":"' + b"0" * 64 + b'","data":')
    if header is None:
        raise _nothing("what it proves is not the header of an event")
    seq, ts, op, event_id, by, batch, left, digest, prev, _ = (group.decode() for group in header.groups())
    return {
        "seq": int(seq), "ts": ts, "op": op, "id": event_id, "by": by, "batch": int(batch), "left": int(left),
        "digest": digest, "prev": prev, "hash": sha256(line).hexdigest(),
    }  # fmt: skip


def _header(proof: InclusionNote) -> dict[str, Any]:
    found = header_of(proof.line)
    if found["seq"] != proof.index:
        raise _nothing("the event's number is not its place in the tree")
    return found


def _as_dict(signed: Checkpoint) -> dict[str, Any]:
    return {"size": signed.size, "root": signed.root.hex(), "head": signed.head, "origin": signed.origin}


def _nothing(why: object) -> Refused:
    return Refused(f"this proves nothing: {why}", "proof")


@dataclass(frozen=True, slots=True)
class Proof(Displayable):
    """The way from an event to a root. `text` is the proof for others; nothing, as long as no checkpoint has it."""

    event: dict[str, Any]  # the header's fields, and its hash
    line: str  # the header as it is hashed
    size: int  # events in the tree
    root: str
    steps: tuple[str, ...]  # what is hashed with the event, from the leaf up
    text: str = ""
    key: str = ""  # the verifier key that others need

    @property
    def is_signed(self) -> bool:
        return bool(self.text)

    @property
    def holds(self) -> bool:
        """Whether the event leads to the root: worked out again, from the header up."""
        leaf, steps = merkle.leaf_hash(self.line.encode()), [bytes.fromhex(step) for step in self.steps]
        return merkle.verify_inclusion(leaf, self.event["seq"], self.size, steps, bytes.fromhex(self.root))

    def to_dict(self) -> dict[str, Any]:
        return {**Displayable.to_dict(self), "is_signed": self.is_signed, "holds": self.holds}

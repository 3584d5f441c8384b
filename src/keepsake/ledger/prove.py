"""That one event is in the ledger, or that it only ever grew, shown to someone who has signed checkpoints and the key.

Proofs come from the Merkle tree alone. What is proved of an event is its line's header: its seq, time, kind, source and
the digest of its data. So an erased event can still be proved, and its words cannot be learned from the proof.

A proof is text: c2sp.org/tlog-proof for an event; for growth, what c2sp.org/tlog-witness sends to a witness. None is
handed out that does not hold. Checking one takes the text and the verifier key, and neither ledger nor network.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from keepsake.ledger import format as fmt
from keepsake.ledger import merkle
from keepsake.ledger.note import Checkpoint, InclusionNote, NoteError, Verifier
from keepsake.records.errors import NotFound, Refused, RolledBack

if TYPE_CHECKING:  # heavy, and not needed to check a proof
    from keepsake.ledger.ledger import Ledger


def leaves(ledger: Ledger, size: int) -> list[bytes]:
    """The first `size` leaves of the tree. Raises Missing if their stretches were moved away."""
    return [merkle.leaf_hash(line.slice) for line in ledger.chain().lines(0, size)]


def inclusion(ledger: Ledger, seq: int, note: str, verifier: Verifier) -> str:
    """The proof that event `seq` is in the ledger that `note` signs, as text."""
    signed = _opened(note, verifier)
    if not 0 <= seq < signed.size:
        raise NotFound(f"the checkpoint has events 0 to {signed.size - 1}, not {seq}; sign a new one if it is newer")
    row = leaves(ledger, signed.size)
    _must_lead_to(row, signed)
    path = merkle.inclusion_proof(row, seq)
    return InclusionNote(seq, tuple(path), note, ledger.chain().line(seq).slice).text()


def consistency(ledger: Ledger, old_size: int, note: str, verifier: Verifier) -> str:
    """The proof that the ledger that `note` signs only added to its first `old_size` events, as text."""
    signed = _opened(note, verifier)
    if not 0 <= old_size <= signed.size:
        raise NotFound(f"the checkpoint holds {signed.size} events; it cannot be compared with one of {old_size}")
    row = leaves(ledger, signed.size)
    _must_lead_to(row, signed)
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


def _must_lead_to(row: list[bytes], signed: Checkpoint) -> None:
    tree = merkle.Range()
    tree.extend(row)
    if (tree.end, tree.root()) != (signed.size, signed.root):
        raise RolledBack("the ledger is not the one that the checkpoint signs; run `keepsake check`")


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


def _header(proof: InclusionNote) -> dict[str, Any]:
    """The fields of a proved header. Its bytes are what was hashed, so they are read by the one strict layout."""
    header = fmt.HEADER.fullmatch(proof.line + b',"hash":"' + b"0" * 64 + b'","data":')
    if header is None:
        raise _nothing("what it proves is not the header of an event")
    seq, ts, op, event_id, by, batch, left, digest, prev, _ = (group.decode() for group in header.groups())
    if int(seq) != proof.index:
        raise _nothing("the event's number is not its place in the tree")
    return {
        "seq": int(seq), "ts": ts, "op": op, "id": event_id, "by": by, "batch": int(batch), "left": int(left),
        "digest": digest, "prev": prev, "hash": sha256(proof.line).hexdigest(),
    }  # fmt: skip


def _as_dict(signed: Checkpoint) -> dict[str, Any]:
    return {"size": signed.size, "root": signed.root.hex(), "head": signed.head, "origin": signed.origin}


def _nothing(why: object) -> Refused:
    return Refused(f"this proves nothing: {why}")

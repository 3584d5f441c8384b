"""That one event is in the ledger, shown to someone who has only a signed checkpoint and the key to check it with.

Proofs come from the Merkle tree alone. What is proved is the line's header: its seq, time, kind, source and the digest of
its data. So an erased event can still be proved, and its words cannot be learned from the proof.
"""

from __future__ import annotations

from typing import Any

from keepsake.ledger import format as fmt
from keepsake.ledger import merkle
from keepsake.ledger.ledger import Ledger
from keepsake.ledger.note import InclusionNote, NoteError, Verifier, inclusion_note
from keepsake.records.errors import NotFound, Refused


def leaves(ledger: Ledger, size: int) -> list[bytes]:
    """The first `size` leaves of the tree. Raises Missing if their stretches were moved away."""
    return [merkle.leaf_hash(line.slice) for line in ledger.chain().lines(0, size)]


def inclusion(ledger: Ledger, seq: int, note: str, verifier: Verifier) -> str:
    """The proof that event `seq` is in the ledger that `note` signs, as text."""
    size = verifier.open(note).size
    if not 0 <= seq < size:
        raise NotFound(f"there is no event {seq}; the ledger has events 0 to {size - 1}")
    path = merkle.inclusion_proof(leaves(ledger, size), seq)
    return inclusion_note(seq, path, note, ledger.chain().line(seq).slice)


def consistency(ledger: Ledger, old_size: int) -> list[bytes]:
    """The proof that the ledger as it is now only added to what it was at `old_size` events."""
    size = ledger.end.seq + 1
    if not 0 <= old_size <= size:
        raise NotFound(f"the ledger has {size} events; it cannot be compared with {old_size}")
    return merkle.consistency_proof(leaves(ledger, size), old_size)


def check_inclusion(text: str, verifier: Verifier) -> dict[str, Any]:
    """What a proof proves: the event's header, and the checkpoint it is proved against. Raises Refused if nothing."""
    try:
        proof = InclusionNote.parse(text)
        checkpoint = proof.verify(verifier)
    except NoteError as error:
        raise Refused(f"this proves nothing: {error}") from None
    return {
        "event": _header(proof), "size": checkpoint.size, "root": checkpoint.root.hex(), "head": checkpoint.head,
        "origin": checkpoint.origin,
    }  # fmt: skip


def _header(proof: InclusionNote) -> dict[str, Any]:
    """The fields of a proved header. Its bytes are what was hashed, so they are read by the one strict layout."""
    header = fmt.HEADER.match(proof.line + b',"hash":"' + b"0" * 64 + b'","data":')
    if header is None:
        raise Refused("this proves nothing: what it proves is not the header of an event")
    seq, ts, op, event_id, by, batch, left, digest, prev, _ = (group.decode() for group in header.groups())
    if int(seq) != proof.index:
        raise Refused("this proves nothing: the event's number is not its place in the tree")
    return {
        "seq": int(seq), "ts": ts, "op": op, "id": event_id, "by": by, "batch": int(batch), "left": int(left),
        "digest": digest, "prev": prev,
    }  # fmt: skip

"""That one event stands in the ledger, as far as can be shown without signing anything.

What is proved of an event is its header: number, time, kind, source, the digest of its words, the hash of the line
before. So an erased event is proved like any other. Against the last checkpoint that has the event, the proof convinces
others too; before there is one, it leads to the root of the tree as it is here, which nobody has signed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.ledger.proof import Proof as Proof
from tallystick.records.clock import stamp
from tallystick.records.status import ChainFile, Kept

if TYPE_CHECKING:
    from tallystick.ledger.checkpoint import CheckpointWitness, Keyring
    from tallystick.ledger.ledger import Ledger
    from tallystick.ledger.proof import Tree


def files_of(ledger: Ledger) -> list[ChainFile]:
    """The files of the chain that are here, in order. What is being moved meanwhile has no size."""
    found, root = list[ChainFile](), ledger.folder.root
    for path, first, last in ledger.chain().segments:
        size = path.stat().st_size if path.exists() else 0
        found.append(ChainFile(str(path.relative_to(root)), first, last, size))
    return found


def kept_in(ledger: Ledger, keyring: Keyring) -> list[Kept]:
    """The checkpoints that are kept of a folder, the one that saw most first. One may be of another ledger: that is
    what is wrong with a folder that was replaced."""
    from tallystick.ledger.checkpoint import check

    found = [_kept(seen, ledger, keyring) for seen in check(ledger.folder.root, keyring)]
    return sorted(found, key=lambda each: each.size, reverse=True)


def _kept(seen: CheckpointWitness, ledger: Ledger, keyring: Keyring) -> Kept:
    said, here = seen.checkpoint, ledger.standing.ledger
    whose = said.origin.rpartition("/")[2] if said else here
    path = keyring.pin_path(whose) if seen.outside else ledger.folder.checkpoint
    kept = Kept(str(path), seen.name, seen.outside, written(path), ledger=whose, trouble=seen.trouble)
    if said is None:
        return kept
    return replace(kept, note=_read(path), size=said.size, head=said.head, root=said.root.hex())


def proof_of(ledger: Ledger, keyring: Keyring, tree: Tree, seq: int) -> Proof:
    """The proof of event `seq`, against the last checkpoint that has it, or the tree as it is. Nothing is written."""
    from tallystick.ledger.checkpoint import verifier_of
    from tallystick.ledger.proof import header_of, inclusion

    line, here = ledger.chain().line(seq).slice, ledger.standing.ledger
    header = header_of(line)
    for kept in kept_in(ledger, keyring):
        if kept.size > seq and kept.ledger == here:
            verifier = verifier_of(here, keyring)
            steps = tree.steps(seq, kept.size, bytes.fromhex(kept.root))
            text = inclusion(ledger, seq, kept.note, verifier, tree)
            return Proof(header, line.decode(), kept.size, kept.root, _hex(steps), text, verifier.key)
    size, root = ledger.end.seq + 1, ledger.tree().root()
    return Proof(header, line.decode(), size, root.hex(), _hex(tree.steps(seq, size, root)))


def _hex(nodes: list[bytes]) -> tuple[str, ...]:
    return tuple(node.hex() for node in nodes)


def _read(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text("utf-8")
    return ""


def written(path: Path) -> str:
    """When a file was last written; nothing, if it is not there."""
    with suppress(OSError):
        return stamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    return ""

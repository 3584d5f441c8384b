"""Signed statements about the ledger, and the copy of the last one that is kept outside the folder: the pin.

A chain cannot show that its end is gone, or that its holder wrote all of it anew. A checkpoint can: it names the ledger's
size, its head and the root of its Merkle tree, and is signed. The pin is worth something because whoever changes the folder
does not change it along; keys and pins therefore live in folders of their own, given by the caller.

A pin also lists the lines that were erased, so that restoring an older copy erases them again, and remembers at which
folder the ledger lived, so that another ledger put in its place is noticed.

A crash between writing the checkpoint and the pin leaves the older pin, which is still true.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from keepsake.ledger.begin import ledger_id
from keepsake.ledger.disk import Disk, ensure_folder, replace
from keepsake.ledger.folder import Folder
from keepsake.ledger.ledger import Ledger
from keepsake.ledger.lock import Witness
from keepsake.ledger.note import Checkpoint, NoteError, Signer, Verifier
from keepsake.ledger.seen import Seen
from keepsake.records.errors import Damaged, NotFound, RolledBack

PIN = "the pin outside the folder"
IN_FOLDER = "the checkpoint in the folder"


class Keyring:
    """Signing keys and pins, by ledger."""

    def __init__(self, *, keys: Path, pins: Path, disk: Disk | None = None) -> None:
        self._keys, self._pins, self._disk = keys, pins, disk or Disk()

    def signer(self, ledger: str) -> Signer:
        """The key of a ledger, made on first use."""
        path = self._keys / f"{ledger}.key"
        if not path.exists():
            ensure_folder(self._disk, self._keys)
            replace(self._disk, path, Signer.generate(origin(ledger)).seed.hex().encode() + b"\n")
        try:
            return Signer(origin(ledger), bytes.fromhex(path.read_text().strip()))
        except ValueError:
            raise Damaged(f"{path} is not a signing key; put the right one back, or remove it to make a new one") from None

    def verifier(self, ledger: str) -> Verifier | None:
        """What checks a ledger's signatures; None if it has no key here."""
        if not (self._keys / f"{ledger}.key").exists():
            return None
        return Verifier(self.signer(ledger).verifier_key)

    def pin_path(self, ledger: str) -> Path:
        return self._pins / f"{ledger}.note"

    def pin(self, ledger: str) -> Checkpoint | None:
        """The last checkpoint of a ledger, as kept outside its folder. Raises Damaged if it was tampered with."""
        verifier = self.verifier(ledger) if ledger else None
        try:
            text = self.pin_path(ledger).read_text("utf-8") if verifier else ""
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return _opened(verifier, text, str(self.pin_path(ledger))) if verifier else None

    def set_pin(self, ledger: str, note: str, root: Path) -> None:
        """Keep `note`, and where its ledger lives."""
        ensure_folder(self._disk, self._pins)
        replace(self._disk, self.pin_path(ledger), note.encode())
        replace(self._disk, self._place(root), f"{ledger}\n".encode())

    def ledger_at(self, root: Path) -> str:
        """The ledger that was last pinned at a folder; nothing if none was."""
        try:
            return self._place(root).read_text().strip()
        except FileNotFoundError:
            return ""

    def _place(self, root: Path) -> Path:
        name = sha256(os.fsencode(root.resolve())).hexdigest()[:32]
        return self._pins / f"{name}.place"

    def erased(self, ledger: str) -> set[str]:
        """The lines of a ledger that were erased, as far as the pin was told."""
        try:
            return set((self._pins / f"{ledger}.erased").read_text().split())
        except FileNotFoundError:
            return set()

    def add_erased(self, ledger: str, lines: Iterable[str]) -> None:
        known = self.erased(ledger)
        if fresh := set(lines) - known:
            content = "".join(f"{line}\n" for line in sorted(known | fresh))
            replace(self._disk, self._pins / f"{ledger}.erased", content.encode())


def origin(ledger: str) -> str:
    """The name under which a ledger signs."""
    return f"keepsake/{ledger}"


def _opened(verifier: Verifier, text: str, where: str) -> Checkpoint:
    try:
        checkpoint = verifier.open(text)
    except NoteError as error:
        raise Damaged(f"{where} cannot be trusted: {error}") from None
    if checkpoint.origin != verifier.name:
        raise Damaged(f"{where} speaks of another ledger ({checkpoint.origin})")
    return checkpoint


def take(ledger: Ledger, keyring: Keyring, *, anew: bool = False) -> str:
    """Sign the ledger as it is now; keep the note in the folder, and pin it. Returns the note.

    Refused if the ledger does not hold what was pinned before; only a restore begins `anew`.
    """
    with ledger.reading():
        name, chain = ledger.standing.ledger, ledger.chain()
        pinned = keyring.pin(name)
        if pinned and not anew and (ledger.trouble or chain.hash_at(pinned.size - 1) not in (None, pinned.head)):
            raise ledger.trouble or RolledBack(
                f"this is not the ledger that was pinned: event {pinned.size - 1} is another; run `keepsake check`"
            )
        if ledger.trouble:
            raise ledger.trouble
        head, root = ledger.end, ledger.tree().root()
    note = keyring.signer(name).sign(Checkpoint(origin(name), head.seq + 1, root, head.hash))
    if ledger.writable:
        replace(ledger.disk, ledger.folder.checkpoint, note.encode())
    keyring.set_pin(name, note, ledger.folder.root)
    return note


def witnesses(root: Path, ledger: str, keyring: Keyring) -> list[Witness]:
    """What is pinned for the ledger at `root`, and for the one that should be there if it is another."""
    names = dict.fromkeys(name for name in (ledger, keyring.ledger_at(root)) if name)
    pins = [(name, keyring.pin(name)) for name in names]
    return [witness_of(pin) for _, pin in pins if pin]


def witness_of(pin: Checkpoint) -> Witness:
    return Witness(pin.size - 1, pin.head, name=PIN)


def check(root: Path, keyring: Keyring) -> list[Seen]:
    """The checkpoints there are for a folder, each with its signature checked. Raises Damaged if one is forged."""
    folder = Folder(root)
    name = ledger_id(folder)
    seen = [Seen(pin, PIN, True) for each in dict.fromkeys([name, keyring.ledger_at(root)]) if (pin := keyring.pin(each))]
    verifier = keyring.verifier(name) if name else None
    if verifier and folder.checkpoint.exists():
        seen.append(Seen(_opened(verifier, _text(folder.checkpoint), str(folder.checkpoint)), IN_FOLDER, False))
    return seen


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise Damaged(f"{path} cannot be trusted: it is not text") from None


def verifier_of(ledger: str, keyring: Keyring) -> Verifier:
    """What checks a ledger's proofs. Raises NotFound if it never signed anything here."""
    verifier = keyring.verifier(ledger)
    if verifier is None:
        raise NotFound("this ledger has no key here; give the verifier key that came with the proof (--key)")
    return verifier

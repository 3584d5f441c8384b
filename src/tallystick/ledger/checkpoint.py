"""Signed statements about the ledger, and the copy of the last one that is kept outside the folder: the pin.

A chain cannot show that its end is gone, or that its holder wrote all of it anew. A checkpoint can: it names the
ledger's size, its head and the root of its Merkle tree, and is signed. The pin is worth something because whoever
changes the folder does not change it along; keys and pins therefore live in folders of their own, given by the caller.

A pin also lists the lines that were erased, so that restoring an older copy erases them again, and remembers at which
folder the ledger lived, so that another ledger put in its place is noticed.

A crash between writing the checkpoint and the pin leaves the older pin, which is still true.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.ledger.disk import Disk, ensure_folder, replace
from tallystick.ledger.genesis import ledger_id
from tallystick.ledger.kept_checkpoint import IN_FOLDER as IN_FOLDER, PIN as PIN, CheckpointWitness
from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import Lock, Witness
from tallystick.records.errors import Damaged, NotFound, Refused, RolledBack

if TYPE_CHECKING:  # heavy, and not needed where nothing was ever signed
    from tallystick.ledger.ledger import Ledger
    from tallystick.ledger.signed_note import Checkpoint, Signer, Verifier

_LEDGER = re.compile(r"[0-9a-f]{32}")


class Keyring:
    """Signing keys and pins, by ledger."""

    def __init__(self, *, keys: Path, pins: Path, disk: Disk | None = None) -> None:
        self._keys, self._pins, self._disk = keys, pins, disk or Disk()

    def signer(self, ledger: str) -> Signer:
        """The key of a ledger, made on first use."""
        from tallystick.ledger.signed_note import Signer

        path = self._key_path(ledger)
        if not path.exists():
            with self._alone(self._keys):
                if not path.exists():
                    replace(self._disk, path, Signer.generate(origin(ledger)).seed.hex().encode() + b"\n")
        try:
            return Signer(origin(ledger), bytes.fromhex(path.read_text().strip()))
        except ValueError:
            raise Damaged(f"{path} is not a signing key; put the right one back, or remove it for a new one") from None

    def verifier(self, ledger: str) -> Verifier | None:
        """What checks a ledger's signatures; None if it has no key here."""
        if not _LEDGER.fullmatch(ledger) or not self._key_path(ledger).exists():
            return None
        from tallystick.ledger.signed_note import Verifier

        return Verifier(self.signer(ledger).verifier_key)

    def _key_path(self, ledger: str) -> Path:
        return self._keys / f"{safe_name(ledger)}.key"

    def pin_path(self, ledger: str) -> Path:
        return self._pins / f"{safe_name(ledger)}.note"

    def pin(self, ledger: str) -> Checkpoint | None:
        """The last checkpoint of a ledger, as kept outside its folder. Raises Damaged if it was tampered with."""
        verifier = self.verifier(ledger)
        if verifier is None or not self.pin_path(ledger).exists():
            return None
        return _opened(verifier, self.pin_path(ledger))

    def set_pin(self, ledger: str, note: str, root: Path, *, repin: bool = False) -> None:
        """Keep `note`, and where its ledger lives. A pin that has seen more stays, unless this is begun `anew`."""
        from tallystick.ledger.signed_note import Checkpoint

        with self._alone(self._pins):
            size = Checkpoint.parse(note.rpartition("\n\n")[0] + "\n").size
            pinned = None if repin else self.pin(ledger)
            if pinned is None or pinned.size <= size:
                replace(self._disk, self.pin_path(ledger), note.encode())
            replace(self._disk, self._place(root), f"{ledger}\n".encode())
            replace(self._disk, self._pins / f"{ledger}.home", os.fsencode(root.resolve()))

    @contextmanager
    def _alone(self, folder: Path) -> Iterator[None]:
        """Nobody else changes anything in `folder` meanwhile. It is made if need be."""
        ensure_folder(self._disk, folder)
        lock = Lock(folder / "lock", self._disk, timeout=30.0)
        try:
            with lock.exclusive():
                yield
        finally:
            lock.close()

    def ledger_at(self, root: Path) -> str:
        """The ledger that was last pinned at a folder; nothing if none was."""
        try:
            return self._place(root).read_text().strip()
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def home(self, ledger: str) -> Path | None:
        """The folder at which a ledger was last pinned."""
        try:
            return Path(os.fsdecode((self._pins / f"{safe_name(ledger)}.home").read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _place(self, root: Path) -> Path:
        name = sha256(os.fsencode(root.resolve())).hexdigest()[:32]
        return self._pins / f"{name}.place"

    def erased(self, ledger: str) -> set[str]:
        """The lines of a ledger that were erased, as far as the pin was told."""
        try:
            return set((self._pins / f"{safe_name(ledger)}.erased").read_text().split())
        except (FileNotFoundError, NotADirectoryError):
            return set()

    def add_erased(self, ledger: str, lines: Iterable[str]) -> None:
        """Remember that these lines (by hash) are erased. Saying it twice is saying it once."""
        with self._alone(self._pins):
            known = self.erased(ledger)
            if fresh := set(lines) - known:
                content = "".join(f"{line}\n" for line in sorted(known | fresh))
                replace(self._disk, self._pins / f"{safe_name(ledger)}.erased", content.encode())


def origin(ledger: str) -> str:
    """The name under which a ledger signs."""
    return f"tallystick/{ledger}"


def safe_name(ledger: str) -> str:
    """The id of a ledger, fit to be the name of a file. It comes from a folder that anyone may have written."""
    if not _LEDGER.fullmatch(ledger):
        raise Refused(
            f"{ledger[:40]!r} is not the id of a ledger: the first line of events.wal does not name one", "name"
        )
    return ledger


def _opened(verifier: Verifier, path: Path) -> Checkpoint:
    from tallystick.ledger.signed_note import NoteError

    try:
        checkpoint = verifier.open(path.read_text("utf-8"))
    except (NoteError, UnicodeDecodeError) as error:
        why = error if isinstance(error, NoteError) else "it is not text"
        raise Damaged(f"{path} cannot be trusted: {why}") from None
    if checkpoint.origin != verifier.name:
        raise Damaged(f"{path} speaks of another ledger ({checkpoint.origin})")
    return checkpoint


def take(ledger: Ledger, keyring: Keyring, *, repin: bool = False) -> str:
    """Sign the ledger as it is now; keep the note in the folder, and pin it. Returns the note.

    Refused if the ledger does not hold what was pinned before; only a restore begins `anew`.
    """
    from tallystick.ledger.signed_note import Checkpoint

    with ledger.reading():
        name = ledger.standing.ledger
        if ledger.trouble:
            raise ledger.trouble
        if not repin:
            _refuse_another(ledger, keyring.pin(name))
        head, root = ledger.end, ledger.tree().root()
    note = keyring.signer(name).sign(Checkpoint(origin(name), head.seq + 1, root, head.hash))
    if ledger.writable:
        replace(ledger.disk, ledger.folder.checkpoint, note.encode())
    keyring.set_pin(name, note, ledger.folder.root, repin=repin)
    return note


def _refuse_another(ledger: Ledger, pinned: Checkpoint | None) -> None:
    """Refuse a ledger that lacks what was pinned, or has something else there. What was moved away cannot be asked."""
    if pinned is None:
        return
    last, lost = pinned.size - 1, "this is not the ledger that was pinned"
    if last > ledger.end.seq:
        raise RolledBack(
            f"{lost}: it ends at event {ledger.end.seq}, and {PIN} has seen {last}; "
            "run `tallystick check`"
        )
    if ledger.chain().hash_at(last) not in (None, pinned.head):
        raise RolledBack(f"{lost}: event {last} is another; run `tallystick check`")


def witnesses(root: Path, ledger: str, keyring: Keyring) -> list[Witness]:
    """What is pinned for the ledger at `root`, and for the one that should be there if it is another."""
    names = dict.fromkeys(name for name in (ledger, keyring.ledger_at(root)) if name)
    pins = [(name, keyring.pin(name)) for name in names]
    return [witness_of(pin) for _, pin in pins if pin]


def witness_of(pin: Checkpoint) -> Witness:
    return Witness(pin.size - 1, pin.head, name=PIN)


def check(root: Path, keyring: Keyring) -> list[CheckpointWitness]:
    """What was signed about a folder: the pins of the ledger that is here and of the one that should be, and the
    checkpoint in it. Each signature is checked; what cannot be trusted says why.
    """
    folder = Folder(root)
    here = ledger_id(folder)
    ledgers = [name for name in dict.fromkeys((here, keyring.ledger_at(root))) if _LEDGER.fullmatch(name)]
    kept = [(name, keyring.pin_path(name), PIN) for name in ledgers] + [(here, folder.checkpoint, IN_FOLDER)]
    return [seen for ledger, path, name in kept if (seen := _look_at(path, name, keyring.verifier(ledger)))]


def _look_at(path: Path, name: str, verifier: Verifier | None) -> CheckpointWitness | None:
    """None if there is nothing, or no key to check it with."""
    if verifier is None or not path.exists():
        return None
    try:
        return CheckpointWitness(_opened(verifier, path), name, name == PIN)
    except Damaged as error:
        return CheckpointWitness(None, name, name == PIN, str(error))


def verifier_of(ledger: str, keyring: Keyring) -> Verifier:
    """What checks a ledger's proofs. Raises NotFound if it never signed anything here."""
    verifier = keyring.verifier(ledger)
    if verifier is None:
        raise NotFound("this ledger has no key here; give the verifier key that came with the proof (--key)")
    return verifier

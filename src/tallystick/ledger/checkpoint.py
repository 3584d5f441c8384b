"""Checkpoints (signed statements about the ledger), and the pin: the copy of the last one, kept outside the folder.

A chain cannot show that its end is missing, or that its holder rewrote all of it. A checkpoint can: it names the
ledger's size, its head and the root of its Merkle tree, and is signed. The pin is worth something because whoever
changes the folder does not change the pin; keys and pins are therefore in folders of their own, given by the caller.

A pin also lists the lines that were erased, so that restoring an older copy erases them again, and the folder of the
ledger, so that another ledger put in its place is noticed.

A crash between writing the checkpoint and the pin leaves the older pin, which is still true.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tallystick.ledger.disk import Disk, ensure_folder, replace
from tallystick.ledger.lock import PIN, HeadPin, Lock, Witness, name_of
from tallystick.records.errors import Damaged, NotFound, Refused, RolledBack

if TYPE_CHECKING:  # heavy, and only needed once something was signed
    from tallystick.ledger.protocol import Ledger
    from tallystick.ledger.scan import Roots
    from tallystick.ledger.signed_note import Checkpoint, Signer, Verifier

IN_FOLDER, IN_DATABASE = BESIDE = "the checkpoint in the folder", "the checkpoint in the database"
_LEDGER = re.compile(r"[0-9a-f]{32}")


class Claim(NamedTuple):
    """A statement about the ledger, from a witness. A `doubt` is why it cannot be trusted."""

    witness: Witness
    root: bytes | None = None
    outside: bool = False  # whether it is kept outside the folder
    doubt: str = ""
    ledger: str = ""  # the id of the ledger that was signed
    path: Path | None = None  # of the file that has it
    note: str = ""  # its text, if it is not in a file


class Keyring:
    """Signing keys and pins, by ledger."""

    def __init__(self, *, keys: Path, pins: Path) -> None:
        self._keys, self._pins, self._disk = keys, pins, Disk()

    def signer(self, ledger: str) -> Signer:
        """The key of a ledger, generated on first use."""
        from tallystick.ledger.signed_note import Signer

        path = self._key_path(ledger)
        if not path.exists():
            with self._alone(self._keys):
                if not path.exists():
                    replace(self._disk, path, Signer.generate(origin(ledger)).seed.hex().encode() + b"\n")
        try:
            return Signer(origin(ledger), bytes.fromhex(path.read_text().strip()))
        except ValueError:
            raise Damaged(f"{path} is not a signing key; put the right one back, or remove it") from None

    def verifier(self, ledger: str) -> Verifier | None:
        """The verifier of a ledger's signatures; None if it has no key here."""
        if not is_ledger_id(ledger) or not self._key_path(ledger).exists():
            return None
        from tallystick.ledger.signed_note import Verifier

        return Verifier(self.signer(ledger).verifier_key)

    def _key_path(self, ledger: str) -> Path:
        return self._keys / f"{safe_name(ledger)}.key"

    def head(self, root: Path | str) -> HeadPin:
        """The pin of the last event of the ledger in that folder, or at that place in a database."""
        return HeadPin(self._pins, root)

    def pin_path(self, ledger: str) -> Path:
        return self._pins / f"{safe_name(ledger)}.note"

    def pin(self, ledger: str) -> Checkpoint | None:
        """The last checkpoint of a ledger, from outside its folder. Raises Damaged if it was tampered with."""
        verifier = self.verifier(ledger)
        if verifier is None or not self.pin_path(ledger).exists():
            return None
        return opened(verifier, self.pin_path(ledger))

    def set_pin(self, ledger: str, note: str, root: Path | str, *, repin: bool = False) -> None:
        """Keep `note`, and the folder of its ledger. A pin that has seen more stays, unless `repin`."""
        from tallystick.ledger.signed_note import Checkpoint

        with self._alone(self._pins):
            size = Checkpoint.parse(note.rpartition("\n\n")[0] + "\n").size
            pinned = None if repin else self.pin(ledger)
            if pinned is None or pinned.size <= size:
                replace(self._disk, self.pin_path(ledger), note.encode())
            replace(self._disk, self._place(root), f"{ledger}\n".encode())
            if isinstance(root, Path):
                replace(self._disk, self._pins / f"{ledger}.home", os.fsencode(root.resolve()))

    @contextmanager
    def _alone(self, folder: Path) -> Iterator[None]:
        """Lock `folder`, which is created if it does not exist."""
        ensure_folder(self._disk, folder)
        lock = Lock(folder / "lock", self._disk, timeout=30.0)
        try:
            with lock.exclusive():
                yield
        finally:
            lock.close()

    def ledger_at(self, root: Path | str) -> str:
        """The id of the ledger that was last pinned at a folder; empty if none was."""
        return _read(self._place(root)).decode().strip()

    def home(self, ledger: str) -> Path | None:
        """The folder at which a ledger was last pinned."""
        home = _read(self._pins / f"{safe_name(ledger)}.home")
        return Path(os.fsdecode(home)) if home else None

    def _place(self, root: Path | str) -> Path:
        name = sha256(name_of(root)).hexdigest()[:32]
        return self._pins / f"{name}.place"

    def erased(self, ledger: str) -> set[str]:
        """The erased lines of a ledger, as far as the pin knows."""
        return set(_read(self._pins / f"{safe_name(ledger)}.erased").decode().split())

    def add_erased(self, ledger: str, lines: Iterable[str]) -> None:
        """Keep the hashes of erased lines. Adding one twice is the same as adding it once."""
        with self._alone(self._pins):
            known = self.erased(ledger)
            if fresh := set(lines) - known:
                content = "".join(f"{line}\n" for line in sorted(known | fresh))
                replace(self._disk, self._pins / f"{safe_name(ledger)}.erased", content.encode())


def _read(path: Path) -> bytes:
    """The content of a file; empty if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def origin(ledger: str) -> str:
    """The name under which a ledger signs."""
    return f"tallystick/{ledger}"


def is_ledger_id(name: str) -> bool:
    return _LEDGER.fullmatch(name) is not None


def safe_name(ledger: str) -> str:
    """The id of a ledger, safe as a file name. It comes from a folder that anyone may have written."""
    if not is_ledger_id(ledger):
        raise Refused(f"{ledger[:40]!r} is not the id of a ledger; the first line of events.wal names none", "name")
    return ledger


def opened(verifier: Verifier, path: Path) -> Checkpoint:
    from tallystick.ledger.signed_note import NoteError

    try:
        return verifier.open(path.read_text("utf-8"))
    except (NoteError, UnicodeDecodeError) as error:
        why = error if isinstance(error, NoteError) else "it is not text"
        raise Damaged(f"{path} cannot be trusted: {why}") from None


def take(ledger: Ledger, root: Path | str, keyring: Keyring, *, repin: bool = False) -> str:
    """Sign the ledger at `root` as it is now; keep the note beside it, and pin it. Returns the note.

    Raises RolledBack if the ledger does not contain what was pinned before, unless `repin`.
    """
    from tallystick.ledger.signed_note import Checkpoint

    with ledger.reading():
        name = ledger.standing.ledger
        if ledger.trouble:
            raise ledger.trouble
        if not repin and (pinned := keyring.pin(name)):
            _refuse_another(ledger, pinned)
        head, top = ledger.head, ledger.tree().root()
    note = keyring.signer(name).sign(Checkpoint(origin(name), head.seq + 1, top, head.hash))
    ledger.keep_checkpoint(note)
    keyring.set_pin(name, note, root, repin=repin)
    if repin:
        pin = keyring.head(root)
        pin.write(name, head.seq, head.hash)
        pin.close()
    return note


def _refuse_another(ledger: Ledger, pinned: Checkpoint) -> None:
    """Raise RolledBack if the ledger lacks what was pinned, or has another event there. Events moved away pass."""
    last, lost = pinned.size - 1, "this is not the ledger that was pinned"
    if last > ledger.head.seq:
        why = f"it ends at event {ledger.head.seq}, but {PIN} has seen event {last}"
        raise RolledBack(f"{lost}: {why}; run `tallystick check`")
    if ledger.hash_at(last) not in (None, pinned.head):
        raise RolledBack(f"{lost}: event {last} is not the pinned one; run `tallystick check`")


def witnesses(root: Path | str, ledger: str, keyring: Keyring) -> list[Witness]:
    """The pins of the ledger at `root`, and of the one that should be there if it is another."""
    names = dict.fromkeys(name for name in (ledger, keyring.ledger_at(root)) if name)
    return [claim_of(pin, PIN).witness for pin in map(keyring.pin, names) if pin]


def claim_of(checkpoint: Checkpoint, name: str, path: Path | None = None, note: str = "") -> Claim:
    """The claim of a checkpoint, by the name of its place."""
    seen, ledger = Witness(checkpoint.size - 1, checkpoint.head, name=name), checkpoint.origin.rpartition("/")[2]
    return Claim(seen, checkpoint.root, name not in BESIDE, ledger=ledger, path=path, note=note)


def pinned(ledgers: Iterable[str], keyring: Keyring) -> Iterator[Claim]:
    """The pins of these ledgers, as far as they have one."""
    for ledger in dict.fromkeys(filter(is_ledger_id, ledgers)):
        yield from in_file(ledger, keyring.pin_path(ledger), PIN, keyring)


def in_file(ledger: str, path: Path, name: str, keyring: Keyring) -> Iterator[Claim]:
    """The checkpoint in a file, if there is one, and a key of that ledger."""
    verifier = keyring.verifier(ledger)
    if verifier is not None and path.exists():
        try:
            yield claim_of(opened(verifier, path), name, path)
        except Damaged as error:
            yield Claim(Witness(-1, "", name=name), None, name not in BESIDE, str(error), path=path)


def brought_claim(ledger: str, keyring: Keyring | None, note: str, key: str) -> Claim:
    """A checkpoint that somebody brought, checked by their key or by the one that is here."""
    from tallystick.ledger.signed_note import NoteError, Verifier

    try:
        verifier = Verifier(key) if key else verifier_of(ledger, keyring)
        return claim_of(verifier.open(note), "the checkpoint that was given")
    except NoteError as error:
        raise Refused(f"invalid checkpoint: {error}", "proof") from None


def disagreement(claim: Claim, last: int, hash_at: Callable[[int], str | None], roots: Roots) -> str:
    """The difference between what a witness claims and a ledger that ends at event `last`; empty if there is none."""
    witness = claim.witness
    if witness.seq > last:
        return f"rolled back: it ends at event {last}, but {witness.name} has seen event {witness.seq}"
    hashed = hash_at(witness.seq)
    if hashed is not None and hashed != witness.hash:
        return f"rolled back or rewritten: event {witness.seq} is not the one that {witness.name} has seen"
    known = roots.at(witness.seq + 1)
    is_other = claim.root and known and known != claim.root
    return f"its tree is not the one that {witness.name} has signed" if is_other else ""


def verifier_of(ledger: str, keyring: Keyring | None) -> Verifier:
    """The verifier of a ledger's proofs. Raises NotFound if it never signed anything here."""
    verifier = keyring.verifier(ledger) if keyring else None
    if verifier is None:
        raise NotFound("no key of this ledger here; give the verifier key that came with the proof (--key)")
    return verifier

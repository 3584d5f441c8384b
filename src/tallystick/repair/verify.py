"""Verifying a folder, which may be too damaged to open, by every witness that there is."""

from pathlib import Path

from tallystick.ledger.checkpoint import IN_FOLDER, Claim, Keyring, claim_of, is_ledger_id, opened, verifier_of
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.recover import ledger_id
from tallystick.ledger.folder.verify import verify
from tallystick.ledger.lock import PIN, Witness
from tallystick.records.errors import Damaged, Refused
from tallystick.records.progress import Progress
from tallystick.records.report import Report
from tallystick.repair.witness import seen_by_rows


def verify_folder(
    folder: Path, keyring: Keyring | None, *, processes: int = 1, on_progress: Progress | None = None,
    checkpoint: str = "", key: str = "",
) -> Report:  # fmt: skip
    """Check every line; against what was signed, if there is a keyring, and a `checkpoint` kept elsewhere too."""
    checkpoints = [_given(folder, keyring, checkpoint, key)] if checkpoint else []
    seen = seen_by_rows(folder)  # asked first, so that it cannot have read what is written while we read
    if keyring is not None:
        checkpoints = [*checkpoints_of(folder, keyring), *checkpoints]
    return verify(folder, processes=processes, witnesses=seen, checkpoints=checkpoints, on_progress=on_progress)


def _given(folder: Path, keyring: Keyring | None, note: str, key: str) -> Claim:
    """A checkpoint that somebody brought, checked by their key or by the one that is here."""
    from tallystick.ledger.signed_note import NoteError, Verifier

    try:
        verifier = Verifier(key) if key else verifier_of(ledger_id(Folder(folder)), keyring)
        return claim_of(verifier.open(note), "the checkpoint that was given")
    except NoteError as error:
        raise Refused(f"invalid checkpoint: {error}", "proof") from None


def checkpoints_of(root: Path, keyring: Keyring) -> list[Claim]:
    """The checkpoints of a folder, each with its signature checked: the pins of the ledger that is here and of the one
    that should be, and the checkpoint in it.
    """
    folder = Folder(root)
    here = ledger_id(folder)
    ledgers = [name for name in dict.fromkeys((here, keyring.ledger_at(root))) if is_ledger_id(name)]
    kept = [(name, keyring.pin_path(name), PIN) for name in ledgers] + [(here, folder.checkpoint, IN_FOLDER)]
    found = list[Claim]()
    for ledger, path, name in kept:
        verifier = keyring.verifier(ledger)
        if verifier is not None and path.exists():
            try:
                found.append(claim_of(opened(verifier, path), name, path))
            except Damaged as error:
                found.append(Claim(Witness(-1, "", name=name), None, name != IN_FOLDER, str(error), path=path))
    return found

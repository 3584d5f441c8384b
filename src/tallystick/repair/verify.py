"""Verifying a folder, which may be too damaged to open, by every witness that there is."""

from pathlib import Path

from tallystick.ledger.checkpoint import IN_FOLDER, Claim, Keyring, brought_claim, in_file, pinned
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.recover import MovedTo, ledger_id
from tallystick.ledger.folder.verify import verify
from tallystick.records.progress import Progress
from tallystick.records.report import Report
from tallystick.repair.witness import seen_by_rows


def verify_folder(
    folder: Path, keyring: Keyring | None, *, processes: int = 1, on_progress: Progress | None = None,
    checkpoint: str = "", key: str = "",
) -> Report:  # fmt: skip
    """Check every line; against what was signed, if there is a keyring, and a `checkpoint` kept elsewhere too."""
    checkpoints = [brought_claim(ledger_id(Folder(folder)), keyring, checkpoint, key)] if checkpoint else []
    seen = seen_by_rows(folder)  # asked first, so that it cannot have read what is written while we read
    if keyring is not None:
        checkpoints = [*checkpoints_of(folder, keyring), *checkpoints]
    return verify(folder, processes=processes, witnesses=seen, checkpoints=checkpoints, on_progress=on_progress)


def checkpoints_of(root: Path, keyring: Keyring) -> list[Claim]:
    """The checkpoints of a folder, each with its signature checked: the pins of the ledger that is here and of the one
    that should be, and the checkpoint in it.
    """
    folder = Folder(root)
    here, moved = ledger_id(folder), MovedTo.read(folder)
    found = [
        *pinned((here, keyring.ledger_at(root)), keyring), *in_file(here, folder.checkpoint, IN_FOLDER, keyring)
    ]  # fmt: skip
    return [each for each in found if moved is None or each.witness.seq <= moved.seq]  # later ones are of elsewhere

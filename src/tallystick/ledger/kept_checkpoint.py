"""A checkpoint that someone kept, and what came of checking its signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tallystick.ledger.signed_note import Checkpoint

PIN = "the pin outside the folder"
IN_FOLDER = "the checkpoint in the folder"


class CheckpointWitness(NamedTuple):
    """What was signed, who kept it, and whether that was outside the folder; or why it cannot be trusted."""

    checkpoint: Checkpoint | None
    name: str
    outside: bool
    trouble: str = ""

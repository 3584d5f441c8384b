"""A checkpoint that someone kept, with its signature checked."""

from __future__ import annotations

from dataclasses import dataclass

from keepsake.ledger.note import Checkpoint


@dataclass(frozen=True, slots=True)
class Seen:
    """What was signed, who kept it, and whether that was outside the folder."""

    checkpoint: Checkpoint
    name: str
    outside: bool

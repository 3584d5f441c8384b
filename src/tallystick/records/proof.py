"""The files of a ledger, and its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable


@dataclass(frozen=True, slots=True)
class ChainFile(Displayable):
    """A file of the chain: events `first` to `last`, or to the newest where it still grows (None)."""

    name: str  # within the memory's folder
    first: int
    last: int | None
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Kept(Displayable):
    """A checkpoint and its place. One that cannot be trusted says why in `trouble`, and has no size."""

    place: str  # the file
    name: str  # the witness
    outside: bool  # True: outside the memory's folder
    at: str  # when it was written there
    note: str = ""
    size: int = 0  # events that it covers
    ledger: str = ""  # the ledger's id
    head: str = ""
    root: str = ""
    trouble: str = ""

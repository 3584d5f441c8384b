"""What a verification of the ledger found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tallystick.records.display import Displayable


class Defect(NamedTuple):
    """The first thing that is wrong, and where. `seq` is -1 if it is not a line of the ledger."""

    file: str
    line: int
    byte: int
    seq: int
    why: str

    def __str__(self) -> str:
        where = f", line {self.line} (event {self.seq}, byte {self.byte})" if self.seq >= 0 else ""
        return f"{self.file}{where}: {self.why}"


@dataclass(frozen=True, slots=True)
class Report(Displayable):
    ok: bool
    events: int
    first: int
    last: int
    head: str
    root: str | None  # of the Merkle tree at the head, if a checkpoint or a seal made it worth computing
    witnesses: tuple[str, ...]
    outside: bool  # whether one of them is kept outside the folder
    bad: Defect | None
    notes: tuple[str, ...]

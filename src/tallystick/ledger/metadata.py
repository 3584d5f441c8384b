"""Metadata of a ledger, from its own events: its id, erasures, the places of copies, and which times are in doubt.

It is part of every snapshot, so that an erasure that a crash cut short is finished even if a snapshot came between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tallystick.ledger import format as fmt
from tallystick.records.event import Event
from tallystick.records.times import Times


@dataclass(slots=True)
class LedgerMetadata:
    """Metadata of a ledger. Applying the same events in the same order always gives the same metadata."""

    ledger: str = ""
    version: int = fmt.FORMAT
    begun: str = ""
    erasing: dict[int, list[str]] = field(default_factory=dict)  # seq of the erase event → line hashes
    erasures: int = 0
    copies: list[str] = field(default_factory=list)  # places outside the folder that hold copies
    abandoned: list[tuple[int, str]] = field(default_factory=list)  # heads that a restore or a repair left behind
    snapshot_seq: int = -1
    epoch: int = 0  # how often the ledger was compacted
    callers: int = 0  # events that callers wrote, in the live segment
    strange: str = ""  # an unknown kind of event: the ledger is read-only for this program
    times: Times = field(default_factory=Times)

    def apply(self, event: Event, ts: str) -> None:
        """Apply an event. `ts` is the time of its line, also if it was first recorded elsewhere."""
        self.times.take(event.seq, ts)
        if event.op not in fmt.HOUSEKEEPING:
            self.callers += 1
        elif event.body is not None:
            self._apply_own(event, event.body)

    def _apply_own(self, event: Event, body: dict[str, Any]) -> None:
        """Apply an event that the ledger wrote about itself."""
        match event.op:
            case fmt.BEGIN:
                self.ledger, self.version, self.begun = body["ledger"], body["format"], event.ts
                if self.version > fmt.FORMAT:
                    self.strange = f"ledger format {self.version}"
            case fmt.SEAL:
                self.callers, self.snapshot_seq, self.epoch = 0, event.seq, self.epoch + 1
            case fmt.SNAPSHOT:
                self.snapshot_seq = event.seq
            case fmt.ERASE:
                self.erasing[event.seq] = list(body["lines"])
                self.erasures += 1
            case fmt.ERASED:
                self.erasing.pop(body["of"], None)
            case fmt.COPY | fmt.PRUNE:
                if body["place"] not in self.copies:
                    self.copies.append(body["place"])
            case fmt.RESTORE:
                self._leave_behind(body)
            case fmt.REPAIR:
                self.ledger = self.ledger or str(body.get("ledger", ""))
                if "abandoned" in body:
                    self._leave_behind(body)
            case fmt.TIME:
                self.times.note(event.seq, event.ts, body)

    def _leave_behind(self, body: dict[str, Any]) -> None:
        self.abandoned += [(head["seq"], head["hash"]) for head in (body["abandoned"], *body.get("earlier", ()))]

    def dump(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger, "version": self.version, "begun": self.begun,
            "erasing": {str(seq): lines for seq, lines in self.erasing.items()}, "erasures": self.erasures,
            "copies": self.copies, "abandoned": self.abandoned, "epoch": self.epoch,
            "callers": self.callers, "strange": self.strange, "times": self.times.dump(),
        }  # fmt: skip

    @classmethod
    def load(cls, raw: dict[str, Any], snapshot_seq: int, ts: str) -> LedgerMetadata:
        """Load what `dump` wrote at an event of the time `ts`."""
        return cls(
            ledger=raw["ledger"], version=raw["version"], begun=raw["begun"],
            erasing={int(seq): list(lines) for seq, lines in raw["erasing"].items()}, erasures=raw["erasures"],
            copies=list(raw["copies"]), abandoned=[(seq, hashed) for seq, hashed in raw["abandoned"]],
            epoch=raw["epoch"], callers=raw["callers"], strange=raw["strange"], snapshot_seq=snapshot_seq,
            times=Times.load(raw.get("times", {}), ts),
        )  # fmt: skip

"""What the ledger knows of itself, folded from its own events: who it is, what was erased, where copies went, and
which of its times are doubted.

It is part of every snapshot, so that an erasure that a crash cut short is finished even if a snapshot came between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tallystick.ledger import format as fmt
from tallystick.records.event import TIME, Event
from tallystick.records.times import Times


@dataclass(slots=True)
class LedgerMetadata:
    """Applying the same events in the same order always gives the same standing."""

    ledger: str = ""
    version: int = fmt.FORMAT
    begun: str = ""
    erasing: dict[int, list[str]] = field(default_factory=dict)  # seq of the erase event → line hashes
    erasures: int = 0
    copies: list[str] = field(default_factory=list)  # places outside the folder that hold copies
    abandoned: list[tuple[int, str]] = field(default_factory=list)  # heads that a restore or a repair left behind
    snapshot_seq: int = -1
    epoch: int = 0  # how often the ledger was compacted
    callers: int = 0  # events that callers wrote, in the living stretch
    strange: str = ""  # an event this program does not know: it may read, and must not write
    times: Times = field(default_factory=Times)

    def apply(self, event: Event, ts: str) -> None:
        """Take in an event. `ts` is what its line is dated, also if it was recorded elsewhere before."""
        self.times.take(event.seq, ts)
        act = _ACTS.get(event.op)
        if act is None:
            self.callers += 1
        elif event.body is not None:
            act(self, event, event.body)

    def dump(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger, "version": self.version, "begun": self.begun,
            "erasing": {str(seq): lines for seq, lines in self.erasing.items()}, "erasures": self.erasures,
            "copies": self.copies, "abandoned": self.abandoned, "epoch": self.epoch,
            "callers": self.callers, "strange": self.strange, "times": self.times.dump(),
        }  # fmt: skip

    @classmethod
    def load(cls, raw: dict[str, Any], snapshot_seq: int, ts: str) -> LedgerMetadata:
        """What was dumped at an event that is dated `ts`."""
        return cls(
            ledger=raw["ledger"], version=raw["version"], begun=raw["begun"],
            erasing={int(seq): list(lines) for seq, lines in raw["erasing"].items()}, erasures=raw["erasures"],
            copies=list(raw["copies"]), abandoned=[(seq, hashed) for seq, hashed in raw["abandoned"]],
            epoch=raw["epoch"], callers=raw["callers"], strange=raw["strange"], snapshot_seq=snapshot_seq,
            times=Times.load(raw.get("times", {}), ts),
        )  # fmt: skip


def _begin(self: LedgerMetadata, event: Event, body: dict[str, Any]) -> None:
    self.ledger, self.version, self.begun = body["ledger"], body["format"], event.ts
    if self.version > fmt.FORMAT:
        self.strange = f"ledger format {self.version}"


def _seal(self: LedgerMetadata, event: Event, _: dict[str, Any]) -> None:
    self.callers, self.snapshot_seq, self.epoch = 0, event.seq, self.epoch + 1


def _snapshot(self: LedgerMetadata, event: Event, _: dict[str, Any]) -> None:
    self.snapshot_seq = event.seq


def _erase(self: LedgerMetadata, event: Event, body: dict[str, Any]) -> None:
    self.erasing[event.seq] = list(body["lines"])
    self.erasures += 1


def _erased(self: LedgerMetadata, _: Event, body: dict[str, Any]) -> None:
    self.erasing.pop(body["of"], None)


def _copy(self: LedgerMetadata, _: Event, body: dict[str, Any]) -> None:
    if body["place"] not in self.copies:
        self.copies.append(body["place"])


def _restore(self: LedgerMetadata, _: Event, body: dict[str, Any]) -> None:
    self.abandoned += [(left["seq"], left["hash"]) for left in (body["abandoned"], *body.get("earlier", ()))]


def _repair(self: LedgerMetadata, event: Event, body: dict[str, Any]) -> None:
    """A repair that gave events other places left a head behind, as a restore does. It knows who the ledger is."""
    self.ledger = self.ledger or str(body.get("ledger", ""))
    if "abandoned" in body:
        _restore(self, event, body)


def _time(self: LedgerMetadata, event: Event, body: dict[str, Any]) -> None:
    self.times.note(event.seq, event.ts, body)


def _nothing(_: LedgerMetadata, __: Event, ___: dict[str, Any]) -> None:
    """The event is for the reader of the log."""


_ACTS = {
    fmt.BEGIN: _begin, fmt.SEAL: _seal, fmt.SNAPSHOT: _snapshot, fmt.ERASE: _erase, fmt.ERASED: _erased,
    fmt.COPY: _copy, fmt.PRUNE: _copy, fmt.RESTORE: _restore, fmt.TORN: _nothing, fmt.REPAIR: _repair,
    TIME: _time,
}  # fmt: skip

"""ESDB's view of a belief: the record that `ChronoStore` takes and gives, and the shorter one of `EsdbBridge`.

They are ordinary dataclasses, because their users change one in place and put it back. The store gives out copies:
nothing changes until `upsert`. `id` is the belief's key. A status may be any string: one that a belief cannot have is
`unknown` there, and verbatim in this view.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from tallystick.records.belief import STATUSES, texts
from tallystick.records.errors import Refused

RAG_CONFIDENCE = 0.6  # H18: what may be injected into a prompt
UNKNOWN = "unknown"


@dataclass(slots=True)
class ChronoRecord:
    """Something believed, with the evidence for it."""

    id: str
    kind: str = "fact"
    status: str = "active"
    label: str = ""
    confidence: float = 0.7
    source_type: str = "observed"
    evidence: list[str] = field(default_factory=list)
    epistemic_boundary: list[str] = field(default_factory=list)
    is_hypothesis: bool = False
    model_assumptions: dict[str, Any] = field(default_factory=dict)
    recursion_depth: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    rests_on: list[str] = field(default_factory=list)  # keys of the records it depends on: beyond ESDB

    def to_dict(self) -> dict[str, Any]:
        """The record as ESDB writes it; `rests_on` only where it is not empty."""
        raw = dict(zip(ChronoRecord.__slots__, _values_of(self), strict=True))
        if not self.rests_on:
            del raw["rests_on"]
        return raw

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> ChronoRecord:
        """The record of such a dictionary. Unknown fields are ignored."""
        return cls(**{name: raw[name] for name in cls.__slots__ if name in raw})

    def passes_rag_filter(self) -> bool:
        """True if it may be injected into a prompt (H18): it is active, with a confidence of at least 0.6."""
        return self.status == "active" and self.confidence >= RAG_CONFIDENCE

    def to_fields(self) -> dict[str, Any]:
        """The fields of its belief."""
        given: object = self.status
        if not isinstance(given, str) or not given:
            raise Refused(f"status must be a string such as active, not {given!r:.60}")
        if not isinstance(self.epistemic_boundary, list | tuple):
            raise Refused(f"epistemic_boundary must be a list, not {type(self.epistemic_boundary).__name__}")
        status = belief_status(self.status)
        view = {
            "status": self.status if status != self.status else "", "epistemic_boundary": list(self.epistemic_boundary),
            "model_assumptions": self.model_assumptions, "recursion_depth": self.recursion_depth,
        }  # fmt: skip
        view = {name: value for name, value in view.items() if value}
        return {
            "key": self.id, "kind": self.kind, "status": status, "text": self.label,
            "confidence": self.confidence, "source_type": self.source_type,
            "evidence": texts(self.evidence, "evidence"), "is_hypothesis": bool(self.is_hypothesis),
            "rests_on": texts(self.rests_on, "rests_on"), "data": self.data, "views": {"record": view} if view else {},
        }  # fmt: skip

    @classmethod
    def of(cls, body: dict[str, Any], rests_on: list[str]) -> ChronoRecord:
        """The record of a belief's body as it was recorded, which nobody else holds; `rests_on` by key."""
        get = body.get
        view, status = get("views", {}).get("record", {}), get("status", "active")
        return cls(
            body["key"], get("kind", "fact"), view.get("status", status) if status == UNKNOWN else status,
            get("text", ""), body["confidence"], get("source_type", "observed"), get("evidence", []),
            view.get("epistemic_boundary", []), get("is_hypothesis", False), view.get("model_assumptions", {}),
            view.get("recursion_depth", 0), get("data", {}), rests_on,
        )  # fmt: skip


_values_of = attrgetter(*ChronoRecord.__slots__)


@dataclass(slots=True)
class EsdbRecord:
    """The record of `EsdbBridge`: with the fields of a requirement or a test case."""

    id: str
    kind: str = "fact"
    status: str = "active"
    confidence: float = 0.7
    label: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    source_ids: list[str] = field(default_factory=list)  # the record's evidence

    def to_dict(self) -> dict[str, Any]:
        """The JSON it came from, with what has changed since; without such JSON, its own fields."""
        if not self.data:
            return {
                "id": self.id, "kind": self.kind, "status": self.status, "confidence": self.confidence,
                "label": self.label,
            }  # fmt: skip
        raw = {**self.data, "id": self.id, "title": self.label}
        if "confidence" in raw:
            raw["confidence"] = self.confidence
        if self.status != "active" and self.status not in str(raw.get("status")).lower():
            raw["status"] = self.status
        return raw


@dataclass(frozen=True, slots=True)
class WalEvent:
    """One event of the log in ESDB's form. The hashes are those of the line in the ledger."""

    seq: int
    ts: str
    op: str  # upsert, delete or compact; the ledger's own events keep their names
    record_id: str = ""
    record: dict[str, Any] = field(default_factory=dict)  # after this event; empty if it is erased
    prev_hash: str = ""
    hash: str = ""  # empty inside a batch, until that is written
    recursion_depth: int = 0


def belief_status(status: str) -> str:
    return status if status in STATUSES else UNKNOWN

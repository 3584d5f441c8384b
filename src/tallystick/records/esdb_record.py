"""ESDB's view of a belief: the record that `ChronoStore` takes and gives, and the shorter one of `EsdbBridge`.

They are ordinary dataclasses, because their users change one in place and put it back. The store gives out copies:
nothing changes until `upsert`. `id` is the belief's key. A status may be any text: one that a belief cannot have is
`unknown` there, and stands word for word in this view.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from tallystick.records.belief import STATUSES, Belief, texts
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
    rests_on: list[str] = field(default_factory=list)  # keys of the records it stands on: beyond ESDB

    def to_dict(self) -> dict[str, Any]:
        """The record as ESDB writes it; `rests_on` only where it says something."""
        raw = {f.name: getattr(self, f.name) for f in fields(self)}
        if not self.rests_on:
            del raw["rests_on"]
        return raw

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> ChronoRecord:
        """The other way. A field that ESDB does not have is passed over."""
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in raw.items() if name in known})

    def passes_rag_filter(self) -> bool:
        """Whether it may be injected into a prompt (H18): it is active, with a confidence of at least 0.6."""
        return self.status == "active" and self.confidence >= RAG_CONFIDENCE

    def to_fields(self) -> dict[str, Any]:
        """The fields of the belief it stands for."""
        given: object = self.status
        if not isinstance(given, str) or not given:
            raise Refused(f"a record's status is a text such as active, not {given!r:.60}")
        status = belief_status(self.status)
        view = {
            name: value
            for name, value in (
                ("status", self.status if status != self.status else ""),
                ("epistemic_boundary", _list(self.epistemic_boundary, "epistemic_boundary")),
                ("model_assumptions", self.model_assumptions),
                ("recursion_depth", self.recursion_depth),
            )
            if value
        }
        return {
            "key": self.id, "kind": self.kind, "status": status, "text": self.label,
            "confidence": self.confidence, "source_type": self.source_type,
            "evidence": texts(self.evidence, "evidence"), "is_hypothesis": bool(self.is_hypothesis),
            "rests_on": texts(self.rests_on, "rests_on"), "data": self.data, "views": {"record": view} if view else {},
        }  # fmt: skip

    @classmethod
    def of(cls, belief: Belief, rests_on: list[str]) -> ChronoRecord:
        """The record of a belief; `rests_on` by the names its user knows."""
        view = belief.views.get("record", {})
        return cls(
            id=belief.key, kind=belief.kind, label=belief.text, confidence=belief.confidence,
            status=view.get("status", belief.status) if belief.status == UNKNOWN else belief.status,
            source_type=belief.source_type, evidence=list(belief.evidence),
            epistemic_boundary=list(view.get("epistemic_boundary", ())), is_hypothesis=belief.is_hypothesis,
            model_assumptions=dict(view.get("model_assumptions", {})), recursion_depth=view.get("recursion_depth", 0),
            data=belief.data, rests_on=rests_on,
        )  # fmt: skip


@dataclass(slots=True)
class EsdbRecord:
    """What `EsdbBridge` gives and takes: a record with the fields that a requirement or a test case has."""

    id: str
    kind: str = "fact"
    status: str = "active"
    confidence: float = 0.7
    label: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    source_ids: list[str] = field(default_factory=list)  # the record's evidence

    def to_dict(self) -> dict[str, Any]:
        """In the shape of the JSON it came from, with what has changed since; without such JSON, its own fields."""
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
    """One event of the log, as ESDB tells of it. The hashes are those of the line in the ledger."""

    seq: int
    ts: str
    op: str  # upsert, delete or compact; what the ledger did for itself has its own name
    record_id: str = ""
    record: dict[str, Any] = field(default_factory=dict)  # as it stood after this event; empty if its words are gone
    prev_hash: str = ""
    hash: str = ""  # empty inside a batch, until that is written
    recursion_depth: int = 0


def belief_status(status: str) -> str:
    """The status of the belief that a record with that status stands for."""
    return status if status in STATUSES else UNKNOWN


def _list(values: object, name: str) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise Refused(f"{name} is a list, not {type(values).__name__}")
    return list(values)

"""ESDB's view of a belief: the record that `ChronoStore` takes and gives.

It is an ordinary dataclass, because its users change one in place and put it back. The store gives out copies: nothing
changes until `upsert`. `id` is the belief's key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from keepsake.records.belief import Belief, texts
from keepsake.records.errors import Refused


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
        """The other way. A field that ESDB does not have is refused, so that none is lost unseen."""
        known = {f.name for f in fields(cls)}
        if strange := sorted(set(raw) - known):
            raise Refused(f"a record has no field {strange[0]!r}; its own data goes into `data`")
        return cls(**raw)

    def to_fields(self) -> dict[str, Any]:
        """The fields of the belief it stands for."""
        view = {
            name: value
            for name, value in (
                ("epistemic_boundary", _list(self.epistemic_boundary, "epistemic_boundary")),
                ("model_assumptions", self.model_assumptions),
                ("recursion_depth", self.recursion_depth),
            )
            if value
        }
        return {
            "key": self.id, "kind": self.kind, "status": self.status, "text": self.label,
            "confidence": self.confidence, "source_type": self.source_type,
            "evidence": texts(self.evidence, "evidence"), "is_hypothesis": bool(self.is_hypothesis),
            "rests_on": texts(self.rests_on, "rests_on"), "data": self.data, "views": {"record": view} if view else {},
        }  # fmt: skip

    @classmethod
    def of(cls, belief: Belief, rests_on: list[str]) -> ChronoRecord:
        """The record of a belief; `rests_on` by the names its user knows."""
        view = belief.views.get("record", {})
        return cls(
            id=belief.key, kind=belief.kind, status=belief.status, label=belief.text, confidence=belief.confidence,
            source_type=belief.source_type, evidence=list(belief.evidence),
            epistemic_boundary=list(view.get("epistemic_boundary", ())), is_hypothesis=belief.is_hypothesis,
            model_assumptions=dict(view.get("model_assumptions", {})), recursion_depth=view.get("recursion_depth", 0),
            data=belief.data, rests_on=rests_on,
        )  # fmt: skip


def _list(values: object, name: str) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise Refused(f"{name} is a list, not {type(values).__name__}")
    return list(values)

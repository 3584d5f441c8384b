"""A fact: a belief as consolidation sees it, with its triple, its episodes and its dates.

`payload` has `subject`, `predicate` and `object` where they are known. `lineage` has an entry for each promotion: the
rule, the episodes and the time. A fact that was replaced is closed, not removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tallystick.records.clock import stamp
from tallystick.records.display import Displayable, short
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_name, must_be_object, must_be_share, must_be_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Displayable):
    """One version of a fact. Construct it and it is valid."""

    id: str
    user: str
    agent: str = ""
    payload: dict[str, Any]
    lineage: list[dict[str, Any]]
    confidence: float
    pinned_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict)
    valid_from: str = ""  # since when it is true in the world
    valid_to: str = ""
    superseded_by: str = ""  # the fact that replaced it
    status: str = "active"
    version: str = ""  # id of the belief's version, in a memory
    trust: str = "human"  # the least of its sources' trusts
    withheld: str | None = field(default=None, compare=False, repr=False)  # why it is withheld; empty: it is not

    def __post_init__(self) -> None:
        must_be_name("id", self.id)
        must_be_name("user", self.user)
        must_be_text("agent", self.agent)
        must_be_object("payload", self.payload)
        must_be_object("metadata", self.metadata)
        if type(self.lineage) is not list:
            raise Refused(f"lineage must be a list, not {type(self.lineage).__name__}")
        must_be_share("confidence", self.confidence)
        stamp(self.pinned_at)

    @property
    def triple(self) -> tuple[str, str, str] | tuple[()]:
        """Subject, predicate and object, if the payload has all three as text."""
        subject, predicate, value = (self.payload.get(name) for name in ("subject", "predicate", "object"))
        if isinstance(subject, str) and isinstance(predicate, str) and isinstance(value, str):
            return subject, predicate, value
        return ()

    @property
    def episodes(self) -> list[str]:
        """The ids of the episodes that it comes from, oldest first, each once."""
        return list(dict.fromkeys(name for step in self.lineage for name in step.get("source_episode_ids", ())))

    def __repr__(self) -> str:
        text = short(" ".join(self.triple) or str(self.payload.get("text") or self.payload))
        return f"<Fact {self.id} {text!r} {self.status} {self.confidence:g}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPattern:
    """A search for facts. None is any."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    user: str | None = None
    agent: str | None = None

    def fits(self, payload: dict[str, Any]) -> bool:
        """True if the payload has exactly what the pattern names."""
        return all(
            wanted is None or payload.get(name) == wanted
            for name, wanted in (("subject", self.subject), ("predicate", self.predicate), ("object", self.object))
        )

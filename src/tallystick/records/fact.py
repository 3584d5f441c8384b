"""A fact: a belief as consolidation sees it. Who, what and whom, from which episodes, and since when.

`payload` holds `subject`, `predicate` and `object` where they are known. `lineage` says which rule, which episodes and
when, an entry for each promotion. A fact that was replaced is closed, not removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tallystick.records.clock import stamp
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused


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
    superseded_by: str = ""  # the fact that took its place
    status: str = "active"
    version: str = ""  # of the belief that it is, in a memory
    trust: str = "human"  # how far the least trusted of its tellers is
    withheld: str | None = field(default=None, compare=False, repr=False)  # why its words are; empty: they are not

    def __post_init__(self) -> None:
        for name in ("id", "user"):
            if not _text(self, name):
                raise Refused(f"a fact needs its {name}: an empty one names nobody", "name")
        _text(self, "agent")
        for name, kind in (("payload", dict), ("lineage", list), ("metadata", dict)):
            if type(getattr(self, name)) is not kind:
                raise Refused(f"a fact's {name} is a {kind.__name__}, not {type(getattr(self, name)).__name__}")
        if isinstance(self.confidence, bool) or not 0 <= self.confidence <= 1:
            raise Refused(f"confidence is a number from 0 to 1, not {self.confidence!r}")
        stamp(self.pinned_at)

    @property
    def triple(self) -> tuple[str, str, str] | tuple[()]:
        """Subject, predicate and object, if the payload has all three as text."""
        said = tuple(self.payload.get(name) for name in ("subject", "predicate", "object"))
        subject, predicate, value = said
        if isinstance(subject, str) and isinstance(predicate, str) and isinstance(value, str):
            return subject, predicate, value
        return ()

    @property
    def episodes(self) -> list[str]:
        """The ids of the episodes that it comes from, oldest first, each once."""
        return list(dict.fromkeys(name for step in self.lineage for name in step.get("source_episode_ids", ())))

    def __repr__(self) -> str:
        said = " ".join(self.triple) or str(self.payload.get("text") or self.payload)
        said = said if len(said) <= 60 else said[:57] + "…"
        return f"<Fact {self.id} {said!r} {self.status} {self.confidence:g}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPattern:
    """What to look for. None is any."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    user: str | None = None
    agent: str | None = None

    def fits(self, payload: dict[str, Any]) -> bool:
        """Whether the payload has what the pattern names, exactly."""
        return all(
            wanted is None or payload.get(name) == wanted
            for name, wanted in (("subject", self.subject), ("predicate", self.predicate), ("object", self.object))
        )


def _text(fact: Fact, name: str) -> str:
    value = getattr(fact, name)
    if type(value) is not str:
        raise Refused(f"a fact's {name} is text, not {type(value).__name__}")
    return value

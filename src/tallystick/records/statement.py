"""`Statement`: what a caller of `remember` states, before it is a belief."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

USUAL_CONFIDENCE = 0.7  # of a statement that gives none


@dataclass(frozen=True, slots=True)
class Statement:
    """The fields of a belief that is about to be recorded. Without a `key` it is a new belief, or a correction."""

    text: str
    user: str
    key: str = ""
    about: str = ""
    kind: str = "fact"
    confidence: float = USUAL_CONFIDENCE
    source_type: str = "observed"
    evidence: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    is_hypothesis: bool = False
    rests_on: tuple[str, ...] = ()
    triple: tuple[str, ...] = ()
    valid_from: str = ""
    valid_to: str = ""
    expires: str = ""
    always: bool = False
    data: dict[str, Any] = field(default_factory=dict)
    trust: str | None = None  # the caller's own, unless a lower one is named
    session: str = ""
    agent: str = ""
    path: str = ""
    reason: str = ""
    keep_secrets: bool = False

    def fields(self) -> dict[str, Any]:
        """As the decision takes them: an empty key or reason is left out."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if value or name not in ("key", "reason")}

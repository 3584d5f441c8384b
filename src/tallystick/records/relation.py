"""Relations between two memories, as they were stated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallystick.records.belief import Belief
from tallystick.records.display import Displayable
from tallystick.records.episode import Episode


@dataclass(frozen=True, slots=True)
class Related:
    """One relation, and the event that recorded it."""

    user: str
    path: str
    ids: tuple[str, str]
    relation: str
    trust: str
    by: str
    seq: int
    at: str
    event: str

    def body(self) -> dict[str, Any]:
        """The body of its event."""
        body = {"user": self.user, "ids": list(self.ids), "relation": self.relation}
        return body | ({"path": self.path} if self.path else {})


@dataclass(frozen=True, slots=True)
class Neighbour(Displayable):
    """A memory that another is related to: that one, `relation`, this; the other way round, if it is `turned`."""

    memory: Belief | Episode
    relation: str
    turned: bool

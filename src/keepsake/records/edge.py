"""An edge: that two blocks belong together. It has no direction, so it is written in one order only."""

from __future__ import annotations

from dataclasses import dataclass

from keepsake.records.errors import Refused


@dataclass(frozen=True, slots=True)
class Edge:
    """Two blocks, the smaller id first: A–B and B–A are the same edge, and cannot both exist."""

    from_id: str
    to_id: str

    def __post_init__(self) -> None:
        if self.from_id == self.to_id:
            raise Refused(f"an edge joins two blocks, and {self.from_id!r} is one")
        if self.from_id > self.to_id:
            raise Refused(
                f"an edge is written with the smaller id first: {self.to_id!r}, {self.from_id!r}; see Edge.canonical"
            )

    @classmethod
    def canonical(cls, a: str, b: str) -> Edge:
        """The edge between two blocks, whichever is named first."""
        return cls(min(a, b), max(a, b))

    @property
    def pair(self) -> tuple[str, str]:
        """Both ids, as the index's functions take them."""
        return self.from_id, self.to_id

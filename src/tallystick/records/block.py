"""Blocks of the index: their status, why they were archived, how fast they fade; and edges between two of them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tallystick.records.errors import Refused


class BlockStatus(StrEnum):
    """The status of a block: inbox → active → archived."""

    INBOX = "inbox"
    ACTIVE = "active"
    ARCHIVED = "archived"


class ArchiveReason(StrEnum):
    """The reason why a block was archived."""

    DECAYED = "decayed"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class DecayTier(StrEnum):
    """The speed at which a block fades, the slowest first."""

    PERMANENT = "permanent"
    DURABLE = "durable"
    STANDARD = "standard"
    EPHEMERAL = "ephemeral"


class _Pair(NamedTuple):
    from_id: str
    to_id: str


class Edge(_Pair):
    """Two blocks, the smaller id first: A–B and B–A are the same edge, and cannot both exist."""

    __slots__ = ()

    def __new__(cls, from_id: str, to_id: str) -> Edge:
        if from_id == to_id:
            raise Refused(f"an edge needs two blocks, not {from_id!r} twice", "self")
        if from_id > to_id:
            raise Refused(f"an edge needs the smaller id first: {to_id!r}, {from_id!r}; use Edge.canonical")
        return super().__new__(cls, from_id, to_id)

    @classmethod
    def canonical(cls, id_a: str, id_b: str) -> Edge:
        """The edge between two blocks, in either order."""
        return cls(min(id_a, id_b), max(id_a, id_b))

"""The words for how a block of the index stands: its status, why it was archived, how fast it fades."""

from __future__ import annotations

from enum import StrEnum


class BlockStatus(StrEnum):
    """Where a block is in its life: inbox → active → archived."""

    INBOX = "inbox"
    ACTIVE = "active"
    ARCHIVED = "archived"


class ArchiveReason(StrEnum):
    """Why a block was archived."""

    DECAYED = "decayed"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class DecayTier(StrEnum):
    """How fast a block fades, the slowest first."""

    PERMANENT = "permanent"
    DURABLE = "durable"
    STANDARD = "standard"
    EPHEMERAL = "ephemeral"

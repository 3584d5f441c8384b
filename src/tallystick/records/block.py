"""States of a block of the index: its status, why it was archived, how fast it fades."""

from __future__ import annotations

from enum import StrEnum


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

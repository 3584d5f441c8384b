"""Who wants to know that the memory changed, and being told: one look at the ledger for all of them.

A glance at the ledger's file tells whether there is anything to look at, whoever wrote it. Receipts and snapshots change
nothing that is remembered, and wake nobody.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol


class Feed(Protocol):
    """What API and page need of it."""

    def changes(self) -> AsyncIterator[int]:
        """The number of the newest event: at once, and again whenever something changed. Ends with the server."""

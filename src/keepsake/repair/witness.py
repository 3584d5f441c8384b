"""The index as a witness: it cannot have seen an event that the ledger never had."""

from __future__ import annotations

from pathlib import Path

from keepsake.ledger.folder import Folder
from keepsake.ledger.lock import Witness


def seen_by_the_index(folder: Path) -> list[Witness]:
    """How far the index of a folder had read; nothing if there is none, or it cannot be read."""
    path = Folder(folder).index
    if not path.exists():
        return []
    from keepsake.projections.index.peek import peek  # sqlite3: not for whoever has no index

    seen = peek(path)
    return [Witness(seen[0], seen[1], name="the index")] if seen else []

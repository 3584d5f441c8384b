"""`elfmem.db.models`: the tables of the index."""

from tallystick.stores.elfmem.models import (
    block_tags,
    blocks,
    contradictions,
    edges,
    frames,
    metadata,
    sessions,
    system_config,
)

__all__ = ["block_tags", "blocks", "contradictions", "edges", "frames", "metadata", "sessions", "system_config"]

"""elfmem's storage layer, under elfmem's own module names: `tallystick.stores.elfmem.db.queries` is its
`elfmem.db.queries`. All its public names can also be imported from here.
"""

from tallystick.stores.elfmem import queries as _queries
from tallystick.stores.elfmem.db.engine import create_engine, create_test_engine
from tallystick.stores.elfmem.db.models import (
    block_tags,
    blocks,
    contradictions,
    edges,
    frames,
    metadata,
    sessions,
    system_config,
)
from tallystick.stores.elfmem.queries import *  # noqa: F403
from tallystick.stores.elfmem.scoring import log_normalise_reinforcement
from tallystick.stores.elfmem.types import ArchiveReason, BlockStatus, DecayTier, Edge

__all__ = [
    "ArchiveReason",
    "BlockStatus",
    "DecayTier",
    "Edge",
    "block_tags",
    "blocks",
    "contradictions",
    "create_engine",
    "create_test_engine",
    "edges",
    "frames",
    "log_normalise_reinforcement",
    "metadata",
    "sessions",
    "system_config",
]
__all__ += _queries.__all__

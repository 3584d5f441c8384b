"""elfmem's storage layer, under elfmem's own module names: `tallystick.stores.elfmem.db.queries` is its
`elfmem.db.queries`. All its public names can also be imported from here.
"""

from tallystick.stores.elfmem import models as _models, queries as _queries
from tallystick.stores.elfmem.engine import create_engine, create_test_engine
from tallystick.stores.elfmem.models import *  # noqa: F403
from tallystick.stores.elfmem.queries import *  # noqa: F403
from tallystick.stores.elfmem.scoring import log_normalise_reinforcement
from tallystick.stores.elfmem.types import ArchiveReason, BlockStatus, DecayTier, Edge

__all__ = [
    "ArchiveReason", "BlockStatus", "DecayTier", "Edge", "create_engine", "create_test_engine",
    "log_normalise_reinforcement",
]  # fmt: skip
__all__ += _models.__all__
__all__ += _queries.__all__

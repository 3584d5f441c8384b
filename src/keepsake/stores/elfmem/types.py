"""`elfmem.types`: the words for how a block stands."""

from keepsake.records.block import ArchiveReason, BlockStatus, DecayTier

__all__ = ["ArchiveReason", "BlockStatus", "DecayTier"]

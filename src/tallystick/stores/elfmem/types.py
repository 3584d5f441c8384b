"""`elfmem.types`: the states of a block, and the order in which an edge names its two blocks."""

from tallystick.records.block import ArchiveReason, BlockStatus, DecayTier, Edge

__all__ = ["ArchiveReason", "BlockStatus", "DecayTier", "Edge"]

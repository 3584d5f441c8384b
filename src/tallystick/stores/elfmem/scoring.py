"""`elfmem.scoring`: how often a block was used, as a number from 0 to 1."""

from tallystick.recall.decay import share as log_normalise_reinforcement

__all__ = ["log_normalise_reinforcement"]

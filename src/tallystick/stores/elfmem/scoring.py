"""`elfmem.scoring`: the use of a block as a number from 0 to 1."""

from tallystick.recall.decay import share as log_normalise_reinforcement

__all__ = ["log_normalise_reinforcement"]

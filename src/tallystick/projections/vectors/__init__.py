"""Vectors of the blocks in the index: derived, kept next to it, and made again whenever they are missing."""

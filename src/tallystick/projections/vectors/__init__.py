"""Vectors of what the index holds: derived, kept beside it, and made again whenever they are missing."""

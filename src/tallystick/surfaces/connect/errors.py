"""What is said of a file that nobody here dares to change."""

from __future__ import annotations


class Unclear(Exception):
    """A text that cannot be read, or not be changed without touching more. Nothing was changed; a person has to."""

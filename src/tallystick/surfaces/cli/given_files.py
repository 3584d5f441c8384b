"""Files that a command is given, and what came in with them, counted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

STANDARD_INPUT = "-"


def read_given(name: str) -> tuple[str, bytes]:
    """A file that was given, under the name by which it is told of; `-` is standard input."""
    if name == STANDARD_INPUT:
        return "standard input", sys.stdin.buffer.read()
    return name, Path(name).read_bytes()


def summed(counts: Mapping[str, int]) -> str:
    """`1 profile, 3 nodes and 2 edges`; what there is none of is left out."""
    said = [f"{number:,} {part if number != 1 else part[:-1]}" for part, number in counts.items() if number]
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1]))) if said else "nothing"

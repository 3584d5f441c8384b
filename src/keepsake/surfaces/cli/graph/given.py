"""What the commands of `keepsake graph` share: how they are made, the files they are given, and how they count."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from keepsake.records.envelope import GraphEnvelope
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import GRAPH

STANDARD_INPUT = "-"

_PARTS = ("nodes", "edges", "paths", "events")


def graph_command(name: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function that command of `keepsake graph`."""
    [entry] = [entry for entry in GRAPH if entry.name == name]
    return command(entry, **more)


def read_given(name: str) -> bytes:
    """A file that was given; `-` is standard input."""
    return sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()


def counts(envelope: GraphEnvelope) -> dict[str, int]:
    """How many records of each part an envelope has."""
    profiles = len(envelope.profiles) + (envelope.profile is not None)
    return {"profiles": profiles, **{part: len(envelope.records(part)) for part in _PARTS}}


def summed(numbers: Mapping[str, int]) -> str:
    """`1 profile, 3 nodes and 2 edges`; what there is none of is left out."""
    said = [f"{number:,} {part if number != 1 else part[:-1]}" for part, number in numbers.items() if number]
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1]))) if said else "nothing"

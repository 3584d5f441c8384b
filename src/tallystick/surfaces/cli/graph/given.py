"""What the commands of `tallystick graph` share: how they are made, and how they count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import GRAPH

_PARTS = ("nodes", "edges", "paths", "events")


def graph_command(name: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function that command of `tallystick graph`."""
    [entry] = [entry for entry in GRAPH if entry.name == name]
    return command(entry, **more)


def counts(envelope: GraphEnvelope) -> dict[str, int]:
    """How many records of each part an envelope has."""
    profiles = len(envelope.profiles) + (envelope.profile is not None)
    return {"profiles": profiles, **{part: len(envelope.records(part)) for part in _PARTS}}

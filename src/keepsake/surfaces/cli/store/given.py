"""What the commands of `keepsake store` share: the folder they are about, and the files they are given."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import STORE

STANDARD_INPUT = "-"

folder = click.argument("folder", type=click.Path(), metavar="DIR")


def store_command(name: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function that command of `keepsake store`. It is about DIR, so `--folder` is left out."""
    [entry] = [entry for entry in STORE if entry.name == name]
    exits = {4: "damaged or not whole: run `keepsake store diagnose`", **more.pop("exits", {})}
    return command(entry, without=("folder",), exits=exits, **more)


def read_given(name: str) -> tuple[str, bytes]:
    """A file that was given, under the name by which it is told of; `-` is standard input."""
    if name == STANDARD_INPUT:
        return "standard input", sys.stdin.buffer.read()
    return name, Path(name).read_bytes()


def summed(counts: dict[str, int]) -> str:
    """`1 profile, 3 nodes and 2 edges`; what there is none of is left out."""
    said = [f"{number:,} {part if number != 1 else part[:-1]}" for part, number in counts.items() if number]
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1]))) if said else "nothing"

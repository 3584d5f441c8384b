"""What the commands of `tallystick store` share: the folder they are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tallystick.stores.phase.runtime import PhaseMemoryRuntime
from tallystick.surfaces.cli.call import Call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import STORE
from tallystick.surfaces.present.text import shown

folder = click.argument("folder", type=click.Path(), metavar="DIR")


def note_rebuilt(call: Call, runtime: PhaseMemoryRuntime) -> dict[str, Any]:
    """Say which files could not be read and were written again from the log; the same, for --json."""
    for said in runtime.rebuilt:
        call.note(f"tallystick: {shown(said)}")
    return {"rebuilt": runtime.rebuilt} if runtime.rebuilt else {}


def store_command(name: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function that command of `tallystick store`. It is about DIR, so `--folder` is left out."""
    [entry] = [entry for entry in STORE if entry.name == name]
    exits = {4: "damaged or not whole: run `tallystick store diagnose`", **more.pop("exits", {})}
    return command(entry, without=("folder",), exits=exits, **more)

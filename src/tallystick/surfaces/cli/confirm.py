"""Asking a person before something goes, and then doing what they agreed to, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import click

from tallystick.records.errors import Moved, Refused
from tallystick.surfaces.cli.call import Call, on_a_terminal
from tallystick.surfaces.present.text import shown

Picked = TypeVar("Picked")
Done = TypeVar("Done")


def ask(call: Call, lines: Callable[[], Iterable[str]], question: str, *, alone: str) -> None:
    """Show what would be done, and go on with a yes. Refused with a no, and, as `alone` says, where nobody is."""
    if call.json or not on_a_terminal():
        raise Refused(alone, "unconfirmed")
    click.echo("\n".join(lines()))
    if not click.confirm(f"\n{question}"):
        raise Refused("nothing was changed", "unconfirmed")


def one_by_one(call: Call, picked: Sequence[Picked], act: Callable[[Picked], Done]) -> list[Done]:
    """What came of each. One that cannot be done is told of and does not stop the others; a single one is an error."""
    done: list[Done] = []
    for each in picked:
        try:
            done.append(act(each))
        except (Moved, Refused) as error:
            if len(picked) == 1:
                raise
            call.note(f"tallystick: {shown(str(error))}")
    return done

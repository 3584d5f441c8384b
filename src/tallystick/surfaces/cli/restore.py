"""`tallystick restore`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tallystick.surfaces.cli.call import BY, Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import CARE
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.copies import copies_in
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count


def _complete(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    try:
        names = [path.name for path in copies_in(ctx.ensure_object(Call).locate())]
    except Exception:  # a completion that fails is no completion
        return []
    return [CompletionItem(name) for name in names if name.startswith(begun)]


@command(
    CARE[3],
    example="""
tallystick restore
tallystick -C elsewhere restore copies/20260503T140000""",
)
@click.argument("copy", required=False, shell_complete=_complete)
@pass_call
def restore(call: Call, copy: str | None) -> None:
    """Go back to a copy; what is left behind is kept

    COPY is a folder that `tallystick backup` made, or its name under `backup/`; without it, prints the copies there
    are. The copy is checked first. The ledger records what it was put in place of, and that stays under `backup/` too.
    What was erased since the copy was made is erased from it.
    """
    if copy is None:
        _list(call)
        return
    from tallystick.memory.memory import Memory

    before = set(copies_in(call.locate()))
    with waiting("Checking the copy, then going back to it …"), Memory.restore(copy, call.locate(), by=BY) as memory:
        status, left = memory.status(), sorted(set(copies_in(memory.folder)) - before)
    answer = {"folder": status.folder, "events": status.events, "left_behind": [str(path) for path in left]}
    call.answer(answer, lambda: _done(copy, status.beliefs, left))


def _list(call: Call) -> None:
    folder = call.there()
    copies = copies_in(folder)
    call.answer({"copies": [str(path) for path in copies]}, lambda: _listed(folder, copies))


def _listed(folder: Path, copies: list[Path]) -> Iterator[str]:
    if not copies:
        yield dim(f"no copies under {shown(str(folder / 'backup'))}; `tallystick backup` makes one")
    yield from (shown(path.name) for path in copies)


def _done(copy: str, beliefs: int, left: list[Path]) -> Iterator[str]:
    yield f"{dim('Went back to')} {bold(shown(copy))}{dim(': ' + count(beliefs, 'belief') + ' held')}"
    yield from (dim(f"what stood there before is kept in {shown(str(path))}") for path in left)

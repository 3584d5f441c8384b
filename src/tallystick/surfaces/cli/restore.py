"""`tallystick restore`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from tallystick.surfaces.cli.command import BY, Call, command
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.names import copies_in
from tallystick.surfaces.present.terminal import dim, outcome
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count


def _complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        names = [path.name for path in copies_in(ctx.ensure_object(Call).locate())]
    except Exception:  # the command itself will say what is wrong
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@command(
    "restore",
    example="""
tallystick restore
tallystick -C elsewhere restore copies/20260503T140000""",
)
@click.argument("copy", required=False, shell_complete=_complete)
def restore(call: Call, copy: str | None) -> None:
    """Go back to a backup; what it replaces is kept

    COPY is a folder that `tallystick backup` made, or its name under `backup/`; without it, prints the backups. The
    backup is checked first. The ledger records what it replaces, which stays under `backup/` too. What was erased since
    the backup was made is erased from it.
    """
    if copy is None:
        folder = call.existing()
        copies = copies_in(folder)
        nothing = dim(f"no backups under {shown(str(folder / 'backup'))}; run `tallystick backup` to make one")
        call.answer(
            {"copies": [str(path) for path in copies]},
            lambda: [shown(path.name) for path in copies] or [nothing],
        )
        return
    from tallystick.memory.memory import Memory

    before = set(copies_in(call.locate()))
    with waiting("Checking the backup, then going back to it …"), Memory.restore(copy, call.locate(), by=BY) as memory:
        status, left = memory.status(), sorted(set(copies_in(memory.folder)) - before)
    answer = {"folder": status.folder, "events": status.events, "left_behind": [str(path) for path in left]}
    done = f"{outcome('Restored', copy)}{dim(': ' + count(status.beliefs, 'belief'))}"
    call.answer(answer, lambda: [done, *(dim(f"the state before is kept in {shown(str(path))}") for path in left)])

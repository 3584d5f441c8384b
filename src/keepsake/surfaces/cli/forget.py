"""`keepsake forget`."""

from __future__ import annotations

import click

from keepsake.surfaces.cli.belief_options import speaker, whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import DAILY
from keepsake.surfaces.cli.names import complete
from keepsake.surfaces.cli.said import said


@command(DAILY[4], example='keepsake forget ana-tea --reason "she moved away"')
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@click.option("--reason", metavar="TEXT", default="", help="Why it is no longer wanted.")
@speaker
@whose
@pass_call
def forget(call: Call, names: tuple[str, ...], reason: str, trust: str | None, user: str | None) -> None:
    """Put beliefs out of sight; they stay in history

    Prints each. All of them go, or none. `keepsake show NAME --history` still tells what they were; `keepsake erase`
    is the one that destroys words.
    """
    with call.memory(user=user, trust=trust) as memory, memory.batch():
        beliefs = [memory.forget(name, reason=reason) for name in names]
    found = [belief.to_dict() for belief in beliefs]
    call.answer(found, lambda: [line for belief in beliefs for line in said("Forgot", belief, None)])

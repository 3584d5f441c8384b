"""`tallystick ledger checkpoint`."""

from __future__ import annotations

import click

from tallystick.records.errors import Refused
from tallystick.surfaces.cli.call import Call, on_a_terminal, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import LEDGER
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import dim
from tallystick.surfaces.present.text import lines, shown


@command(LEDGER[1], example="tallystick ledger checkpoint > kept.txt")
@click.option("--repin", is_flag=True, help="Take what is here for the truth, whatever was pinned before.")
@click.option("--yes", is_flag=True, help="Do not ask (with --repin).")
@pass_call
def checkpoint(call: Call, repin: bool, yes: bool) -> None:
    """Sign what the ledger holds now, and keep a witness outside it

    Prints the signed note (size, head and root; C2SP, Ed25519). The newest one is pinned outside the folder, and
    whoever keeps a copy elsewhere can tell later if the ledger was cut short or written anew. Where the pin is, and
    the key to check it with, go to standard error.

    With --repin, a ledger that is not the pinned one is accepted: after a folder was moved or begun again on purpose.
    """
    if repin and not yes:
        _ask(call)
    with call.memory() as memory:
        with waiting("Signing …"):
            note = memory.ledger.checkpoint(repin=repin)
        pin, key = str(memory.ledger.pin_path), memory.ledger.verifier_key
    call.answer({"note": note, "pin": pin, "key": key}, lambda: lines(note.rstrip("\n")))
    call.note(dim(f"pinned at {shown(pin)}"))
    call.note(dim(f"checked with the key {shown(key)}"))


def _ask(call: Call) -> None:
    if call.json or not on_a_terminal():
        raise Refused(
            "what was pinned before would no longer count, and nobody is here to ask; --yes if you are sure",
            "unconfirmed",
        )
    if not click.confirm("What was pinned before will no longer count. Is this the ledger that you mean?"):
        raise Refused("the pin stays as it was", "unconfirmed")

"""`keepsake ledger checkpoint`."""

from __future__ import annotations

from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import LEDGER
from keepsake.surfaces.cli.paint import dim
from keepsake.surfaces.cli.patience import waiting
from keepsake.surfaces.cli.shown import lines, shown


@command(LEDGER[1], example="keepsake ledger checkpoint > where-the-ledger-stood.txt")
@pass_call
def checkpoint(call: Call) -> None:
    """Sign what the ledger holds now, and keep a witness outside it

    Prints the signed note (size, head and root; C2SP, Ed25519). The newest one is pinned outside the folder, and
    whoever keeps a copy elsewhere can tell later if the ledger was cut short or written anew. Where the pin is, and
    the key to check it with, go to standard error.
    """
    with call.memory() as memory:
        with waiting("Signing …"):
            note = memory.ledger.checkpoint()
        pin, key = str(memory.ledger.pin_path), memory.ledger.verifier_key
    call.answer({"note": note, "pin": pin, "key": key}, lambda: lines(note.rstrip("\n")))
    call.note(dim(f"pinned at {shown(pin)}"))
    call.note(dim(f"checked with the key {shown(key)}"))

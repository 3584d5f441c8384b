"""`tallystick ledger compact`."""

from __future__ import annotations

from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import LEDGER
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.time import count


@command(LEDGER[3], example="tallystick ledger compact")
@pass_call
def compact(call: Call) -> None:
    """Begin a new file; the old one is sealed, nothing is lost

    What is held goes into a snapshot, the old events stay whole in `sealed/`, and the chain goes on in a new file of
    one line. Prints how many events were folded.
    """
    with call.memory() as memory, waiting("Compacting …"):
        folded = memory.ledger.compact()
    call.answer({"folded": folded}, lambda: [f"{dim('Folded')} {bold(count(folded, 'event'))}"])

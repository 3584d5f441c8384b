"""`keepsake ledger compact`."""

from __future__ import annotations

from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import LEDGER
from keepsake.surfaces.cli.patience import waiting
from keepsake.surfaces.present.terminal import bold, dim
from keepsake.surfaces.present.time import count


@command(LEDGER[3], example="keepsake ledger compact")
@pass_call
def compact(call: Call) -> None:
    """Begin a new file; the old one is sealed, nothing is lost

    What is held goes into a snapshot, the old events stay whole in `sealed/`, and the chain goes on in a new file of
    one line. Prints how many events were folded.
    """
    with call.memory() as memory, waiting("Compacting …"):
        folded = memory.ledger.compact()
    call.answer({"folded": folded}, lambda: [f"{dim('Folded')} {bold(count(folded, 'event'))}"])

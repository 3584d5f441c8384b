"""`keepsake rebuild-index`."""

from __future__ import annotations

from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import SPECIALIST
from keepsake.surfaces.cli.moments import count
from keepsake.surfaces.cli.patience import progress


@command(
    SPECIALIST[3],
    example="keepsake rebuild-index",
    exits={4: "the ledger is damaged, or stretches that are needed are not in the folder"},
)
@pass_call
def rebuild_index(call: Call) -> None:
    """Make the index anew from the ledger

    The new index is made beside the old one, which is used until the new one takes its place. Prints from how many
    events it was made. It is hardly ever needed: an index that is missing, damaged or behind grows back by itself.
    """
    with call.memory() as memory, progress("Reading the ledger", memory.status().events) as tick:
        events = memory.rebuild_index(tick=tick)
    call.answer({"events": events}, lambda: [f"made anew from {count(events, 'event')}"])

"""`keepsake rebuild-index`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from keepsake.surfaces.cli.belief_options import whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import SPECIALIST
from keepsake.surfaces.cli.moments import count
from keepsake.surfaces.cli.paint import dim
from keepsake.surfaces.cli.patience import progress
from keepsake.surfaces.cli.shown import shown

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory


@command(
    SPECIALIST[3],
    example="""
keepsake rebuild-index
keepsake rebuild-index --vectors""",
    exits={4: "the ledger is damaged, or stretches that are needed are not in the folder"},
)
@click.option("--vectors", is_flag=True, help="Leave the index, and only make the vectors that are missing.")
@whose
@pass_call
def rebuild_index(call: Call, vectors: bool, user: str | None) -> None:
    """Make the index anew from the ledger

    The new index is made beside the old one, which is used until the new one takes its place; then the vectors that
    are missing are made. Prints from how many events it was made, and for how many texts vectors were. You
    hardly ever need this for the index: one that is missing, damaged or behind grows back by itself. The vectors of a
    slow embedder, or of another one that was set in keepsake.toml, are best made here. Others read and write meanwhile.
    """
    with call.memory(user=user) as memory:
        events = None if vectors else _make_index(memory)
        made, by = _make_vectors(memory), memory.embedder
    answer = {"vectors": made, "embedder": by}
    call.answer(answer if events is None else {"events": events} | answer, lambda: _page(events, made, by))


def _make_index(memory: Memory) -> int:
    with progress("Reading the ledger", memory.status().events) as tick:
        return memory.rebuild_index(tick=tick)


def _make_vectors(memory: Memory) -> int:
    """Make what is missing; for how many texts."""
    missing = memory.unembedded()
    with progress("Making vectors", missing) as tick:
        memory.embed(tick=tick)
    return missing - memory.unembedded()


def _page(events: int | None, made: int, by: str) -> Iterator[str]:
    if events is not None:
        yield f"made anew from {count(events, 'event')}"
    if not by:
        yield dim("no vectors: there is no embedder here, and recall goes by words; keepsake.toml names one")
    elif made:
        yield f"made vectors for {count(made, 'text')} {dim(f'({shown(by)})')}"
    else:
        yield dim("every text has its vector")

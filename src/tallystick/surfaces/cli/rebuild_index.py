"""`tallystick rebuild-index`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import SPECIALIST
from tallystick.surfaces.cli.progress import progress, waiting
from tallystick.surfaces.cli.sync import happened, tell_problems
from tallystick.surfaces.present.page_names import has_pages
from tallystick.surfaces.present.terminal import dim
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.page import Synced


@command(
    SPECIALIST[3],
    example="""
tallystick rebuild-index
tallystick rebuild-index --vectors""",
    exits={
        0: "done, and every page was understood",
        1: "refused, or something on a page was not understood: it is printed",
        4: "the ledger is damaged, or stretches that are needed are not in the folder",
    },
)
@click.option("--vectors", is_flag=True, help="Leave the rest, and only make the vectors that are missing.")
@whose
@pass_call
def rebuild_index(call: Call, vectors: bool, user: str | None) -> int:
    """Make the index and the pages' tables anew

    First every page is read, what was edited on it is taken in, as `tallystick sync` does, and the tables `files`,
    `entries` and `entries_fts` are made anew; a page that is not understood is told of and does not stop the others.
    The tables of the graph are made anew, if there are any. Then a new index is made from the ledger beside the old
    one, which is used until the new one takes its place; then the vectors that are missing are made. Prints what it
    found, from how many events the index was made, and for how many texts vectors were. Doing it again changes nothing.
    You hardly ever need it: what is missing, damaged or behind grows back by itself. The vectors of a slow embedder, or
    of another one that was set in tallystick.toml, are best made here. Others read and write meanwhile.
    """
    make = not vectors and has_pages(call.locate())
    with call.memory(user=user, make=make) as memory:
        found = None if vectors else _read_pages(memory)
        events = None if vectors else _make_index(memory)
        made, by = _make_vectors(memory), memory.embedder
    answer: dict[str, Any] = {"vectors": made, "embedder": by}
    if found is not None:
        answer = {"pages": found.to_dict(), "events": events} | answer
    call.answer(answer, lambda: _page(found, events, made, by))
    if found is None:
        return 0
    tell_problems(call, found)
    return 1 if found.problems else 0


def _read_pages(memory: Memory) -> Synced:
    with waiting("Reading the pages …"):
        return memory.pages.rebuild()


def _make_index(memory: Memory) -> int:
    with progress("Reading the ledger", memory.ledger.size) as on_progress:
        return memory.rebuild_index(pages=False, on_progress=on_progress)


def _make_vectors(memory: Memory) -> int:
    """Make what is missing; for how many texts."""
    missing = memory.missing_vectors()
    with progress("Making vectors", missing) as on_progress:
        memory.embed(on_progress=on_progress)
    return missing - memory.missing_vectors()


def _page(found: Synced | None, events: int | None, made: int, by: str) -> Iterator[str]:
    if found is not None:
        yield from happened(found)
        yield f"read {count(found.seen, 'page')}"
    if events is not None:
        yield f"made anew from {count(events, 'event')}"
    if not by:
        yield dim("no vectors: there is no embedder here, and recall goes by words; tallystick.toml names one")
    elif made:
        yield f"made vectors for {count(made, 'text')} {dim(f'({shown(by)})')}"
    else:
        yield dim("every text has its vector")

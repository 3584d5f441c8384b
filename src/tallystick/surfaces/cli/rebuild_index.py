"""`tallystick rebuild-index`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import whose
from tallystick.surfaces.cli.progress import progress, waiting
from tallystick.surfaces.cli.sync import print_problems, sync_lines
from tallystick.surfaces.present.page_names import has_pages
from tallystick.surfaces.present.terminal import dim
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.records.page import Synced


@command(
    "rebuild-index",
    example="""
tallystick rebuild-index
tallystick rebuild-index --vectors""",
    exits={
        0: "done, and every page was understood",
        1: "refused, or something on a page was not understood: it is printed",
        4: "the ledger is damaged, or segments that are needed are not in the folder",
    },
)
@click.option("--vectors", is_flag=True, help="Only add the missing vectors.")
@whose
def rebuild_index(call: Call, vectors: bool, user: str | None) -> int:
    """Rebuild the index and the tables of the pages

    First, every page is read, edits are imported as `tallystick sync` does, and the tables `files`, `entries` and
    `entries_fts` are rebuilt; a page that is not understood is reported and does not stop the others. The tables of the
    graph are rebuilt, if there are any. Then a new index is built from the ledger; the old one is used until the new
    one replaces it. Last, missing vectors are added. Prints what it found, from how many events the index was built,
    and how many texts got vectors. Doing it again changes nothing.

    You hardly ever need it: what is missing, damaged or behind is rebuilt by itself. Use it for the vectors of a slow
    embedder, or of another one that was set in tallystick.toml. Others can read and write meanwhile.
    """
    create = not vectors and has_pages(call.locate())
    found, events = None, None
    with call.memory(user=user, create=create) as memory:
        if not vectors:
            with waiting("Reading the pages …"):
                found = memory.pages.rebuild()
            with progress("Reading the ledger", memory.ledger.size) as on_progress:
                events = memory.rebuild_index(pages=False, on_progress=on_progress)
        missing = memory.missing_vectors()
        with progress("Adding vectors", missing) as on_progress:
            memory.embed(on_progress=on_progress)
        added, embedder = missing - memory.missing_vectors(), memory.embedder
    answer: dict[str, Any] = {"vectors": added, "embedder": embedder}
    if found is not None:
        answer = {"pages": found.to_dict(), "events": events} | answer
    call.answer(answer, lambda: _page(found, events, added, embedder))
    if found is None:
        return 0
    print_problems(call, found)
    return 1 if found.problems else 0


def _page(found: Synced | None, events: int | None, added: int, embedder: str) -> Iterator[str]:
    if found is not None:
        yield from sync_lines(found)
        yield f"read {count(found.seen, 'page')}"
    if events is not None:
        yield f"rebuilt from {count(events, 'event')}"
    if not embedder:
        yield dim("no vectors: there is no embedder, and recall uses words only; tallystick.toml names one")
    elif added:
        yield f"added vectors for {count(added, 'text')} {dim(f'({shown(embedder)})')}"
    else:
        yield dim("every text has its vector")

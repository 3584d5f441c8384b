"""`tallystick migrate`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import click

from tallystick.stores.esdb.migrate import TakeoverWarning
from tallystick.stores.esdb.store import ChronoStore, SkippedRecord
from tallystick.surfaces.cli.command import BY, Call, command
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count


@command(
    "migrate",
    without=("folder",),
    example="""
tallystick migrate
tallystick migrate ../other/.specsmith --project .""",
)
@click.argument("source", default=".specsmith", type=click.Path(), metavar="[SOURCE]")
@click.option(
    "--project", type=click.Path(), metavar="DIR", help="The project whose `.chronomemory` gets them.  [SOURCE's]"
)
def migrate(call: Call, source: str, project: str | None) -> None:
    """Import the JSON files of specsmith

    SOURCE is the folder with requirements.json and testcases.json (default: ./.specsmith). They go into the ledger
    under `.chronomemory/` of the project. Unchanged items are skipped, changed ones revised. Prints how many of each,
    and every item that could not be imported, with the reason.
    """
    folder = Path(source).absolute()
    store = ChronoStore(project or folder.parent, by=BY)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with waiting("Importing …"), store:
            counts = store.migrate_from_json(folder)
    reasons, notes = (
        [str(warning.message) for warning in caught if issubclass(warning.category, kind)]
        for kind in (SkippedRecord, TakeoverWarning)
    )
    answer = {**counts, "reasons": reasons, "taken_over": notes, "folder": str(store.root)}
    call.answer(answer, lambda: _page(counts, reasons, notes, store.root))


def _page(counts: dict[str, int], reasons: list[str], notes: list[str], root: Path) -> Iterator[str]:
    if notes:
        yield warn("The chronomemory folder was converted. Not kept as it was:")
        yield from (f"  {shown(note)}" for note in notes)
    imported = f"{count(counts['requirements'], 'requirement')} and {count(counts['testcases'], 'test case')}"
    yield f"{dim('Imported')} {bold(imported)}"
    if same := counts["skipped"] - len(reasons):
        yield dim(f"{count(same, 'item')} unchanged")
    if reasons:
        yield warn(f"{count(len(reasons), 'item')} not imported:")
        yield from (f"  {shown(reason)}" for reason in reasons)
    yield dim(f"see them with: tallystick -C {shown(str(root))} show")

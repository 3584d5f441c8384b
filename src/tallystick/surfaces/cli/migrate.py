"""`tallystick migrate`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import click

from tallystick.stores.esdb.migrate import TakeoverWarning
from tallystick.stores.esdb.store import ChronoStore, SkippedRecord
from tallystick.surfaces.cli.call import BY, Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import SPECIALIST
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count


@command(
    SPECIALIST[2],
    without=("folder",),
    example="""
tallystick migrate
tallystick migrate ../other/.specsmith --project .""",
)
@click.argument("source", default=".specsmith", type=click.Path(), metavar="[SOURCE]")
@click.option(
    "--project", type=click.Path(), metavar="DIR", help="Whose `.chronomemory` takes them in.  [where SOURCE lies]"
)
@pass_call
def migrate(call: Call, source: str, project: str | None) -> None:
    """Take in the JSON files of specsmith

    SOURCE is the folder that holds requirements.json and testcases.json (default: ./.specsmith). They go into the
    ledger under `.chronomemory/` of the project. What is unchanged is passed over, what has changed is revised. Prints
    how many of each, and every item that could not be taken, with the reason.
    """
    folder = Path(source).absolute()
    store = ChronoStore(project or folder.parent, by=BY)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UserWarning)
        with waiting("Taking in …"), store:
            counts = store.migrate_from_json(folder)
    reasons, notes = (
        [str(warning.message) for warning in seen if issubclass(warning.category, kind)]
        for kind in (SkippedRecord, TakeoverWarning)
    )
    answer = {**counts, "reasons": reasons, "taken_over": notes, "folder": str(store.root)}
    call.answer(answer, lambda: _page(counts, reasons, notes, store.root))


def _page(counts: dict[str, int], reasons: list[str], notes: list[str], root: Path) -> Iterator[str]:
    if notes:
        yield warn("The folder of chronomemory was taken over. Not kept as it was:")
        yield from (f"  {shown(note)}" for note in notes)
    taken = f"{count(counts['requirements'], 'requirement')} and {count(counts['testcases'], 'test case')}"
    yield f"{dim('Took in')} {bold(taken)}"
    if same := counts["skipped"] - len(reasons):
        yield dim(f"{count(same, 'item')} unchanged")
    if reasons:
        yield warn(f"{count(len(reasons), 'item')} not taken:")
        yield from (f"  {shown(reason)}" for reason in reasons)
    yield dim(f"see them with: tallystick -C {shown(str(root))} show")

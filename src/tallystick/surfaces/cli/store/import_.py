"""`tallystick store import`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from tallystick.stores.phase.input_files import Given, given_in, joined
from tallystick.stores.phase.runtime import Taken
from tallystick.stores.phase.workspace import open_workspace
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.given_files import read_given, summed
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.cli.store.given import folder, note_rebuilt, store_command
from tallystick.surfaces.present.terminal import bold, dim, row
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count

_KINDS = {"envelope": "a graph", "profile": "a profile", "events": "events"}


@store_command(
    "import",
    example="""
tallystick store import notes ana.json graph.json
tallystick store import notes events.jsonl --dry-run
cat graph.json | tallystick store import notes -""",
)
@folder
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option("--at", metavar="TIME", help="The moment to record for what has no event of its own.  [now]")
@click.option("--dry-run", is_flag=True, help="Only say what would come in.")
@pass_call
def import_(call: Call, folder: str, files: tuple[str, ...], at: str | None, dry_run: bool) -> None:
    """Take in profiles, graphs and events, all or nothing

    Each FILE is a graph envelope, a profile, or events a line each; `-` is standard input. It is known by what it says,
    not by its name. Events are kept as they are; a record that no event tells of becomes one, so that a replay gives
    the graph. What is in DIR under the same id is replaced; an event never is. Prints what came in.
    """
    runtime = open_workspace(folder)
    with waiting("Taking in …"):
        given = [given_in(*read_given(name)) for name in files]
        taken = runtime.import_envelope(joined(given), at=at, dry_run=dry_run)
    answer = {**_told(given, taken, dry_run), **note_rebuilt(call, runtime)}
    call.answer(answer, lambda: _page(given, taken, dry_run))


def _counts(taken: Taken) -> dict[str, int]:
    return {**taken.records, "paths": len(taken.paths), "events": taken.events}


def _told(given: list[Given], taken: Taken, dry_run: bool) -> dict[str, Any]:
    files = [{"file": each.name, "kind": each.kind} for each in given]
    rest = {"replaced": taken.replaced, "known_events": taken.known, "dry_run": dry_run}
    return {"files": files, "taken": _counts(taken), **rest}


def _page(given: list[Given], taken: Taken, dry_run: bool) -> Iterator[str]:
    yield f"{dim('Would take in' if dry_run else 'Took in')} {bold(summed(_counts(taken)))}"
    for each in given:
        yield from row(_KINDS[each.kind], shown(each.name))
    if taken.replaced:
        yield from row("replaced", count(taken.replaced, "record"))
    if taken.known:
        yield from row("known", f"{count(taken.known, 'event')} that were here already")

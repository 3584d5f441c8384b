"""`tallystick sync`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call, print_json
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import MOVE
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.page_names import has_pages
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.records.page import Synced


@command(
    next(entry for entry in MOVE if entry.name == "sync"),
    example="tallystick sync",
    exits={0: "done, and all of it was understood", 1: "refused, or something was not understood: it is printed"},
)
@click.option("--watch", is_flag=True, help="Go on, after each change of a page or of the memory, until Ctrl-C.")
@whose
@pass_call
def sync(call: Call, watch: bool, user: str | None) -> int:
    """Take in what was edited on pages, and bring them up to date

    Prints what was taken in, with file and line, and the pages that were written. What is not understood is told on
    standard error, every time until it is set right, and stays as it is; so is a page that a merge left half done. What
    was changed on the page and elsewhere becomes a question (`tallystick review`), and so does a page that was cut
    short, cannot be read, or lost most of its entries. Pages of all users are looked at; what is printed is about this
    one's. In a folder that holds pages and no ledger, it makes one.

    With --watch and --json, prints an object a line.
    """
    with call.memory(make=has_pages(call.locate()), user=user) as memory:
        if watch:
            from tallystick.surfaces.cli.watch import watching

            for done in watching(memory, call.note):
                _tell_of_one(call, done)
            return 0
        with waiting("Looking at the pages …"):
            done = memory.pages.sync()
    call.answer(done.to_dict(), lambda: page(done))
    tell_problems(call, done)
    return 1 if done.problems else 0


def _tell_of_one(call: Call, done: Synced) -> None:
    """One of many runs: nothing, if nothing happened."""
    tell_problems(call, done)
    if call.json:
        print_json(done.to_dict(), indent=None)
        return
    for line in happened(done):
        click.echo(line)


def page(done: Synced) -> Iterator[str]:
    """What a sync did; that it did nothing is said too."""
    lines = list(happened(done))
    yield from lines or [dim(f"{count(done.seen, 'page')}, nothing new")]


def happened(done: Synced) -> Iterator[str]:
    """What was taken in, written and asked; nothing, if nothing was."""
    for told in done.adopted:
        place, what = str(told).removesuffix(told.what), told.what
        yield dim(shown(place)) + short(what, max(width() - len(place), 40))
    for path in done.written:
        yield f"{dim('wrote')} {shown(path)}"
    of_pages = " ".join(told.what for told in done.problems)  # it is told there what is asked of a page as a whole
    for review in done.reviews:
        if f"tallystick review {review[-6:]}" in of_pages:
            continue
        name = bold(f"tallystick review {shown(review[-6:])}")
        yield warn("changed on both sides, and asked: ") + name


def tell_problems(call: Call, done: Synced) -> None:
    for problem in done.problems:
        call.note(warn(shown(str(problem))))

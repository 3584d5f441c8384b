"""`tallystick repair`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click

from tallystick.memory.maintenance import check as care
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.call import BY, Call, on_a_terminal, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import CARE
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import shown

_MOST = 20  # steps of one kind that are printed


@command(
    CARE[1],
    example="tallystick repair torn-end --yes",
    exits={1: "refused, cannot be mended, or answered with no"},
)
@click.argument("codes", nargs=-1, required=True, metavar="CODE...")
@click.option("--yes", is_flag=True, help="Do not ask; for scripts.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@pass_call
def repair(call: Call, codes: tuple[str, ...], yes: bool, dry_run: bool) -> None:
    """Mend what `check` found, and keep the original

    CODE is what `tallystick check` calls it; several may be named. Shows what would be done and asks first. If one of
    them cannot be mended, nothing is changed. What was damaged is kept under `sealed/`, and every mend is an event; no
    line that is whole is ever changed.
    """
    folder = call.there()
    with waiting("Looking …"):
        steps = care.plan(folder, codes)
    if steps and not dry_run:
        if not yes:
            _ask(call, steps)
        with waiting("Mending …"):
            steps = care.repair(folder, codes, by=BY)
    answer = {"done": not dry_run, "steps": [step.to_dict() for step in steps]}
    call.answer(answer, lambda: _page(steps, "Would do" if dry_run else "Done"))


def _ask(call: Call, steps: list[care.Step]) -> None:
    if any(step.refused for step in steps):
        return  # nothing can be done: the call that follows says why
    if call.json or not on_a_terminal():
        raise Refused(
            "a repair changes the ledger, and nobody is here to ask; see it with --dry-run, do it with --yes",
            "unconfirmed",
        )
    click.echo("\n".join(_page(steps, "Would do")))
    if not click.confirm("\nDo this?"):
        raise Refused("nothing was changed", "unconfirmed")


def _page(steps: list[care.Step], title: str) -> Iterator[str]:
    if not steps:
        yield dim("nothing to mend; `tallystick check` names what is wrong")
        return
    yield bold(f"{title}:")
    for step in _some(steps):
        line = f"  {shown(step.code)}, {shown(step.place)}: {shown(step.text)}"
        yield warn(f"{line} (cannot be mended)") if step.refused else line


def _some(steps: list[care.Step]) -> Iterator[care.Step]:
    """As many of a kind as a person reads, and how many more there are."""
    counts = Counter(step.code for step in steps)
    shown_so_far = Counter[str]()
    for step in steps:
        shown_so_far[step.code] += 1
        more = counts[step.code] - _MOST
        if shown_so_far[step.code] <= _MOST:
            yield step
        elif shown_so_far[step.code] == _MOST + 1:
            yield care.Step(step.code, f"{more} more places", "likewise", refused=step.refused)

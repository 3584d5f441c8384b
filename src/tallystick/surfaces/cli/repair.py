"""`tallystick repair`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click

from tallystick.memory.maintenance import check as maintenance
from tallystick.surfaces.cli.command import BY, Call, command
from tallystick.surfaces.cli.options import yes as yes_option
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import shown

_LIMIT = 20  # steps of one kind that are printed


@command(
    "repair", example="tallystick repair torn-end --yes", exits={1: "refused, cannot be fixed, or declined"}
)
@click.argument("codes", nargs=-1, required=True, metavar="CODE...")
@yes_option
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
def repair(call: Call, codes: tuple[str, ...], yes: bool, dry_run: bool) -> None:
    """Fix what `check` found; the original is kept

    CODE is the name of a finding of `tallystick check`; several can be given. Prints what would be done and asks first.
    If one of them cannot be fixed, nothing is changed. Damaged parts are kept under `sealed/`, and every fix is an
    event; an intact line is never changed.
    """
    folder = call.existing()
    with waiting("Looking …"):
        steps = maintenance.plan(folder, codes)
    if steps and not dry_run:
        if not yes and not any(step.refused for step in steps):  # else the call that follows says why
            unattended = "a repair changes the ledger; preview it with --dry-run, confirm with --yes"
            call.confirm("Do this?", lambda: _page(steps, "Would do"), unattended=unattended)
        with waiting("Repairing …"):
            steps = maintenance.repair(folder, codes, by=BY)
    answer = {"done": not dry_run, "steps": [step.to_dict() for step in steps]}
    call.answer(answer, lambda: _page(steps, "Would do" if dry_run else "Done"))


def _page(steps: list[maintenance.Step], title: str) -> Iterator[str]:
    """The steps; of many of one kind, the first and the number of the others."""
    if not steps:
        yield dim("nothing to fix; run `tallystick check` to see what is wrong")
        return
    yield bold(f"{title}:")
    totals, printed = Counter(step.code for step in steps), Counter[str]()
    for step in steps:
        printed[step.code] += 1
        place, text = step.place, step.text
        if printed[step.code] > _LIMIT + 1:
            continue
        if printed[step.code] == _LIMIT + 1:
            place, text = f"{totals[step.code] - _LIMIT} more places", "likewise"
        line = f"  {shown(step.code)}, {shown(place)}: {shown(text)}"
        yield warn(f"{line} (cannot be fixed)") if step.refused else line

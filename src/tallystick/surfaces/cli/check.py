"""`tallystick check`."""

from __future__ import annotations

import click

from tallystick.memory.maintenance import check as maintenance
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import findings_page

_LOST, _ACT_SOON = 4, 5


@command(
    "check",
    example="tallystick check\ntallystick check --strict --json",
    exits={
        0: "done, and nothing is lost",
        4: "something is lost or wrong: see what is printed",
        5: "with --strict: nothing is lost, but there are warnings",
    },
)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@click.option("--strict", is_flag=True, help="Report warnings in the exit status too.")
def check(call: Call, codes: tuple[str, ...], strict: bool) -> int:
    """Look for damage; changes nothing

    Reads every event and what it refers to, every backup in the folder, the snapshot, the index, the pages, the vectors
    and the settings, and looks for files that do not belong there. Prints each finding with its place and the way out,
    the worst first. It works on a folder that is read-only or too damaged to open.

    CODE is the name of a finding: with some, only those are looked for.
    """
    folder = call.existing()
    with waiting("Reading everything …"):
        findings = maintenance.check(folder, codes)
    report = [(each.severity, each.code, each.text, each.place, each.remedy) for each in findings]
    call.answer([finding.to_dict() for finding in findings], lambda: findings_page(report))
    worst = {finding.severity for finding in findings}
    if "error" in worst:
        return _LOST
    return _ACT_SOON if strict and "warning" in worst else 0

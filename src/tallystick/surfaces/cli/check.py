"""`tallystick check`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tallystick.memory.maintenance import check as care
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import CARE
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bad, dim, good, warn
from tallystick.surfaces.present.text import shown

_PAINT = {"error": bad, "warning": warn, "note": dim}
_LOST, _ACT_SOON = 4, 5


@command(
    CARE[0],
    example="tallystick check\ntallystick check --strict --json",
    exits={
        0: "done, and nothing is lost",
        4: "something is lost or wrong: see what is printed",
        5: "with --strict: all is there, and somebody should act soon",
    },
)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@click.option("--strict", is_flag=True, help="Let the exit status tell of warnings too.")
@pass_call
def check(call: Call, codes: tuple[str, ...], strict: bool) -> int:
    """Look for damage, and change nothing

    Reads every event and what it speaks of, every backup in the folder, the snapshot, the index, the pages, the vectors
    and the settings, and looks for files that do not belong there. Prints each finding with its place and the way out,
    the worst first. It works on a folder that is too damaged to open, or that may only be read.

    CODE is what a finding is called: with some, only those are looked for.
    """
    folder = call.there()
    with waiting("Reading everything …"):
        findings = care.check(folder, codes)
    call.answer([finding.to_dict() for finding in findings], lambda: page(findings))
    worst = {finding.severity for finding in findings}
    if "error" in worst:
        return _LOST
    return _ACT_SOON if strict and "warning" in worst else 0


def page(findings: list[care.Finding]) -> Iterator[str]:
    if not findings:
        yield good("Nothing is wrong")
    for finding in findings:
        yield f"{_PAINT[finding.severity](finding.severity)}  {shown(finding.code)}: {shown(finding.text)}"
        yield dim(f"  where    {shown(finding.place)}")
        yield dim(f"  way out  {shown(finding.remedy)}")

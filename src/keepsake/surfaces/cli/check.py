"""`keepsake check`."""

from __future__ import annotations

from collections.abc import Iterator

from keepsake.memory import care
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import CARE
from keepsake.surfaces.cli.paint import bad, dim, good, warn
from keepsake.surfaces.cli.patience import waiting
from keepsake.surfaces.cli.shown import shown

_PAINT = {"error": bad, "warning": warn, "note": dim}


@command(
    CARE[0],
    example="keepsake check",
    exits={0: "done, and nothing is lost", 4: "something is lost or wrong: see what is printed"},
)
@pass_call
def check(call: Call) -> int:
    """Look for damage, and change nothing

    Reads every event, every backup in the folder, the snapshot, the index and the settings. Prints each finding with
    its place and the way out, the worst first. It works on a folder that is too damaged to open, or that may only be
    read.
    """
    folder = call.there()
    with waiting("Reading everything …"):
        findings = care.check(folder)
    call.answer([finding.to_dict() for finding in findings], lambda: page(findings))
    return 4 if any(finding.severity == "error" for finding in findings) else 0


def page(findings: list[care.Finding]) -> Iterator[str]:
    if not findings:
        yield good("Nothing is wrong")
    for finding in findings:
        yield f"{_PAINT[finding.severity](finding.severity)}  {shown(finding.code)}: {shown(finding.text)}"
        yield dim(f"  where    {shown(finding.place)}")
        yield dim(f"  way out  {shown(finding.remedy)}")

"""`tallystick store diagnose`."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.stores.phase.findings import Diagnostic
from tallystick.stores.phase.workspace import open_workspace
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.cli.store.given import folder, store_command
from tallystick.surfaces.present.terminal import bad, dim, good, warn
from tallystick.surfaces.present.text import shown

_PAINT = {"error": bad, "warning": warn, "note": dim}


@store_command(
    "diagnose",
    example="tallystick store diagnose notes",
    exits={0: "done, and there is no error", 4: "there are errors: see what is printed"},
)
@folder
@pass_call
def diagnose(call: Call, folder: str) -> int:
    """Look for what is wrong, and change nothing

    Prints each finding in DIR with its place (file, line and byte, where it is a line), the reason and the way out, the
    worst first: edges whose ends are missing, orphaned events, unknown schema versions, lines that cannot be read,
    changes without the approval they need, an audit that says otherwise than the log, and more.
    """
    runtime = open_workspace(folder)
    with waiting("Reading everything …"):
        findings = runtime.diagnostics()
    call.answer([finding.to_dict() for finding in findings], lambda: _page(findings))
    return 4 if any(finding.severity == "error" for finding in findings) else 0


def _page(findings: list[Diagnostic]) -> Iterator[str]:
    if not findings:
        yield good("Nothing is wrong")
    for finding in findings:
        yield f"{_PAINT[finding.severity](finding.severity)}  {shown(finding.code)}: {shown(finding.reason)}"
        yield dim(f"  where    {shown(finding.place)}")
        yield dim(f"  way out  {shown(finding.remedy)}")

"""`tallystick store inspect`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from tallystick.records.path import MemoryPath
from tallystick.stores.phase.workspace import LAST, inspected, open_workspace
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.store.given import folder, store_command
from tallystick.surfaces.cli.store.tree import tree
from tallystick.surfaces.present.terminal import bad, dim, row
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count


@store_command("inspect", example="tallystick store inspect notes")
@folder
@click.option(
    "--last", type=click.IntRange(min=0), default=LAST, metavar="N", help=f"How many events to show.  [{LAST}]"
)
@pass_call
def inspect(call: Call, folder: str, last: int) -> None:
    """Show what is in a workspace: counts, paths, the last events

    Prints how many records of each kind DIR holds, the paths as a tree with the state of each, the schema version and
    the last events. With --json, all of it as one object.
    """
    runtime = open_workspace(folder)
    found = inspected(runtime, last)
    findings = runtime.diagnostics()
    paths = runtime.store.list_paths()
    answer = {"folder": str(getattr(runtime.store, "root", folder)), **found, "findings": len(findings)}
    call.answer(answer, lambda: _page(found, paths, len(findings)))


def _page(found: dict[str, Any], paths: list[MemoryPath], findings: int) -> Iterator[str]:
    counts, kinds = found["counts"], found["kinds"]
    yield from row("schema", f"version {found['schema_version']}")
    names = [(each["id"], each.get("label", "")) for each in found["profiles"]]
    yield from row("profiles", [f"{short(name, 40)}  {dim(short(label, 60))}" for name, label in names])
    for part in ("nodes", "edges", "events"):
        yield from row(part, f"{counts[part]:,}" + (f"  {dim(_kinds(kinds[part]))}" if kinds[part] else ""))
    yield from row("paths", f"{counts['paths']:,}" if counts["paths"] else "")
    yield from row("plans", f"{counts['activation_plans']:,}" if counts["activation_plans"] else "")
    yield from row("audit", count(counts["audit"], "attempt") if counts["audit"] else "")
    if findings:
        yield from row("findings", bad(f"{findings:,}") + dim("  see `tallystick store diagnose`"))
    if paths:
        yield ""
        yield from (f"  {line}" for line in tree(paths))
    if found["last_events"]:
        yield ""
        yield from map(_event, found["last_events"])


def _kinds(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {short(kind, 40)}" for kind, number in counts.items())


def _event(told: dict[str, Any]) -> str:
    about = ", ".join(told["subject_ids"]) or told["path_id"]
    return f"  {dim(told['at'][:19].replace('T', ' '))}  {shown(told['kind']):<15}  {short(about, 60)}"

"""`tallystick store apply`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from tallystick.records.graph.lifecycle import LifecycleAction, LifecycleApproval
from tallystick.stores.phase.input_files import action_in, approval_in
from tallystick.stores.phase.runtime import Applied
from tallystick.stores.phase.workspace import open_workspace
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.given_files import read_given, summed
from tallystick.surfaces.cli.store.given import folder, note_rebuilt, store_command
from tallystick.surfaces.present.terminal import bold, dim, row
from tallystick.surfaces.present.text import shown


@store_command(
    "apply",
    example="tallystick store apply notes archive.json --approval yes.json",
    exits={1: "refused, or it lacks a yes that counts: nothing was changed but that it was tried"},
)
@folder
@click.argument("action", type=click.Path(), metavar="ACTION")
@click.option("--approval", type=click.Path(), metavar="FILE", help="The yes, as `store approve` printed it.")
@pass_call
def apply(call: Call, folder: str, action: str, approval: str | None) -> None:
    """Carry out a lifecycle action, if it has the yes it needs

    ACTION is a file as for `store approve`. To archive, supersede, merge, retract, promote, end, weaken or compact
    needs somebody else's yes to exactly that; to activate or reinforce needs none. Every attempt is in `audit.jsonl` of
    DIR, be it granted or denied. Prints what was changed.
    """
    runtime = open_workspace(folder)
    asked, yes = _read(action, approval)
    done = runtime.apply(asked, yes)
    payload = done.event.payload
    answer = {"event": done.event.id, "nodes": sorted(payload["nodes"]), "edges": sorted(payload["edges"])}
    call.answer({**answer, **note_rebuilt(call, runtime)}, lambda: _page(done))


def _read(action: str, approval: str | None) -> tuple[LifecycleAction, LifecycleApproval | None]:
    asked, saw = action_in(*read_given(action))
    if approval is None:
        return asked, None
    yes, seen = approval_in(*read_given(approval))
    return (asked if saw else replace(asked, seen=seen)), yes


def _page(done: Applied) -> Iterator[str]:
    payload = done.event.payload
    yield f"{dim('Done:')} {bold(shown(done.action.label))}"
    yield from row("event", shown(done.event.id))
    yield from row("changed", summed({"nodes": len(payload["nodes"]), "edges": len(payload["edges"])}))
    if payload["approval"]:
        yield from row("on a yes by", shown(payload["approval"]["by"]))

"""`tallystick store replay`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from tallystick.stores.phase.comparison import Comparison
from tallystick.stores.phase.event_log.replay import GraphSnapshot
from tallystick.stores.phase.findings import Diagnostic, refused_in
from tallystick.stores.phase.workspace import open_workspace
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.given_files import summed
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.cli.store.given import folder, note_rebuilt, store_command
from tallystick.surfaces.present.terminal import bad, dim, good, row, warn
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

_SHOWN = 20


@store_command(
    "replay",
    example="""
tallystick store replay notes
tallystick store replay notes --path main""",
    exits={4: "the graph is not as its log says, and --write puts it right; or an event lacks the approval it needs"},
)
@folder
@click.option("--write", is_flag=True, help="Put every record that the log tells of as the log says.")
@click.option("--path", metavar="PATH", help="Show what is seen from that path instead.")
@pass_call
def replay(call: Call, folder: str, write: bool, path: str | None) -> int:
    """Work the graph out of its events, and compare

    Prints whether the graph in DIR is the one that its events make, and each record that is not. A record of which no
    event tells is named and left alone. An event whose effect needs an approval, and that carries none, is not carried
    out, and is named with its line. With --path, prints what is seen from there: what was said on that path, on what
    was merged into it, and above it.
    """
    if path is not None and write:
        raise click.UsageError("--path shows, --write changes: give one of them")
    runtime = open_workspace(folder)
    if path is not None:
        seen = runtime.replay(path)
        refused = refused_in(runtime.log, seen.refused)
        told = {"path": path, **seen.to_dict(), "refused": [each.to_dict() for each in refused]}
        call.answer(told, lambda: (*_seen(seen, path), *_refused(refused)))
        return 4 if refused else 0
    with waiting("Replaying …"):
        found = runtime.rebuild() if write else runtime.compare()
    refused = refused_in(runtime.log, found.snapshot.refused)
    told = {**_told(found, write), "refused": [each.to_dict() for each in refused], **note_rebuilt(call, runtime)}
    call.answer(told, lambda: (*_page(found, write), *_refused(refused)))
    return 4 if refused or not (found.is_same or write) else 0


def _told(found: Comparison, write: bool) -> dict[str, Any]:
    return {
        "same": found.is_same, "events": found.snapshot.events, "digest": found.snapshot.digest, "alike": found.alike,
        "differences": [asdict(each) for each in found.differences],
        "skipped": [asdict(each) for each in found.snapshot.skipped], "written": write and not found.is_same,
    }  # fmt: skip


def _page(found: Comparison, write: bool) -> Iterator[str]:
    events = count(found.snapshot.events, "event")
    if found.is_same:
        yield good(f"The graph is as its log says: {summed(found.alike)}, from {events}")
    else:
        said = f"{count(len(found.wrong), 'record')} not as the log says"
        yield good(f"Put right: {said}") if write else bad(said[:1].upper() + said[1:])
    yield from row("digest", dim(found.snapshot.digest))
    for name, some in (("differs", found.wrong), ("untold", found.untold)):
        how = {"missing": dim(", missing"), "other": dim(", other"), "branch": dim(", of a branch"), "untold": ""}
        told = [f"{each.part[:-1]} {short(each.id, 60)}{how[each.how]}" for each in some]
        yield from row(name, [*told[:_SHOWN], dim(f"… and {len(told) - _SHOWN:,} more") if len(told) > _SHOWN else ""])
    skipped = [f"event {shown(each.event_id)}: {short(each.reason, 200)}" for each in found.snapshot.skipped]
    yield from row("skipped", [warn(each) for each in skipped[:_SHOWN]])


def _refused(refused: list[Diagnostic]) -> Iterator[str]:
    told = [f"{shown(each.place)}: {short(each.reason, 200)}" for each in refused]
    yield from row("refused", [bad(each) for each in told[:_SHOWN]])
    if refused:
        yield from row("way out", shown(refused[0].remedy))


def _seen(seen: GraphSnapshot, path: str) -> Iterator[str]:
    counts = {"profiles": len(seen.profiles), "nodes": len(seen.nodes), "edges": len(seen.edges)}
    yield f"{dim('From')} {shown(path)} {dim('is seen:')} {summed(counts)}"
    for name, told in seen.nodes.items():
        yield from row("node", f"{short(name, 40)}  {dim(short(told.get('label', ''), 60))}")

"""`tallystick store append`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tallystick.records.clock import stamp, system_clock
from tallystick.records.graph.events import MemoryEvent
from tallystick.stores.phase.input_files import events_in
from tallystick.stores.phase.workspace import open_workspace
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.given_files import STANDARD_INPUT, read_given
from tallystick.surfaces.cli.store.given import folder, note_rebuilt, store_command
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

_SHOWN = 20


@store_command(
    "append",
    example="""
tallystick store append notes events.jsonl
echo '{"kind":"path.branch","path_id":"main"}' | tallystick store append notes""",
)
@folder
@click.argument("file", default=STANDARD_INPUT, type=click.Path(), metavar="[FILE]")
@pass_call
def append(call: Call, folder: str, file: str) -> None:
    """Record events, and let the graph follow

    FILE holds an event a line (default: standard input). One without `at` happens now; one without `id` is named after
    what it says. All are recorded in DIR, or none: an id that is taken, a path that is not open or a put without its
    record is refused, and so is what stands behind the gate (see `store apply`). Prints the ids.
    """
    runtime = open_workspace(folder)
    events = list(events_in(*read_given(file), at=stamp(system_clock())))
    runtime.record(events)
    answer = {"events": [event.id for event in events], **note_rebuilt(call, runtime)}
    call.answer(answer, lambda: _page(events))


def _page(events: list[MemoryEvent]) -> Iterator[str]:
    yield f"{dim('Recorded')} {bold(count(len(events), 'event'))}"
    for event in events[:_SHOWN]:
        about = event.path_id if event.kind.startswith("path.") else ", ".join(event.subject_ids)
        yield f"  {shown(event.id)}  {shown(event.kind)}  {short(about, 60)}"
    if len(events) > _SHOWN:
        yield dim(f"  … and {len(events) - _SHOWN:,} more")

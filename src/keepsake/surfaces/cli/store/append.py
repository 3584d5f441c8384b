"""`keepsake store append`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from keepsake.records.clock import stamp, system_clock
from keepsake.records.graph.events import MemoryEvent
from keepsake.stores.phase.input_files import events_in
from keepsake.stores.phase.workspace import open_workspace
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.given_files import STANDARD_INPUT, read_given
from keepsake.surfaces.cli.store.given import folder, note_rebuilt, store_command
from keepsake.surfaces.present.terminal import bold, dim
from keepsake.surfaces.present.text import short, shown
from keepsake.surfaces.present.time import count

_SHOWN = 20


@store_command(
    "append",
    example="""
keepsake store append notes events.jsonl
echo '{"kind":"path.branch","path_id":"main"}' | keepsake store append notes""",
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

"""`keepsake log`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from keepsake.surfaces.cli.call import Call, pass_call, print_json
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.event_line import event_line
from keepsake.surfaces.cli.map import LOOK

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory
    from keepsake.records.event import Event

_AT_ONCE = 200  # lines printed together


@command(
    LOOK[2],
    example="""
keepsake log --last 20
keepsake log --op belief.put
keepsake log 40""",
)
@click.argument("start", required=False, type=click.IntRange(min=0), metavar="[SEQ]")
@click.option("-f", "--follow", is_flag=True, help="Go on as others write, until Ctrl-C.")
@click.option("-n", "--last", type=click.IntRange(min=0), metavar="N", help="Only the last N.")
@click.option("--op", default="", metavar="KIND", help="Only of that kind: belief, belief.put, erase, ledger …")
@pass_call
def log(call: Call, start: int | None, follow: bool, last: int | None, op: str) -> None:
    """List the events, oldest first

    From event SEQ on, or all. Prints a line each: number, time, by whom, kind, and what it says in short. With --json,
    an array; with --follow as well, an object a line.
    """
    with call.memory(read_only=True) as memory:
        events = _chosen(memory, start or 0, last, op, follow)
        if call.json and follow:
            for event in events:
                print_json(event.to_dict(), indent=None)
        elif call.json:
            _print_array(events)
        else:
            _print_lines(memory, events, 1 if follow else _AT_ONCE)


def _chosen(memory: Memory, start: int, last: int | None, op: str, follow: bool) -> Iterator[Event]:
    if last is None:
        yield from memory.log(start, op=op, follow=follow)
        return
    end = memory.status().events
    near = start if op else max(start, end - last)  # those of one kind may be far back
    recent = deque(memory.log(near, op=op), maxlen=last)
    yield from recent
    if follow:
        yield from memory.log(max(end, recent[-1].seq + 1 if recent else 0), op=op, follow=True)


def _print_lines(memory: Memory, events: Iterator[Event], at_once: int) -> None:
    room = max(len(str(memory.status().events)), 4)
    while some := [event_line(event, memory.get, room) for event in islice(events, at_once)]:
        click.echo("\n".join(some))


def _print_array(events: Iterable[Event]) -> None:
    between = "["
    for event in events:
        click.echo(between, nl=False)
        print_json(event.to_dict(), indent=None, end="")
        between = ",\n"
    click.echo("[]" if between == "[" else "]")

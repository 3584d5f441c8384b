"""`tallystick log`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from tallystick.records.audit import AuditLine
from tallystick.records.event import Event
from tallystick.surfaces.cli.command import Call, command, print_json
from tallystick.surfaces.present.events import audit_line, event_line

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

Listed = Event | AuditLine

_AT_ONCE = 200  # lines printed together


@command(
    "log",
    example="""
tallystick log --last 20
tallystick log --op belief.put
tallystick log --audit --last 20
tallystick log 40""",
)
@click.argument("start", required=False, type=click.IntRange(min=0), metavar="[SEQ]")
@click.option("-f", "--follow", is_flag=True, help="Go on as others write, until Ctrl-C.")
@click.option("-n", "--last", type=click.IntRange(min=0), metavar="N", help="Only the last N.")
@click.option("--op", default="", metavar="KIND", help="Only that kind: belief, belief.put, erase, ledger …")
@click.option("--audit", is_flag=True, help="Who did what, to what, and on whose approval; no words of the memory.")
def log(call: Call, start: int | None, follow: bool, last: int | None, op: str, audit: bool) -> None:
    """List events, oldest first

    From event SEQ on, or all. Prints a line each: number, time, by whom, kind, and a summary. With --json, an array;
    with --follow as well, or with --jsonl, an object per line. With --audit, an act per line: number, time, by whom,
    what, to what, and its outcome; `tallystick ledger prove SEQ` proves it.
    """
    with call.memory(read_only=True) as memory:
        events = _chosen(memory, start or 0, last, op, follow, audit)
        if call.jsonl or (call.json and follow):
            for event in events:
                print_json(event.to_dict(), indent=None)
        elif call.json:
            _print_array(events)
        else:
            _print_lines(memory, events, 1 if follow else _AT_ONCE)


def _chosen(memory: Memory, start: int, last: int | None, op: str, follow: bool, audit: bool) -> Iterator[Listed]:
    def listed(start: int, follow: bool = False) -> Iterator[Listed]:
        if not audit:
            return memory.log(start, op=op, follow=follow)
        return (line for line in memory.audit(start, follow=follow) if line.op.startswith(op))

    if last is None:
        yield from listed(start, follow)
        return
    end = memory.ledger.size
    near = start if op or audit else max(start, end - last)  # those of one kind may be far back
    recent = deque(listed(near), maxlen=min(last, end))
    yield from recent
    if follow:
        yield from listed(max(end, recent[-1].seq + 1 if recent else 0), follow=True)


def _print_lines(memory: Memory, events: Iterator[Listed], at_once: int) -> None:
    room = max(len(str(memory.ledger.size)), 4)

    def line(event: Listed) -> str:
        if isinstance(event, AuditLine):
            return audit_line(event, room)
        return event_line(event, memory.get, room, is_doubted=memory.ledger.is_doubted(event.seq))

    while some := [line(event) for event in islice(events, at_once)]:
        click.echo("\n".join(some))


def _print_array(events: Iterator[Listed]) -> None:
    between = "["
    for event in events:
        click.echo(between, nl=False)
        print_json(event.to_dict(), indent=None, end="")
        between = ",\n"
    click.echo("[]" if between == "[" else "]")

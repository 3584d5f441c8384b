"""`tallystick show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.records.clock import stamp
from tallystick.records.display import plain
from tallystick.records.fact import fact_of
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.completion import complete
from tallystick.surfaces.cli.options import on_path, whose
from tallystick.surfaces.present.beliefs import EPISODES, history as history_lines, neighbours, page, table
from tallystick.surfaces.present.terminal import bold, dim, row
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import read_moment, when

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.episode import Episode
    from tallystick.records.history import Moment
    from tallystick.records.relation import Neighbour


@command(
    "show",
    example="""
tallystick show
tallystick show ana-tea --history
tallystick show --at 2026-05-03""",
)
@click.argument("name", required=False, shell_complete=complete)
@click.option("--history", is_flag=True, help="Every version it had, oldest first.")
@click.option("--why", is_flag=True, help="The reasons for its status, down to what it depends on.")
@click.option("--at", metavar="MOMENT", help="As it was then: an event's number, a date or a time.")
@on_path
@whose
def show(
    call: Call, name: str | None, history: bool, why: bool, at: str | None, path: str | None, user: str | None
) -> None:
    """List current beliefs, or show one

    NAME is a belief's key, any of its ids, or the last six characters of one; or an episode's id. Without it, prints
    every current belief, a line each: name, confidence, first words.
    """
    if history + why + (at is not None) > 1:
        raise click.UsageError("choose one of --history, --why and --at")
    if name is None and (history or why):
        raise click.UsageError("name a belief: tallystick show NAME " + ("--history" if history else "--why"))
    moment, path = None if at is None else read_moment(at), path or ""
    with call.memory(user=user, read_only=True) as memory:
        if name is None:
            beliefs = memory.beliefs.query(believed_at=moment, path=path)
            found = [belief.to_dict() for belief in beliefs]
            call.answer(found, lambda: table(beliefs) if beliefs else [dim("No beliefs.")])
        elif history:
            versions = memory.history(name, path=path)
            call.answer([version.to_dict() for version in versions], lambda: history_lines(versions))
        elif why:
            reasons = memory.why(name, path=path)
            call.answer(reasons.to_dict(), lambda: map(_indented, reasons.lines()))
        else:
            _show_one(call, memory, name, moment, path)


def _indented(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + short(line, 400)


def _show_one(call: Call, memory: Memory, name: str, moment: Moment | None, path: str) -> None:
    if moment is None and memory.get(name, path=path) is None and (episode := memory.episodes.find(name)):
        near = memory.related(episode.source, path=path)
        call.answer({**episode.to_dict(), "related": plain(near)}, lambda: _episode(episode, near))
        return
    belief = memory.show(name, believed_at=moment, path=path)
    near = memory.related(belief.id, path=path) if moment is None and belief.is_held else []
    call.answer({**belief.to_dict(), "related": plain(near)}, lambda: _belief(memory, belief, near))


def _episode(episode: Episode, near: list[Neighbour]) -> Iterator[str]:
    yield bold(shown(episode.content))
    yield ""
    yield from row("id", shown(episode.id))
    yield from row("happened", when(stamp(episode.timestamp)))
    for name in ("session", "agent", "user", "trust"):
        yield from row(name, shown(getattr(episode, name)))
    pairs = (f"{shown(key)} {shown(str(value))}" for key, value in episode.metadata.items())
    yield from row("metadata", ", ".join(pairs))
    yield from row("related", neighbours(near))


def _belief(memory: Memory, belief: Belief, near: list[Neighbour]) -> Iterator[str]:
    names = {ref: found.key for ref in belief.rests_on if (found := memory.get(ref))}
    sources = fact_of(belief).episodes[-EPISODES:]
    episodes = {name: episode.content for name in sources if (episode := memory.episodes.find(name))}
    yield from page(belief, names, episodes)
    yield from row("related", neighbours(near))
    if belief.is_held and (why := memory.withheld(belief.id)):
        yield from row("hidden", shown(why.why))

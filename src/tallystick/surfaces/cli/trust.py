"""`tallystick trust`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import DECIDE
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import count, read_moment, when

if TYPE_CHECKING:
    from tallystick.records.trust import Distrust, SourceStatus

_ROOM = 32


@command(
    DECIDE[1],
    example="""
tallystick trust
tallystick trust --none mcp:3f9a --since 2026-05-03 --reason "it read a poisoned page"
tallystick trust --usual mcp:3f9a""",
)
@click.option("none", "--none", metavar="SOURCE", help="Leave what it said out of recall.")
@click.option("usual", "--usual", metavar="SOURCE", help="Let it be recalled as before.")
@click.option("--since", metavar="MOMENT", help="With --none: only what it said from then on.")
@click.option("--reason", metavar="TEXT", default="", help="Why.")
@whose
@pass_call
def trust(
    call: Call, none: str | None, usual: str | None, since: str | None, reason: str, user: str | None
) -> None:
    """List the sources, and say which of them recall leaves out

    Without an option, prints who said what is held: a line for each door and id, how much it said, and how it stands.

    SOURCE is such a name (mcp:3f9a), a whole door (mcp:*), or agent:NAME, session:NAME, trust:web. One event takes all
    that it said out of recall, and what it replaced comes back; one event undoes that. Nothing is deleted.
    """
    if none is not None and usual is not None:
        raise click.UsageError("choose one of --none and --usual")
    if none is None and (since is not None or (reason and usual is None)):
        raise click.UsageError("say of which source: tallystick trust --none SOURCE")
    if none is not None:
        with call.memory(user=user) as memory:
            found = memory.distrust(none, since=None if since is None else read_moment(since), reason=reason)
            standings = [each for each in memory.sources() if each.withheld == found]
        call.answer(found.to_dict(), lambda: _withheld(found, standings))
    elif usual is not None:
        with call.memory(user=user) as memory:
            memory.restore_trust(usual, reason=reason)
        call.answer({"source": usual, "trust": "usual"}, lambda: [f"{dim('Trusted again:')} {bold(shown(usual))}"])
    else:
        with call.memory(user=user, read_only=True) as memory:
            sources = memory.sources()
        call.answer([each.to_dict() for each in sources], lambda: _table(sources))


def _withheld(found: Distrust, standings: Sequence[SourceStatus]) -> Iterator[str]:
    said = next((each for each in standings if each.source == found.source), None)
    much = _much(said) if said else "nothing that is held"
    yield f"{dim('Withheld')} {bold(shown(found.source))}{dim(f', which said {much}')}"


def _much(each: SourceStatus) -> str:
    parts = [count(each.beliefs, "belief")] if each.beliefs else []
    parts += [count(each.episodes, "episode")] if each.episodes else []
    return " and ".join(parts) or "nothing that is held"


def _table(sources: Sequence[SourceStatus]) -> Iterator[str]:
    if not sources:
        yield dim("nobody has said anything that is held")
    names = [short(each.source, _ROOM) for each in sources]
    room = max(map(cells, names), default=0)
    for name, each in zip(names, sources, strict=True):
        pad = " " * (room - cells(name))
        waits = f", {each.waiting} waiting for a yes" if each.waiting else ""
        last = f", last {when(each.last)}" if each.last else ""
        line = f"{bold(name)}{pad}  {dim(each.trust.ljust(6))}  {_much(each)}{waits}{dim(last)}"
        yield line + (f"  {warn('withheld')}{dim(_why(each.withheld))}" if each.withheld else "")


def _why(withheld: Distrust) -> str:
    since = f" since {withheld.since}" if withheld.since else ""
    return shown(f"{since}{': ' + withheld.reason if withheld.reason else ''}")

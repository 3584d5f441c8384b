"""`tallystick trust`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import whose
from tallystick.surfaces.present.terminal import bold, dim, outcome, warn
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import counts, read_moment, when

if TYPE_CHECKING:
    from tallystick.records.trust import SourceStatus

_NAME_WIDTH = 32


@command(
    "trust",
    example="""
tallystick trust
tallystick trust --none mcp:3f9a --since 2026-05-03 --reason "it read a poisoned page"
tallystick trust --usual mcp:3f9a""",
)
@click.option("none", "--none", metavar="SOURCE", help="Exclude what it said from recall.")
@click.option("usual", "--usual", metavar="SOURCE", help="Include it in recall again.")
@click.option("--since", metavar="MOMENT", help="With --none: only what it said from then on.")
@click.option("--reason", metavar="TEXT", default="", help="Why.")
@whose
def trust(
    call: Call, none: str | None, usual: str | None, since: str | None, reason: str, user: str | None
) -> None:
    """List sources, and exclude some from recall

    Without an option, prints the sources of current beliefs and episodes: a line for each client and id, how much it
    said, and its status.

    SOURCE is such a name (mcp:3f9a), a whole kind of client (mcp:*), or agent:NAME, session:NAME, trust:web. One event
    excludes everything it said from recall and brings back what it replaced; one event undoes that. Nothing is deleted.
    """
    if none is not None and usual is not None:
        raise click.UsageError("choose one of --none and --usual")
    if none is None and (since is not None or (reason and usual is None)):
        raise click.UsageError("name a source: tallystick trust --none SOURCE")
    if none is not None:
        with call.memory(user=user) as memory:
            found = memory.distrust(none, since=None if since is None else read_moment(since), reason=reason)
            excluded = (each for each in memory.sources() if each.withheld == found)
            affected = next((each for each in excluded if each.source == found.source), None)
        much = dim(f", which said {_amount(affected)}")
        call.answer(found.to_dict(), lambda: [outcome("Excluded", found.source) + much])
    elif usual is not None:
        with call.memory(user=user) as memory:
            memory.restore_trust(usual, reason=reason)
        call.answer({"source": usual, "trust": "usual"}, lambda: [outcome("Trusted again:", usual)])
    else:
        with call.memory(user=user, read_only=True) as memory:
            sources = memory.sources()
        call.answer([each.to_dict() for each in sources], lambda: _table(sources))


def _amount(each: SourceStatus | None) -> str:
    found = counts({"beliefs": each.beliefs, "episodes": each.episodes}) if each else "nothing"
    return "nothing current" if found == "nothing" else found


def _table(sources: Sequence[SourceStatus]) -> Iterator[str]:
    if not sources:
        yield dim("No sources.")
    names = [short(each.source, _NAME_WIDTH) for each in sources]
    name_width = max(map(cells, names), default=0)
    for name, each in zip(names, sources, strict=True):
        pad = " " * (name_width - cells(name))
        pending = f", {each.waiting} pending" if each.waiting else ""
        last = f", last {when(each.last)}" if each.last else ""
        line = f"{bold(name)}{pad}  {dim(each.trust.ljust(6))}  {_amount(each)}{pending}{dim(last)}"
        if each.withheld:
            since = f" since {each.withheld.since}" if each.withheld.since else ""
            why = f": {each.withheld.reason}" if each.withheld.reason else ""
            line += f"  {warn('excluded')}{dim(shown(since + why))}"
        yield line

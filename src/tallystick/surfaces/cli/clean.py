"""`tallystick clean`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.confirm import ask
from tallystick.surfaces.cli.map import SPECIALIST
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

Going = dict[str, int]


@command(
    SPECIALIST[6],
    example="tallystick clean memory --yes",
    exits={1: "refused, or answered with no"},
)
@click.argument("what", type=click.Choice(("memory", "all")), metavar="WHAT")
@click.option("--yes", is_flag=True, help="Do not ask; for scripts.")
@click.option("--reason", metavar="TEXT", default="cleaned", help="Why.")
@speaker
@whose
@pass_call
def clean(call: Call, what: str, yes: bool, reason: str, trust: str | None, user: str | None) -> None:
    """Put all that is held out of sight, and its pages with it

    WHAT is `memory`, every belief and page; or `all`, also what was observed and the rules. Shows how much would go
    and asks first. It stays in history, where `show`, `log` and `recall --at` find it: `tallystick erase` is
    the one that destroys. Settings are not touched.
    """
    with call.memory(user=user, trust=trust) as memory:
        going = _going(memory, everything=what == "all")
        if not yes and memory.trust == "human":  # anyone else is refused
            _ask(call, what, going)
        with waiting("Cleaning …"):
            gone = memory.pages.clean(everything=what == "all", reason=reason)
    call.answer({"what": what, "gone": gone, "pages": going["page"]}, lambda: _done(gone, going))


def _going(memory: Memory, *, everything: bool) -> Going:
    """How much of each kind."""
    found = {
        "belief": memory.status().beliefs,
        "page": len(memory.pages.list(include_dormant=True, include_archived=True)),
    }
    if everything:
        found |= {"episode": memory.episodes.health().fragment_count or 0, "rule": len(list(memory.rules))}
    return found


def _ask(call: Call, what: str, going: Going) -> None:
    alone = f"{_counted(going)} would go out of sight, and nobody is here to ask; do it with --yes"
    ask(call, lambda: _what(what, going), "Put all of it out of sight?", alone=alone)


def _what(what: str, going: Going) -> Iterator[str]:
    yield bold("This would go out of sight:")
    yield from (f"  {count(number, kind)}" for kind, number in going.items())
    if what == "memory":
        yield dim("  what was observed stays; `tallystick clean all` takes it along")
    yield dim("  all of it stays in history; `tallystick erase` is the one that destroys")


def _done(gone: int, going: Going) -> Iterator[str]:
    pages = count(going["page"], "page")
    yield f"{dim('Cleaned')} {bold(_memories(gone))}{dim(',')} {pages}"


def _memories(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def _counted(going: Going) -> str:
    return " and ".join(count(number, kind) for kind, number in going.items() if number) or "nothing"

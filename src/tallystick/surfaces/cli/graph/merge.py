"""`tallystick graph merge`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.graph.given import graph_command
from tallystick.surfaces.cli.tab import complete_entity
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import short

if TYPE_CHECKING:
    from tallystick.stores.phase.graph.merge import Outcome

_NAME, _WHY = 60, 200


@graph_command(
    "merge",
    example="""
tallystick graph merge person-anna person-ana
tallystick graph merge person-anna person-ana --sure""",
)
@click.argument("node", metavar="NODE", shell_complete=complete_entity)
@click.argument("into", metavar="INTO", shell_complete=complete_entity)
@click.option("--sure", is_flag=True, help="You know it: merge, however unlike they look.")
@click.option("--two", is_flag=True, help="They are two: what was proposed waits no longer.")
@speaker
@whose
@pass_call
def merge(call: Call, node: str, into: str, sure: bool, two: bool, trust: str | None, user: str | None) -> None:
    """Make one node part of another; it can be taken back

    From now on NODE is INTO: its names lead there, and so do its edges, those of later beliefs too. Beliefs and pages
    stay as they are. If it is not sure that both are the same thing, it is proposed, and nothing changes before a
    person says --sure. Prints what was done, and why.
    """
    if sure and two:
        raise click.UsageError("--sure and --two exclude one another")
    with call.memory(user=user, trust=trust) as memory:
        if two:
            memory.graph.dismiss(node, into)
            call.answer({"node": node, "into": into, "done": "dismissed"}, lambda: [dim("they are two, then")])
            return
        outcome = memory.graph.merge(node, into, sure=sure)
    call.answer(_told(outcome), lambda: _page(outcome))


def _told(outcome: Outcome) -> dict[str, Any]:
    alike = outcome.likeness
    return {
        "node": alike.gone, "into": alike.keep, "score": alike.score, "reasons": list(alike.reasons),
        "done": "merged" if outcome.is_done else "proposed",
    }  # fmt: skip


def _page(outcome: Outcome) -> Iterator[str]:
    alike = outcome.likeness
    names = f"{bold(short(alike.gone, _NAME))} {dim('into')} {bold(short(alike.keep, _NAME))}"
    done = dim("Merged") if outcome.is_done else warn("Proposed to merge")
    yield f"{done} {names}  {dim(f'{alike.score:.0%}')}"
    yield from (f"    {short(reason, _WHY)}" for reason in alike.reasons)
    if not outcome.is_done:
        yield dim("it is not sure that they are the same; a person who knows adds --sure")

"""`tallystick graph same`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.graph.given import graph_command
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import ago

if TYPE_CHECKING:
    from tallystick.records.named_entity import ProposedMerge
    from tallystick.stores.phase.graph.merge import Likeness

_NAME, _WHY = 60, 200


@graph_command(
    "same",
    example="""
tallystick graph same
tallystick graph same --kind person --limit 10""",
)
@click.option("--kind", metavar="KIND", help="Only nodes of that kind.")
@click.option("--limit", type=click.IntRange(1), default=20, metavar="N", help="How many pairs to show at most.  [20]")
@whose
@pass_call
def same(call: Call, kind: str | None, limit: int, user: str | None) -> None:
    """List what may be the same thing, and what waits for a person's word

    Prints what was proposed and is not answered, and pairs that share a name, the likeliest first, with the reasons.
    `tallystick graph merge A B` says that A is B; `tallystick graph merge A B --two` says that they are not.
    """
    with call.memory(user=user) as memory, waiting("Comparing …"):
        proposed, alike = memory.graph.proposals(), memory.graph.find_same(kind, limit=min(limit, sys.maxsize))
    told = {"proposed": [each.to_dict() for each in proposed], "alike": [_told(each) for each in alike]}
    call.answer(told, lambda: _page(proposed, alike))


def _told(each: Likeness) -> dict[str, Any]:
    return {"node": each.gone, "into": each.keep, "score": each.score, "reasons": list(each.reasons)}


def _page(proposed: Sequence[ProposedMerge], alike: Sequence[Likeness]) -> Iterator[str]:
    for asked in proposed:
        yield from _pair(asked.node, asked.into, asked.score, asked.reasons)
        yield f"    {dim(f'proposed by {shown(asked.by)} {ago(asked.at)}')}"
    known = {frozenset((asked.node, asked.into)) for asked in proposed}
    rest = [each for each in alike if {each.keep, each.gone} not in known]
    for each in rest:
        yield from _pair(each.gone, each.keep, each.score, each.reasons)
    if not proposed and not rest:
        yield dim("nothing looks like the same thing twice")


def _pair(node: str, into: str, score: float, reasons: Sequence[str]) -> Iterator[str]:
    yield f"{bold(short(node, _NAME))} {dim('is')} {bold(short(into, _NAME))}?  {dim(f'{score:.0%}')}"
    yield from (f"    {short(reason, _WHY)}" for reason in reasons)

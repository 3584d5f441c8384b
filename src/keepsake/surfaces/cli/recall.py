"""`keepsake recall`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from keepsake.surfaces.cli.belief_options import text_from, whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import DAILY
from keepsake.surfaces.cli.moments import ago, read_moment
from keepsake.surfaces.cli.paint import bold, dim, warn
from keepsake.surfaces.cli.patience import waiting
from keepsake.surfaces.cli.shown import short, shown

if TYPE_CHECKING:
    from keepsake.records.hit import Hit

_BAR = 10


@command(
    DAILY[2],
    example="""
keepsake recall "what does Ana prefer?"
keepsake recall port --at 2026-05-03
keepsake recall tea --json""",
    exits={0: "done, also when nothing fits"},
)
@click.argument("question", nargs=-1, required=True)
@click.option("k", "-k", type=click.IntRange(min=1), default=5, metavar="N", help="How many at most.  [5]")
@click.option("--at", metavar="MOMENT", help="What would have been found then: an event's number, a date or a time.")
@click.option("--session", metavar="NAME", help="Only what was learned in that session.")
@click.option("--agent", metavar="NAME", help="Only what that agent learned.")
@click.option("--explain", is_flag=True, help="How much of the question it answers, how sure it is, who else says it.")
@click.option("--quarantined", is_flag=True, help="Also what waits for a person's yes (`keepsake review`).")
@whose
@pass_call
def recall(
    call: Call,
    question: tuple[str, ...],
    k: int,
    at: str | None,
    session: str | None,
    agent: str | None,
    explain: bool,
    quarantined: bool,
    user: str | None,
) -> None:
    """Find what was remembered, with the reason for each

    QUESTION is any text; `-` takes it from standard input. Prints the memories that hold its words, the best first,
    each with the words it was found by and its id, which `show`, `revise` and `forget` take. What was forgotten or
    replaced is not among them.

    Words are found in any of their endings (`prefer`, `prefers`). Other words for the same thing are not.
    """
    asked = text_from(("-",) if question == ("-",) else (" ".join(question),), "recall") or ""
    moment = None if at is None else read_moment(at)
    with call.memory(user=user) as memory, waiting("Making the index …"):
        hits = memory.recall(
            asked, k=k, believed_at=moment, session=session, agent=agent, quarantined=quarantined
        )  # fmt: skip
    call.answer([hit.to_dict() for hit in hits], lambda: page(hits, explain=explain))


def page(hits: list[Hit], *, explain: bool = False) -> Iterator[str]:
    if not hits:
        yield dim("nothing fits")
    for hit in hits:
        yield f"{bold(short(hit.text, 400))}"
        label = warn(f"  {hit.trust}") if hit.trust != "human" else ""
        yield dim(f"  {hit.id}  {shown(hit.why)}") + label
        if explain:
            yield from (dim(f"  {name:<14} {_bar(value)} {value:.2f}") for name, value in hit.signals.items())
            yield dim(f"  recorded {ago(hit.at)}")
            if len(hit.sources) > 1:
                yield dim(f"  also said in {', '.join(hit.sources[1:])}")


def _bar(share: float) -> str:
    full = round(share * _BAR)
    return "█" * full + "░" * (_BAR - full)

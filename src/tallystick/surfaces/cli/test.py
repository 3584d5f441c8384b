"""`tallystick test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import whose
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bad, bold, dim, good, width
from tallystick.surfaces.present.text import short
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.records.evaluation import Verdict, Verdicts

_WIDTH = 400


@command(
    "test",
    example="tallystick test questions.yaml",
    exits={0: "done, and every question passed", 1: "a question failed, or refused or not found"},
)
@click.argument("file", type=click.Path())
@whose
def test(call: Call, file: str, user: str | None) -> int:
    """Check that recall still finds known answers

    FILE has questions as YAML or JSON:

    \b
      - ask: what does Ana drink?
        find: [ana-tea, c4f1a5]    # keys and ids of beliefs, ids of episodes: all must be found
        k: 3                       # among so many
      - ask: what do zebras look like?
        nothing: true              # nothing may fit
      - ask: plan the release
        frame: attention           # among what this frame shows
        not: [old-plan]            # must not be found
        says: [Friday]             # words that a hit must have

    Other options of `recall` are keys too: user, session, agent, about, tag, kind, what, since, until, without, at,
    as_of, words, floor, budget, quarantined. Those for every question can be given next to a list `questions:`. A
    belief must be found in its current version. Nothing is written.

    Prints a line for each question, what is wrong with those that fail, and how much was found.
    """
    with call.memory(user=user) as memory, waiting("Asking …"):
        verdicts = memory.test(file)
    call.answer(verdicts.to_dict(), lambda: _page(verdicts))
    return 0 if verdicts.all_passed else 1


def _page(verdicts: Verdicts) -> Iterator[str]:
    for verdict in verdicts:
        yield _line(verdict)
        yield from (f"    {short(line, _WIDTH)}" for line in verdict.wrong)
    yield ""
    parts = [f"{verdicts.passed:,} of {count(len(verdicts), 'question')} passed"]
    if verdicts.share is not None:
        parts.append(f"{verdicts.found:,} of {verdicts.wanted:,} found ({verdicts.share:.0%})")
    if verdicts.mean_place is not None:
        parts.append(f"mean place {verdicts.mean_place:.1f}")
    yield bold("; ".join(parts))


def _line(verdict: Verdict) -> str:
    question = short(verdict.asked.ask or f"the frame {verdict.asked.options['frame']}", width() - 20)
    if verdict.passed:
        places = ", ".join(str(place) for place in verdict.places.values())
        return f"{good('✓')} {question}" + dim(f"  at {short(places, 12)}" if places else "")
    return f"{bad('✗')} {question}" + dim(f"  line {verdict.asked.line}")

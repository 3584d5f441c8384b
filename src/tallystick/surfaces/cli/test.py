"""`tallystick test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import SPECIALIST
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bad, bold, dim, good, width
from tallystick.surfaces.present.text import short
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.records.evaluation import Verdict, Verdicts

_ROOM = 400


@command(
    SPECIALIST[4],
    example="tallystick test questions.yaml",
    exits={0: "done, and every question passed", 1: "a question failed, or refused or not found"},
)
@click.argument("file", type=click.Path())
@whose
@pass_call
def test(call: Call, file: str, user: str | None) -> int:
    """Put questions whose answers are known, to see that recall still finds them

    FILE holds questions as YAML, of which JSON is a part:

    \b
      - ask: what does Ana drink?
        find: [ana-tea, c4f1a5]    # keys and ids of beliefs, ids of episodes: all must be found
        k: 3                       # among so many
      - ask: what do zebras look like?
        nothing: true              # nothing may fit
      - ask: plan the release
        frame: attention           # among what this frame shows
        not: [old-plan]            # must not be found
        says: [Friday]             # words that a hit must hold

    Other options of `recall` are keys too: user, session, agent, about, tag, kind, what, since, until, without, at,
    as_of, words, floor, budget, quarantined. Those that count for every question may stand beside a list
    `questions:`. A belief is looked for in the version that is held now. Nothing is written.

    Prints a line for each question, what is wrong with those that fail, and how much was found.
    """
    with call.memory(user=user) as memory, waiting("Asking …"):
        verdicts = memory.test(file)
    call.answer(verdicts.to_dict(), lambda: _page(verdicts))
    return 0 if verdicts.all_passed else 1


def _page(verdicts: Verdicts) -> Iterator[str]:
    for verdict in verdicts:
        yield _line(verdict)
        yield from (f"    {short(line, _ROOM)}" for line in verdict.wrong)
    yield ""
    yield _summary(verdicts)


def _line(verdict: Verdict) -> str:
    asked = short(verdict.asked.ask or f"the frame {verdict.asked.options['frame']}", width() - 20)
    if verdict.passed:
        places = ", ".join(str(place) for place in verdict.places.values())
        return f"{good('✓')} {asked}" + dim(f"  at {short(places, 12)}" if places else "")
    return f"{bad('✗')} {asked}" + dim(f"  line {verdict.asked.line}")


def _summary(verdicts: Verdicts) -> str:
    parts = [f"{verdicts.passed:,} of {count(len(verdicts), 'question')} passed"]
    if verdicts.share is not None:
        parts.append(f"{verdicts.found:,} of {verdicts.wanted:,} found ({verdicts.share:.0%})")
    if verdicts.mean_place is not None:
        parts.append(f"mean place {verdicts.mean_place:.1f}")
    return bold("; ".join(parts))

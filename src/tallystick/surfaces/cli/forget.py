"""`tallystick forget`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tallystick.records.belief import Belief
from tallystick.surfaces.cli.belief_options import on_path, speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import DAILY
from tallystick.surfaces.cli.tab import complete
from tallystick.surfaces.present.names import episode_named, handle, short_id
from tallystick.surfaces.present.remembered import said
from tallystick.surfaces.present.terminal import bold, dim, width
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import ago

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.episode import Retraction
    from tallystick.records.fact import Fact


@command(DAILY[4], example='tallystick forget ana-tea --reason "she moved away"')
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@click.option("--reason", metavar="TEXT", default="", help="Why it is no longer wanted.")
@click.option("--withdraw", is_flag=True, help="With an episode, the facts that come from it alone as well.")
@on_path
@speaker
@whose
@pass_call
def forget(
    call: Call,
    names: tuple[str, ...],
    reason: str,
    withdraw: bool,
    path: str | None,
    trust: str | None,
    user: str | None,
) -> None:
    """Put beliefs out of sight; they stay in history

    Prints each, and of what was forgotten before, when that was. All of them go, or none. `tallystick show NAME
    --history` still tells what they were; `tallystick erase` is the one that destroys words.

    NAME may be an episode's id: it is recalled and consolidated no more, and the facts that come from it are shown.
    """
    with call.memory(user=user, trust=trust) as memory:
        told = {name: episode for name in names if (episode := episode_named(memory, name))}
        if withdraw and not told:
            raise click.UsageError("--withdraw goes with an episode: tallystick forget EPISODE --withdraw")
        with memory.batch():
            gone = [_forgotten(memory, name, reason, path or "") for name in names if name not in told]
            back = memory.episodes.retract(*told.values(), reason=reason, withdraw=withdraw) if told else None
    found = [belief.to_dict() for belief, _ in gone]
    value = found if back is None else {"beliefs": found, **back.to_dict()}
    call.answer(value, lambda: [*(line for belief, before in gone for line in _gone(belief, before)), *_told(back)])


def _forgotten(memory: Memory, name: str, reason: str, path: str) -> tuple[Belief, Belief | None]:
    """The belief as it is now, and as it was before."""
    before = memory.get(name, path=path)
    belief = memory.forget(name, reason=reason, path=path)
    assert isinstance(belief, Belief)  # the episodes among the names were told apart
    return belief, before


def _gone(belief: Belief, before: Belief | None) -> Iterator[str]:
    if before is None or before.seq != belief.seq:
        yield from said("Forgot", belief, None)
        return
    name, already = shown(handle(belief.key)), f"was forgotten already, {ago(belief.at)}"
    yield f"{bold(name)} {dim(already + ':')} {short(belief.text, width() - len(name) - len(already) - 3)}"


def _told(back: Retraction | None) -> Iterator[str]:
    """What was taken back, and what comes from it."""
    if back is None:
        return
    for episode in back.episodes:
        start = f"Took back {shown(short_id(episode.id))}"
        words = short(episode.content, width() - len(start) - 2)
        yield f"{dim('Took back')} {bold(shown(short_id(episode.id)))}{dim(':')} {words}"
    alone = "was withdrawn with it" if back.withdrawn else "rests on that alone, and stands; --withdraw takes it too"
    yield from _facts(back.resting, alone)
    yield from _facts(back.shared, "rests on other episodes as well, and stands")


def _facts(facts: Sequence[Fact], how: str) -> Iterator[str]:
    for fact in facts:
        says = " → ".join(fact.triple) or str(fact.payload.get("text") or fact.payload.get("content") or "")
        yield f"  {dim(short(handle(fact.id), 24))}  {short(says, 60)}  {dim(how)}"

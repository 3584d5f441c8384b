"""`tallystick forget`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.records.belief import Belief
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.completion import complete
from tallystick.surfaces.cli.options import on_path, speaker, whose
from tallystick.surfaces.present.names import episode_named, handle, short_id
from tallystick.surfaces.present.terminal import bold, dim, outcome, width
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import ago

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.episode import Retraction


@command("forget", example='tallystick forget ana-tea --reason "she moved away"')
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@click.option("--reason", metavar="TEXT", default="", help="Why it is no longer wanted.")
@click.option("--withdraw", is_flag=True, help="With an episode, forget the facts that come from it alone as well.")
@on_path
@speaker
@whose
def forget(
    call: Call, names: tuple[str, ...], reason: str, withdraw: bool, path: str | None, trust: str | None,
    user: str | None,
) -> None:  # fmt: skip
    """Hide beliefs from recall; history stays

    Prints each, and when it was forgotten if it was before. All are forgotten, or none. `tallystick show NAME
    --history` still shows them; `tallystick erase` is the command that destroys words.

    NAME may be an episode's id: it is no longer recalled or consolidated, and the facts that come from it are listed.
    """
    with call.memory(user=user, trust=trust) as memory:
        episodes = {name: episode for name in names if (episode := episode_named(memory, name))}
        if withdraw and not episodes:
            raise click.UsageError("--withdraw goes with an episode: tallystick forget EPISODE --withdraw")
        with memory.batch():
            beliefs = [_forget(memory, name, reason, path or "") for name in names if name not in episodes]
            retraction = None
            if episodes:
                retraction = memory.episodes.retract(*episodes.values(), reason=reason, withdraw=withdraw)
    found = [belief.to_dict() for belief, _ in beliefs]
    call.answer(
        found if retraction is None else {"beliefs": found, **retraction.to_dict()},
        lambda: [*(line for _, line in beliefs), *(_retracted(retraction) if retraction else ())],
    )


def _forget(memory: Memory, name: str, reason: str, path: str) -> tuple[Belief, str]:
    """The forgotten belief, and the line about it."""
    before = memory.get(name, path=path)
    belief = memory.forget(name, reason=reason, path=path)
    assert isinstance(belief, Belief)  # episodes go another way
    if before is None or before.seq != belief.seq:
        return belief, outcome("Forgot", handle(belief.key), belief.text)
    name, already = shown(handle(belief.key)), f"was already forgotten, {ago(belief.at)}"
    return belief, f"{bold(name)} {dim(already + ':')} {short(belief.text, width() - cells(f'{name} {already}: '))}"


def _retracted(retraction: Retraction) -> Iterator[str]:
    """The retracted episodes, and the facts that come from them."""
    for episode in retraction.episodes:
        yield outcome("Retracted", short_id(episode.id), episode.content)
    alone = "withdrawn with it" if retraction.withdrawn else "has no other source, and stays; --withdraw removes it too"
    for facts, how in ((retraction.resting, alone), (retraction.shared, "has other sources, and stays")):
        for fact in facts:
            words = " → ".join(fact.triple) or str(fact.payload.get("text") or fact.payload.get("content") or "")
            yield f"  {dim(short(handle(fact.id), 24))}  {short(words, 60)}  {dim(how)}"

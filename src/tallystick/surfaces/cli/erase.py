"""`tallystick erase`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.records.errors import Refused
from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, on_a_terminal, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import DAILY
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.cli.tab import complete
from tallystick.surfaces.present.beliefs import table
from tallystick.surfaces.present.copies import copies_in
from tallystick.surfaces.present.names import episode_named, short_id
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count, their

if TYPE_CHECKING:
    from tallystick.records.status import Erasure


@command(DAILY[5], example="tallystick erase ana-tea --yes", exits={1: "refused, not found, or answered with no"})
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@click.option("--yes", is_flag=True, help="Do not ask; for scripts.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and stop.")
@speaker
@whose
@pass_call
def erase(call: Call, names: tuple[str, ...], yes: bool, dry_run: bool, trust: str | None, user: str | None) -> None:
    """Destroy the words of beliefs or episodes; the proof stays

    NAME is a belief's or an episode's, or that of something else that has words, with what it is before it: `page:`
    (description, title, tags), `path:` (and all that was said on it), `source:` (why it is not trusted), `frame:`,
    `rule:`, `setting:`, `receipt:` (and its question), `session:`, `node:` (of the graph) or `graph:metadata`.

    Shows what would go and asks first. The words of every version of each NAME go, here and in the backups inside the
    folder, and cannot be brought back. That something stood there stays provable. Copies elsewhere are
    named, not reached.
    """
    with call.memory(user=user, trust=trust) as memory:
        names = tuple(episode_named(memory, name) or name for name in names)
        going = memory.preview_erase(*names)
        if dry_run:
            call.answer({**going.to_dict(), "erased": False}, lambda: _what(going, memory.folder))
            return
        if not yes and memory.trust == "human":  # anyone else is held at the gate, and a person asked there
            _ask(call, going, memory.folder)
        with waiting("Erasing …"):
            gone = memory.erase(*names)
    call.answer({**gone.to_dict(), "erased": True}, lambda: _done(gone))


def _ask(call: Call, going: Erasure, folder: Path) -> None:
    if call.json or not on_a_terminal():
        raise Refused(
            "erasing cannot be undone, and nobody is here to ask; see it with --dry-run, do it with --yes",
            "unconfirmed",
        )
    click.echo("\n".join(_what(going, folder)))
    if not click.confirm("\nDestroy these words for good?"):
        raise Refused("nothing was erased", "unconfirmed")


def _what(going: Erasure, folder: Path) -> Iterator[str]:
    number = len(going.beliefs) + len(going.episodes) + len(going.things)
    yield bold(f"{_counted(going)} would lose {their(number or 1)} words:")
    yield from table(list(going.beliefs), "  ")
    yield from (f"  {dim(short(short_id(episode.id), 24))}  {short(episode.content, 60)}" for episode in going.episodes)
    yield from (f"  {shown(each)}" for each in going.things)
    yield ""
    yield f"  {count(going.events, 'event')} of the ledger"
    if copies := copies_in(folder):
        yield f"  {count(len(copies), 'backup')} inside {shown(str(folder))}"
    yield from _elsewhere(going, "would not be reached")


def _done(gone: Erasure) -> Iterator[str]:
    events = dim(f", {count(gone.events, 'event')} of the ledger")
    yield f"{dim('Erased')} {bold(_counted(gone))}{events}"
    yield from _elsewhere(gone, "were not reached")


def _counted(going: Erasure) -> str:
    numbers = (len(going.beliefs), "belief"), (len(going.episodes), "episode"), (len(going.things), "other thing")
    return " and ".join(count(number, what) for number, what in numbers if number) or "what waited for a yes"


def _elsewhere(going: Erasure, how: str) -> Iterator[str]:
    if going.elsewhere:
        yield warn(f"  copies elsewhere {how}; remove them yourself, or erase there too:")
        yield from (f"    {shown(place)}" for place in going.elsewhere)

"""`tallystick erase`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.completion import complete
from tallystick.surfaces.cli.options import speaker, whose, yes as yes_option
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.beliefs import table
from tallystick.surfaces.present.names import copies_in, episode_named, short_id
from tallystick.surfaces.present.terminal import bold, dim, warn
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count, their

if TYPE_CHECKING:
    from tallystick.records.status import Erasure


@command("erase", example="tallystick erase ana-tea --yes", exits={1: "refused, not found or declined"})
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@yes_option
@click.option("--dry-run", is_flag=True, help="Show what would be erased, and stop.")
@speaker
@whose
def erase(call: Call, names: tuple[str, ...], yes: bool, dry_run: bool, trust: str | None, user: str | None) -> None:
    """Destroy the words of beliefs or episodes; the proof stays

    NAME is a belief's or an episode's, or that of something else that has words, with its kind in front: `page:`
    (description, title, tags), `path:` (and everything said on it), `source:` (why it is not trusted), `frame:`,
    `rule:`, `setting:`, `receipt:` (and its question), `session:`, `node:` (of the graph) or `graph:metadata`.

    Prints what would be erased and asks first. The words of every version of each NAME are destroyed, here and in the
    backups inside the folder, and cannot be recovered. It stays provable that something was recorded. Copies elsewhere
    are listed, not reached.
    """
    with call.memory(user=user, trust=trust) as memory:
        names = tuple(episode_named(memory, name) or name for name in names)
        preview = memory.preview_erase(*names)
        if dry_run:
            call.answer({**preview.to_dict(), "erased": False}, lambda: _plan(preview, memory.folder))
            return
        if not yes and memory.trust == "human":  # anyone else needs a person's approval
            unattended = "erasing cannot be undone; preview it with --dry-run, confirm with --yes"
            question = "Destroy these words for good?"
            call.confirm(
                question, lambda: _plan(preview, memory.folder), unattended=unattended, no="nothing was erased"
            )
        with waiting("Erasing …"):
            erased = memory.erase(*names)
    call.answer({**erased.to_dict(), "erased": True}, lambda: _done(erased))


def _plan(preview: Erasure, folder: Path) -> Iterator[str]:
    number = len(preview.beliefs) + len(preview.episodes) + len(preview.things)
    yield bold(f"{_counts(preview)} would lose {their(number or 1)} words:")
    yield from table(list(preview.beliefs), "  ")
    for episode in preview.episodes:
        yield f"  {dim(short(short_id(episode.id), 24))}  {short(episode.content, 60)}"
    yield from (f"  {shown(each)}" for each in preview.things)
    yield ""
    yield f"  {count(preview.events, 'event')} of the ledger"
    if copies := copies_in(folder):
        yield f"  {count(len(copies), 'backup')} inside {shown(str(folder))}"
    yield from _elsewhere(preview, "would not be reached")


def _done(erased: Erasure) -> Iterator[str]:
    events = dim(f", {count(erased.events, 'event')} of the ledger")
    yield f"{dim('Erased')} {bold(_counts(erased))}{events}"
    yield from _elsewhere(erased, "were not reached")


def _counts(erasure: Erasure) -> str:
    numbers = (len(erasure.beliefs), "belief"), (len(erasure.episodes), "episode"), (len(erasure.things), "other thing")
    return " and ".join(count(number, what) for number, what in numbers if number) or "what needed approval"


def _elsewhere(erasure: Erasure, how: str) -> Iterator[str]:
    if erasure.elsewhere:
        yield warn(f"  copies elsewhere {how}; remove them yourself, or erase there too:")
        yield from (f"    {shown(place)}" for place in erasure.elsewhere)

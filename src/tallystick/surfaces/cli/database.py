"""Memories in a database: making one ready, moving one there and back, sweeping, and the settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.memory.maintenance.database import prepare, sweep as sweep_database
from tallystick.memory.settings import TEMPLATE
from tallystick.surfaces.cli.command import BY, Call, command, progress, waiting
from tallystick.surfaces.cli.options import FilePath, option
from tallystick.surfaces.present.names import ago, count
from tallystick.surfaces.present.text import dim, outcome, row, shown, warn

if TYPE_CHECKING:
    from tallystick.records.status import Sweep


def prepare_database(call: Call, address: str) -> None:
    """`tallystick init` with an address."""
    done = prepare(address, by=BY)
    hint = "its password is shown this once" if done.has_password else "with its password, if it has one"
    page = [outcome("Created" if done.is_new else "Already there:", done.place)]
    page.append(f"{dim('Programs open it as')} {shown(done.address)} {dim(f'({hint})')}")
    call.answer({"place": done.place, "new": done.is_new, "address": done.address}, page)


@command("settings", "tallystick settings > settings.toml", "tallystick settings --from settings.toml")
@option("source --from FILE", "Put what that file says in their place.", type=FilePath())
def settings(call: Call, source: str | None) -> None:
    """Prints them as TOML: those of a folder are its `tallystick.toml`, and a database keeps them beside the ledger. If
    nothing is set, prints what there is to set. A text that cannot be read is refused, and nothing is changed.
    """
    with call.memory(read_only=source is None) as memory:
        if source is not None:
            memory.replace_settings(Path(source).read_text("utf-8", "replace"))
        text = memory.settings_text()
    if source is not None:
        call.answer({"settings": text}, [outcome("Set from", source)])
    else:
        call.answer({"settings": text}, (text or TEMPLATE).rstrip("\n").split("\n"))


@command(
    "sweep",
    "tallystick sweep postgresql://tallystick_sweeper@localhost/memory",
    exits={0: "done: no erased word is left in the files", 3: "not all is done: what is in the way is printed"},
)
@click.argument("address")
@option("wait --wait SECONDS", "Wait so long for what is in the way.  [60]", type=click.IntRange(0), default=60)
def sweep(call: Call, address: str, wait: int) -> int:
    """In a database, an erasure hides its words at once, but its files still have them: in removed rows, and in the log
    by which it recovers from a crash. This rewrites those tables and waits until the log has been overwritten.
    ADDRESS is the database's, or that of one ledger in it; the role needs rights that are printed where they are
    lacking. Prints each erasure, when it was completed, and the copies that are not reached. Run it once a day.
    """
    with waiting("Sweeping …"):
        done = sweep_database(address, by=BY, timeout=wait)
    call.answer(done, _swept(done))
    return 3 if done.pending else 0


def _swept(done: Sweep) -> Iterator[str]:
    for each in done.destroyed:
        yield outcome("Destroyed", each.place, f"the words of event {each.event}, hidden {ago(each.hidden)}")
    if done.destroyed:
        yield from row("not reached", ", ".join(done.destroyed[0].unreached))
    if done.pending:
        yield warn(f"{count(done.pending, 'erasure')} not completed: {shown(done.trouble or _UNRECORDED)}")
    elif not done.destroyed:
        yield dim("nothing to destroy")


_UNRECORDED = "destroyed, but not recorded: this user has no pass key; sweep again as a user who has it"


@command(
    "move",
    "tallystick move ~/.tallystick 'postgresql://postgres@localhost/memory?ledger=notes'",
    "tallystick move 'postgresql://tallystick_app@localhost/memory?ledger=notes' notes",
    without=("folder",),
)
@click.argument("source", type=FilePath())
@click.argument("target", type=FilePath())
def move(call: Call, source: str, target: str) -> None:
    """One of SOURCE and TARGET is a folder, and one the address of a ledger. The address of a database to which a
    memory moves is its owner's, as for `tallystick init`; a folder to which one moves is new or empty. Every line is
    the same there, so old proofs, checkpoints and pins hold. SOURCE stays, and can only be read from then on. If this
    is interrupted, the same command goes on where it stopped. Prints where the memory is, and how many events it has.
    """
    from tallystick.memory.maintenance.move import move as move_memory

    done = move_memory(source, target, by=BY, bar=lambda total: progress("Moving …", total))
    page = [f"{outcome('Moved to', done.target)}{dim(': ' + count(done.events, 'event'))}"]
    if done.how == "done before":
        page = [outcome("Moved there before:", done.target)]
    if done.address:
        page.append(f"{dim('Programs open it as')} {shown(done.address)}")
    page.append(dim(f"{shown(done.source)} can only be read from now on, and still has all words"))
    call.answer(done, page)

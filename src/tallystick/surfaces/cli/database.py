"""Memories in a database: making one ready, moving one there and back, and the settings, which have no file there."""

from pathlib import Path

import click

from tallystick.memory.maintenance.database import prepare
from tallystick.memory.settings import TEMPLATE
from tallystick.surfaces.cli.command import BY, Call, command, progress
from tallystick.surfaces.cli.options import FilePath, option
from tallystick.surfaces.present.names import count
from tallystick.surfaces.present.text import dim, outcome, shown


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

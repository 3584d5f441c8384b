"""Memories in a database: making one ready, and the settings, which have no file there."""

from pathlib import Path

from tallystick.memory.maintenance.database import prepare
from tallystick.memory.settings import TEMPLATE
from tallystick.surfaces.cli.command import BY, Call, command
from tallystick.surfaces.cli.options import FilePath, option
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

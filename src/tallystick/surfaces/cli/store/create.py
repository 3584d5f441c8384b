"""`tallystick store create`."""

from __future__ import annotations

from pathlib import Path

from tallystick.stores.phase.workspace import create as make
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.store.given import folder, store_command
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown


@store_command("create", example="tallystick store create notes")
@folder
@pass_call
def create(call: Call, folder: str) -> None:
    """Make an empty workspace

    DIR is made if it is not there. A folder with other things in it is refused; a workspace that is there already stays
    as it is. Prints where it is.
    """
    made = make(folder)
    said = "Made an empty workspace at" if made else "Nothing to do: there is a workspace at"
    answer = {"folder": str(Path(folder).absolute()), "made": made}
    call.answer(answer, lambda: [f"{dim(said)} {bold(shown(folder))}"])

"""`keepsake store create`."""

from __future__ import annotations

from pathlib import Path

from keepsake.stores.phase.workspace import create as make
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.store.given import folder, store_command
from keepsake.surfaces.present.terminal import bold, dim
from keepsake.surfaces.present.text import shown


@store_command("create", example="keepsake store create notes")
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

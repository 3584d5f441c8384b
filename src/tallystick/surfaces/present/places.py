"""Folders as people write them: `~` for their home."""

from __future__ import annotations

import os
from pathlib import Path

from tallystick.surfaces.present.text import shown


def short_path(path: str | os.PathLike[str]) -> str:
    """A path below the home begins with `~`; any other is shown whole."""
    home, whole = Path(os.path.expanduser("~")), Path(path)
    if home != Path("/") and whole.is_relative_to(home):
        return shown(str("~" / whole.relative_to(home)))
    return shown(str(whole))

"""Names as people read and type them: of beliefs, episodes, clients, folders and backups."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.records import ids
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

DOORS = {
    "cli": "at the command line", "python": "from Python", "mcp": "by an MCP client", "page": "on the page",
    "http": "over HTTP", "rules": "by a rule",
}  # fmt: skip


def handle(key: str) -> str:
    """The name that a person types for a belief: its key, or the last six characters of a generated id."""
    return key[-6:] if ids.BELIEF_ID.match(key) else key


def short_id(name: str) -> str:
    """The last six characters of a generated id of a belief or an episode; a caller's own name as it is."""
    return name[-6:] if ids.BELIEF_ID.match(name) or ids.EVENT_ID.match(name) else name


def episode_named(memory: Memory, name: str) -> str:
    """The name, if it is an episode's; empty if it is a belief's or unknown."""
    return name if memory.get(name) is None and memory.episodes.find(name) else ""


def short_path(path: str | os.PathLike[str]) -> str:
    """A path as people write it: below the home it begins with `~`."""
    home, whole = Path(os.path.expanduser("~")), Path(path)
    if home != Path("/") and whole.is_relative_to(home):
        return shown(str("~" / whole.relative_to(home)))
    return shown(str(whole))


def copies_in(folder: Path) -> list[Path]:
    """The backups inside a memory folder, newest last, without one that is still being written."""
    return sorted(path for path in (folder / "backup").glob("*") if path.is_dir() and path.suffix != ".new")

"""How a belief or an episode is named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.records import ids

DOORS = {
    "cli": "at the command line", "python": "from Python", "mcp": "by an MCP client", "page": "on the page",
    "http": "over HTTP", "rules": "by a rule",
}  # fmt: skip

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory


def handle(key: str) -> str:
    """What a person types for a belief: its key, or the last six characters of an id that tallystick drew."""
    return key[-6:] if ids.BELIEF_ID.match(key) else key


def short_id(name: str) -> str:
    """The last six characters of an id that was made here for a belief or an episode; a caller's own name as it is."""
    return name[-6:] if ids.BELIEF_ID.match(name) or ids.EVENT_ID.match(name) else name


def episode_named(memory: Memory, name: str) -> str:
    """The name, if it is an episode's; empty if it is nobody's, or a belief's."""
    return name if memory.get(name) is None and memory.episodes.find(name) else ""

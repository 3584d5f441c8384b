"""Further tools, for clients that know another memory's. A profile is a module with `TOOLS`, loaded when named."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.surfaces.mcp.tool import Tool

PROFILES = {
    "reference": "tallystick.surfaces.mcp.profiles.reference",
    "chatgpt": "tallystick.surfaces.mcp.profiles.chatgpt",
    "claude": "tallystick.surfaces.mcp.profiles.claude",
    "pages": "tallystick.surfaces.mcp.profiles.pages",
}


def tools_of(name: str) -> tuple[Tool, ...]:
    """The tools of a profile, in their order."""
    tools: tuple[Tool, ...] = import_module(PROFILES[name]).TOOLS
    return tools

"""Further tools, for clients that know another memory's. A profile is a module with `TOOLS`, loaded when named."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.surfaces.mcp.tool import Tool

PROFILES = ("reference", "chatgpt", "claude", "pages")


def tools_of(name: str) -> tuple[Tool, ...]:
    tools: tuple[Tool, ...] = import_module(f"{__name__}.{name}").TOOLS
    return tools

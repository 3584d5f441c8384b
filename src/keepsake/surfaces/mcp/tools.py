"""The tools that every server has, in their order."""

from __future__ import annotations

from keepsake.surfaces.mcp.tool import Tool

TOOLS: tuple[Tool, ...] = ()

"""The tools that every server has, in their order. Eight are the most that a model should have to choose from."""

from tallystick.surfaces.mcp.tool import Tool
from tallystick.surfaces.mcp.tools.read import GET, RECALL, TIMELINE
from tallystick.surfaces.mcp.tools.write import FORGET, REMEMBER, REVIEW, REVISE, STATUS

TOOLS: tuple[Tool, ...] = (REMEMBER, RECALL, GET, TIMELINE, REVISE, REVIEW, FORGET, STATUS)

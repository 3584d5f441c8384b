"""Calling the tools of a profile as the server does, without the server. Every answer is as its schema says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jsonschema

from tallystick import Memory
from tallystick.surfaces.mcp.profiles import tools_of
from tallystick.surfaces.mcp.server import defined
from tallystick.surfaces.mcp.tool import Tool
from tallystick.surfaces.server.worker import CallContext


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool answered."""

    text: str
    data: dict[str, Any]


class Profile:
    """The tools of one profile over one memory, by their names."""

    def __init__(self, memory: Memory, name: str) -> None:
        self.desk = CallContext(memory, None, "s1", "bot")
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools_of(name)}

    def __call__(self, tool: str, /, **given: Any) -> Told:
        asked = self.tools[tool]
        answer = asked.run(self.desk, asked.takes.model_validate(asked.arguments(given)))
        data = answer.model_dump(mode="json", exclude_none=True)
        jsonschema.validate(data, {**defined(asked).output_schema, "additionalProperties": False})
        return Told(answer.text(), data)

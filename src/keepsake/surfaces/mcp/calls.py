"""How a call of a tool is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from keepsake.records.errors import KeepsakeError
from keepsake.surfaces.mcp.holder import Holder
from keepsake.surfaces.mcp.tool import Answer, Tool

Context = ServerRequestContext[Any, Any]


class Calls:
    """The tools of one server, to be called."""

    def __init__(self, hold: Holder, tools: Sequence[Tool]) -> None:
        self._hold, self._tools = hold, {tool.name: tool for tool in tools}

    async def answer(self, _: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The answer to one call; what is refused is an answer too, in one line."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool; there are {', '.join(self._tools)}")
        try:
            args = tool.takes.model_validate(tool.meant(params.arguments or {}))
            return said(await self._hold.run(lambda desk: tool.run(desk, args)))
        except (KeepsakeError, ValidationError) as error:
            return refused(str(error))


def said(answer: Answer) -> types.CallToolResult:
    text = types.TextContent(type="text", text=answer.text())
    return types.CallToolResult(content=[text], structured_content=answer.model_dump(mode="json"))


def refused(line: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=line)], is_error=True)

"""The server, whatever carries its messages: the tools it lists, and how each call is answered.

Both eras of the protocol are served: the one that begins with a handshake and the one where each request stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from keepsake.surfaces.mcp.calls import Calls
from keepsake.surfaces.mcp.definition import defined
from keepsake.surfaces.mcp.holder import Holder
from keepsake.surfaces.mcp.tool import Tool

NAME = "keepsake"
Context = ServerRequestContext[Any, Any]


def made(hold: Holder, tools: Sequence[Tool], **handlers: Any) -> Server[Any]:
    """A server of these tools, in this order. `handlers` are those of resources, prompts and completion, if any."""
    listed = [defined(tool) for tool in tools]
    calls = Calls(hold, tools)

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    return _Served(NAME, on_list_tools=list_tools, on_call_tool=calls.answer, **handlers)


class _Served(Server[Any]):
    """The same, whoever carries it: with a handshake too, it says that it tells when the list of resources changes."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> InitializationOptions:  # fmt: skip
        told = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(told, *more, **named)

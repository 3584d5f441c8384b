"""The server at the end of a pipe: standard input and output belong to the protocol, and to nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp.server.stdio import stdio_server

from keepsake.surfaces.mcp.holder import Holder
from keepsake.surfaces.mcp.server import made
from keepsake.surfaces.mcp.tool import Tool


async def serve(hold: Holder, tools: Sequence[Tool], **handlers: Any) -> None:
    """Answer one client until it closes the pipe."""
    server = made(hold, tools, **handlers)
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        await hold.close()

"""A scene between the server and a client, in this process, in either era of the protocol."""

import asyncio

import mcp_types as types
import pytest
from mcp import Client

from tallystick.surfaces.mcp.server import made
from tallystick.surfaces.mcp.tools import TOOLS

MODERN = "2026-07-28"
both_eras = pytest.mark.parametrize("era", ["legacy", MODERN])
YES = types.ElicitResult(action="accept", content={"answer": "yes"})


def play(hold, scene, *, era, reply=YES, shown=None, tools=TOOLS):
    """Run a scene with a client whose person replies so; what they were shown goes into `shown`."""

    async def answer(_, params):
        if shown is not None:
            shown.append(params.message)
        return reply() if callable(reply) else reply

    async def go():
        how = {"elicitation_callback": answer} if reply is not None else {}
        try:
            async with Client(made(hold, tools), mode=era, **how) as client:
                return await scene(client)
        finally:
            await hold.close()

    return asyncio.run(asyncio.wait_for(go(), 120))


def calling(name, **given):
    return lambda client: client.call_tool(name, given)


def line(result):
    return result.content[0].text

"""A memory with a few things in it, and the tools, called as the server calls them."""

from functools import partial
from typing import Any

import pytest

from tallystick import Memory
from tallystick.surfaces.mcp.server import _read
from tallystick.surfaces.mcp.tools import TOOLS
from tallystick.surfaces.server.worker import CallContext, MemoryWorker, Person

BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.fixture
def owner(folder):
    """The person whose memory it is."""
    with Memory(folder, by="cli:local") as memory:
        yield memory


@pytest.fixture
def tea(owner):
    """What the person stated."""
    return owner.remember("Ana prefers tea over coffee", about="person-ana", tags=["taste"]).id


@pytest.fixture
def agent(folder):
    """The memory as a server holds it."""
    with Memory(folder, by="mcp:local", trust="agent") as memory:
        yield memory


@pytest.fixture
def memory(home):
    """The default memory, as an agent has it."""
    with Memory(trust="agent", by="mcp:test") as opened:
        yield opened


@pytest.fixture
def call(agent):
    """Call a tool with what a model sends; what it answers."""

    def call(name: str, /, **given: Any) -> Any:
        tool = BY_NAME[name]
        return tool.run(CallContext(agent), _read(tool, given))

    return call


@pytest.fixture
def hold(folder):
    """One memory in one thread, and a door for a person's own word."""
    opens = partial(Memory, folder)
    person = Person("elicit:local", partial(opens, by="elicit:local", trust="human"))
    return MemoryWorker(partial(opens, by="mcp:local", trust="agent"), person=person)

"""`tallystick mcp`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.belief import OWNER, TRUST
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import SERVE
from tallystick.surfaces.cli.mcp_http import over_http, place
from tallystick.surfaces.mcp.profiles import PROFILES, tools_of
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.mcp.tool import Tool
    from tallystick.surfaces.server.worker import MemoryWorker


@command(
    SERVE[0],
    example="""
tallystick mcp
tallystick mcp --agent claude-code
tallystick mcp -C ./notes --trust tool""",
    without=["json", "jsonl"],
)
@click.option(
    "profiles", "--profile", multiple=True, type=click.Choice(tuple(PROFILES)), metavar="NAME",
    help="Offer another memory's tools too: reference, chatgpt, claude, pages. Repeat for more.",
)  # fmt: skip
@click.option(
    "--trust", type=click.Choice(TRUST), default="agent", metavar="WHO",
    help="As whom the client speaks: human, agent, tool, web, import.  [agent]",
)  # fmt: skip
@click.option("--session", metavar="NAME", default="", help="The session of what is said, where a call names none.")
@click.option("--agent", metavar="NAME", default="", help="The agent that speaks; it is a source of its own.")
@over_http
@whose
@pass_call
def mcp(
    call: Call, /, profiles: tuple[str, ...], trust: str, session: str, agent: str, user: str | None, **http: Any
) -> None:  # fmt: skip
    """Serve the memory to a client of the Model Context Protocol

    Speaks the protocol on standard input and output until the client closes them, and prints a line on standard error
    when it is ready. Makes the memory if there is none. All that it does is done for one user, whatever a client asks.

    What a client says has the trust of an agent: what a person stated is changed only with a person's yes, which is
    asked for in the client, if it can do that, or waits in `tallystick review`.

    With --http it serves any number of clients over HTTP, on this machine alone unless told otherwise, until Ctrl-C.
    Each must say the token, which is made on the first start; standard error names the address and where the token is.
    """
    need_the_package()
    import asyncio

    speak_on_standard_error()
    where, chosen = place(**http), tools(profiles)
    hold = holder(call, OWNER if user is None else user, trust, session, agent)
    if where is not None:
        from tallystick.surfaces.mcp.http import serve as serve_http

        asyncio.run(serve_http(hold, chosen, where, note=call.note, renew=http["new_token"]))
        return
    from tallystick.surfaces.mcp.offers import Offers
    from tallystick.surfaces.mcp.transport import serve

    call.note(f"tallystick: serving {shown(str(call.locate()))} as {trust}, {count(len(chosen), 'tool')}")
    if sys.stdin.isatty():
        call.note("tallystick: this speaks to programs; `tallystick connect` lets one start it. Ctrl-C ends it")
    handlers: dict[str, Any] = Offers(hold).handlers
    asyncio.run(serve(hold, chosen, **handlers))


def need_the_package() -> None:
    """Refused, with the line that installs it, if the package of the protocol is missing."""
    if find_spec("mcp") is None:
        raise Refused("the MCP server needs the package mcp: pip install '.[serve]' in a checkout", "unavailable")


def speak_on_standard_error() -> None:
    """What packages log is a line each, on standard error, without a trace."""
    import logging

    class Plainly(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return f"tallystick: {short(record.getMessage(), 300)}"

    handler = logging.StreamHandler()
    handler.setFormatter(Plainly())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def tools(profiles: Sequence[str]) -> tuple[Tool, ...]:
    """The eight tools, then those of the profiles, in an order that does not depend on how they were named."""
    from tallystick.surfaces.mcp.tools import TOOLS

    found = TOOLS + tuple(tool for name in PROFILES if name in profiles for tool in tools_of(name))
    names = [tool.name for tool in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Refused(f"two of these profiles have a tool {twice!r}; serve each of them by itself", "duplicate")
    return found


def holder(call: Call, user: str, trust: str, session: str, agent: str) -> MemoryWorker:
    """The memory that is served."""
    from tallystick.memory.memory import Memory

    opens = partial(Memory, call.free(), user=user, tell=lambda what: call.note(f"tallystick: {shown(what)}"))
    return as_mcp(call, opens, user, trust, session=session, agent=agent)


def as_mcp(
    call: Call, opens: Callable[..., Memory], user: str, trust: str, *, session: str = "", agent: str = ""
) -> MemoryWorker:  # fmt: skip
    """A memory that `opens` opens, held for clients. What a person says through one has a door of its own."""
    from tallystick.surfaces.server.worker import MemoryWorker, Person

    source = source_of(agent)
    door = f"elicit:{source}"
    person = Person(door, partial(opens, by=door, trust="human"), options_of(call, user))
    return MemoryWorker(partial(opens, by=f"mcp:{source}", trust=trust), person=person, session=session, agent=agent)


def options_of(call: Call, user: str) -> str:
    """What a command needs to mean the same memory."""
    from shlex import quote

    named = f" -C {quote(str(Path(call.folder).absolute()))}" if call.folder else ""
    return named + (f" --user {quote(user)}" if user != OWNER else "")


def source_of(agent: str) -> str:
    """An opaque id that stays: the same agent started again is the same source, and bears out nothing that it said."""
    from hashlib import sha256

    return sha256(agent.encode()).hexdigest()[:8] if agent else "local"

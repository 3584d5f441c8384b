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
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import whose
from tallystick.surfaces.mcp.profiles import PROFILES, tools_of
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.mcp.tool import Tool
    from tallystick.surfaces.server.listen import Where
    from tallystick.surfaces.server.worker import MemoryWorker

profiles_option = click.option(
    "profiles", "--profile", multiple=True, type=click.Choice(tuple(PROFILES)), metavar="NAME",
    help="Offer other tools over MCP too: reference, chatgpt, claude, pages. Repeat for more.",
)  # fmt: skip
agent_option = click.option("--agent", metavar="NAME", default="", help="The agent that speaks, as a separate source.")


@command(
    "mcp",
    example="""
tallystick mcp
tallystick mcp --agent claude-code
tallystick mcp -C ./notes --trust tool""",
    without=["json", "jsonl"],
)
@profiles_option
@click.option(
    "--trust", type=click.Choice(TRUST), default="agent", metavar="WHO",
    help="As whom the client speaks: human, agent, tool, web, import.  [agent]",
)  # fmt: skip
@click.option("--session", metavar="NAME", default="", help="The session, where a call names none.")
@agent_option
@click.option("--http", is_flag=True, help="Serve over HTTP, to any number of clients that have the token.")
@click.option("--host", metavar="ADDRESS", help="With --http: the address to listen on.  [127.0.0.1]")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="With --http: the port; 0: any free one.  [8722]"
)
@click.option(
    "--allow", multiple=True, metavar="NAME",
    help="With --http: another host name that clients may use, such as a proxy's. Repeat for more.",
)  # fmt: skip
@click.option(
    "--new-token", is_flag=True,
    help="With --http: replace the token; a running server accepts the old one until it ends.",
)  # fmt: skip
@whose
def mcp(
    call: Call, /, profiles: tuple[str, ...], trust: str, session: str, agent: str, user: str | None, **http: Any
) -> None:  # fmt: skip
    """Serve the memory to an MCP client

    Speaks the Model Context Protocol on standard input and output until the client closes them, and prints a line on
    standard error when it is ready. Creates the memory if there is none. It serves one user, whatever a client asks.

    A client has the trust of an agent: changing what a person stated needs a person's approval, which is asked for in
    the client if it can do that, or is pending in `tallystick review`.

    With --http it serves any number of clients over HTTP, on this machine only by default, until Ctrl-C. Each must send
    the token, which is created on the first start; standard error names the address and where the token is.
    """
    need_the_package()
    import asyncio

    log_to_standard_error()
    where, chosen = _where(**http), tools(profiles)
    worker = holder(call, OWNER if user is None else user, trust, session, agent)
    if where is not None:
        from tallystick.surfaces.serve.app import serve_mcp

        asyncio.run(serve_mcp(worker, chosen, where, note=call.note, renew=http["new_token"]))
        return
    from tallystick.surfaces.mcp.server import Offers
    from tallystick.surfaces.mcp.transport import serve

    call.note(f"tallystick: serving {shown(str(call.locate()))} as {trust}, {count(len(chosen), 'tool')}")
    if sys.stdin.isatty():
        call.note("tallystick: this is for programs; `tallystick connect` sets one up. Ctrl-C ends it")
    handlers: dict[str, Any] = Offers(worker).handlers
    asyncio.run(serve(worker, chosen, **handlers))


def _where(http: bool, host: str | None, port: int | None, allow: tuple[str, ...], new_token: bool) -> Where | None:
    """The address to serve over HTTP; None without --http."""
    given = {"--host": host, "--port": port, "--allow": allow or None, "--new-token": new_token or None}
    if not http:
        if stray := next((name for name, value in given.items() if value is not None), ""):
            raise click.UsageError(f"{stray} needs --http")
        return None
    from tallystick.surfaces.server.listen import HOST, PORT, Where

    return Where(host or HOST, PORT if port is None else port, allow)


def need_the_package() -> None:
    """Refuse, with the line that installs it, if the package of the protocol is missing."""
    if find_spec("mcp") is None:
        raise Refused("the MCP server needs the package mcp: pip install '.[serve]' in a checkout", "unavailable")


def log_to_standard_error() -> None:
    """Print what packages log on standard error, a line each, without a traceback."""
    import logging

    class OneLine(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return f"tallystick: {short(record.getMessage(), 300)}"

    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def tools(profiles: Sequence[str]) -> tuple[Tool, ...]:
    """The eight tools, then those of the profiles, in an order that does not depend on how they were named."""
    from tallystick.surfaces.mcp.tools import TOOLS

    found = TOOLS + tuple(tool for name in PROFILES if name in profiles for tool in tools_of(name))
    names = [tool.name for tool in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Refused(f"two of these profiles have a tool {twice!r}; serve them separately", "duplicate")
    return found


def holder(call: Call, user: str, trust: str, session: str, agent: str) -> MemoryWorker:
    """The memory to serve."""
    from tallystick.memory.memory import Memory

    opens = partial(Memory, call.usable(), user=user, tell=call.warn)
    return as_mcp(call, opens, user, trust, session=session, agent=agent)


def as_mcp(
    call: Call, opens: Callable[..., Memory], user: str, trust: str, *, session: str = "", agent: str = ""
) -> MemoryWorker:  # fmt: skip
    """A memory opened by `opens`, for clients. What a person answers through one is a source of its own."""
    from tallystick.surfaces.server.worker import MemoryWorker, Person

    source = source_of(agent)
    by = f"elicit:{source}"
    person = Person(by, partial(opens, by=by, trust="human"), options_of(call, user))
    return MemoryWorker(partial(opens, by=f"mcp:{source}", trust=trust), person=person, session=session, agent=agent)


def options_of(call: Call, user: str) -> str:
    """The options with which a command uses the same memory."""
    from shlex import quote

    named = f" -C {quote(str(Path(call.folder).absolute()))}" if call.folder else ""
    return named + (f" --user {quote(user)}" if user != OWNER else "")


def source_of(agent: str) -> str:
    """A stable opaque id: the same agent started again is the same source, and cannot corroborate itself."""
    from hashlib import sha256

    return sha256(agent.encode()).hexdigest()[:8] if agent else "local"

"""Serving a memory: `tallystick mcp` and `tallystick serve`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import option, whose
from tallystick.surfaces.mcp.profiles import PROFILES, tools_of
from tallystick.surfaces.present.names import count
from tallystick.surfaces.present.text import short, shown

if TYPE_CHECKING:
    from tallystick.surfaces.mcp.tool import Tool
    from tallystick.surfaces.server.listen import Where
    from tallystick.surfaces.server.worker import MemoryWorker

_NEEDED = ("fastapi", "mcp", "markdown_it", "nh3", "prometheus_client", "sse_starlette", "uvicorn")

profiles_option = option(
    "profiles --profile NAME...", type=click.Choice(tuple(PROFILES)),
    help="Offer other tools over MCP too: reference, chatgpt, claude, pages. Repeat for more.",
)  # fmt: skip
_agent = option("--agent NAME", "The agent that speaks, as a separate source.", default="")
_trust = partial(option, "--trust WHO", type=click.Choice(TRUST), default="agent")


@command(
    "mcp",
    "tallystick mcp",
    "tallystick mcp --agent claude-code",
    "tallystick mcp -C ./notes --trust tool",
    without=["json", "jsonl"],
)
@profiles_option
@_trust("As whom the client speaks: human, agent, tool, web, import.  [agent]")
@option("--session NAME", "The session, where a call names none.", default="")
@_agent
@option("--http", "Serve over HTTP, to any number of clients that have the token.")
@option("--host ADDRESS", "With --http: the address to listen on.  [127.0.0.1]")
@option("--port N", "With --http: the port; 0: any free one.  [8722]", type=click.IntRange(0, 65535))
@option("--allow NAME...", "With --http: another host name that clients may use, such as a proxy's. Repeat for more.")
@option("--new-token", "With --http: replace the token; a running server accepts the old one until it ends.")
@whose
def mcp(call: Call, /, profiles: tuple[str, ...], trust: str, session: str, agent: str, **http: Any) -> None:
    """Speaks the Model Context Protocol on standard input and output until the client closes them, and prints a line on
    standard error when it is ready. Creates the memory if there is none. It serves one user, whatever a client asks.

    A client has the trust of an agent: changing what a person stated needs a person's approval, which is asked for in
    the client if it can do that, or is pending in `tallystick review`.

    With --http it serves any number of clients over HTTP, on this machine only by default, until Ctrl-C. Each must send
    the token, which is created on the first start; standard error names the address and where the token is.
    """
    check_packages("the MCP server", ["mcp"])
    import asyncio

    log_to_standard_error()
    chosen, where = tools(profiles), None
    if http.pop("http"):
        from tallystick.surfaces.server.listen import HOST, PORT, Where

        port = PORT if http["port"] is None else http["port"]
        where = Where(http["host"] or HOST, port, http["allow"])
    elif stray := next((name for name, value in http.items() if value not in (None, ()) and value is not False), ""):
        raise click.UsageError(f"--{stray.replace('_', '-')} needs --http")
    worker = holder(call, trust, session, agent)
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


def check_packages(what: str, names: Sequence[str]) -> None:
    """Refuse, with the line that installs it, if a package is missing."""
    if missing := next((name for name in names if find_spec(name) is None), ""):
        package = missing.replace("_", "-")
        raise Refused(f"{what} needs the package {package}: pip install '.[serve]' in a checkout", "unavailable")


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


def holder(
    call: Call, trust: str, session: str, agent: str, notify: Callable[[str], None] | None = None
) -> MemoryWorker:
    """The memory to serve to MCP clients. What a person answers through one is a source of its own."""
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker, Person

    opens = partial(Memory, call.usable(), user=call.owner(), notify=notify or call.warn)
    source = source_of(agent)
    by = f"elicit:{source}"
    person = Person(by, partial(opens, by=by, trust="human"), options_of(call))
    return MemoryWorker(partial(opens, by=f"mcp:{source}", trust=trust), person=person, session=session, agent=agent)


def options_of(call: Call) -> str:
    """The options with which a command uses the same memory."""
    from shlex import quote

    named = f" -C {quote(str(Path(call.folder).absolute()))}" if call.folder else ""
    return named + (f" --user {quote(call.owner())}" if call.owner() != OWNER else "")


def source_of(agent: str) -> str:
    """A stable opaque id: the same agent started again is the same source, and cannot corroborate itself."""
    from hashlib import sha256

    return sha256(agent.encode()).hexdigest()[:8] if agent else "local"


@command("serve", "tallystick serve", "tallystick serve --open", "tallystick serve --link", without=["json", "jsonl"])
@option("--host ADDRESS", "The address to listen on.  [127.0.0.1]")
@option("--port N", "The port; 0: any free one.  [8722]", type=click.IntRange(0, 65535))
@option("--allow NAME...", "Another host name that clients may use, such as a proxy's. Repeat for more.")
@option("--link", "Print a login link for the server that is running, and stop.")
@option("open_page --open", "Open the page in the browser when it is ready.")
@option("--new-token", "Replace the token; all sessions end, and a running server accepts the old one until it ends.")
@option(
    "--rate N", "Requests a second that each client may make, on average; 0: no limit.  [200]", type=click.FloatRange(0)
)
@profiles_option
@_trust("As whom programs speak: human, agent, tool, web, import.  [agent]")
@_agent
@whose
def serve(
    call: Call, /, host: str | None, port: int | None, allow: tuple[str, ...], link: bool, open_page: bool,
    new_token: bool, rate: float | None, profiles: tuple[str, ...], trust: str, agent: str,
) -> None:  # fmt: skip
    """Serves, on this machine only by default and until Ctrl-C: the page in a browser, for the person whose memory it
    is; the API under /v1 and MCP at /mcp, for programs that send the token; and runs the rules that are due. Creates
    the memory if there is none. It serves one user.

    Prints, on standard error, a link that logs the browser in: it works once, for ten minutes. --link prints another
    one, on standard output, while the server runs. The token is created on the first start and is never printed.

    Programs have the trust of an agent: changing what a person stated needs a person's approval, which can be given on
    the page.
    """
    check_packages("the server", _NEEDED)
    from tallystick.surfaces.server.listen import HOST, PORT, Where, is_listening

    where = Where(host or HOST, PORT if port is None else port, allow)
    if link:
        click.echo(_link(call, where))
        if not is_listening(where):
            call.note(f"tallystick: nothing listens on port {where.port}; if it is another, name it with --port")
        return
    import asyncio

    from tallystick.memory.memory import Memory
    from tallystick.surfaces.serve.app import Holds, ServerNotices, serve as serve_all
    from tallystick.surfaces.server.worker import MemoryWorker

    log_to_standard_error()
    chosen, notices = tools(profiles), ServerNotices(call.note)
    opens = partial(Memory, call.usable(), user=call.owner(), notify=notices)
    workers = Holds(  # each with its own source
        page=MemoryWorker(partial(opens, by="page:local", trust="human")),
        api=MemoryWorker(partial(opens, by=f"http:{source_of(agent)}", trust=trust), agent=agent),
        mcp=holder(call, trust, "", agent, notices),
        rules=MemoryWorker(partial(opens, by="rules:local", trust="human")),
    )
    asyncio.run(serve_all(
        workers, chosen, where, notices=notices, note=call.note, options=options_of(call), rate=rate,
        renew=new_token, ready=_open if open_page else None,
    ))  # fmt: skip


def _link(call: Call, where: Where) -> str:
    """A login link for the server that runs there. Whoever has the token can make one."""
    from tallystick.memory.core.token import token_of
    from tallystick.surfaces.serve.access_control import made_code
    from tallystick.surfaces.server.listen import address

    if not where.port:
        raise click.UsageError("--link needs the port on which the server listens: --port N")
    with call.memory(read_only=True) as memory:
        token = token_of(memory.status().ledger, memory.user)
    return f"{address(where.host, where.port)}/login?code={made_code(token, where.port, time.time())}"


def _open(link: str) -> None:
    """Open the page in a thread: a browser that runs in the terminal blocks whoever starts it."""
    import webbrowser
    from threading import Thread

    Thread(target=webbrowser.open, args=(link,), daemon=True).start()

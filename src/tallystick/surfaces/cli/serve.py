"""`tallystick serve`."""

from __future__ import annotations

import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.records.belief import OWNER, TRUST
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.mcp import (
    agent_option,
    as_mcp,
    log_to_standard_error,
    options_of,
    profiles_option,
    source_of,
    tools,
)
from tallystick.surfaces.cli.options import whose

if TYPE_CHECKING:
    from tallystick.surfaces.serve.app import Holds, ServerNotices
    from tallystick.surfaces.server.listen import Where

_NEEDED = ("fastapi", "mcp", "markdown_it", "nh3", "prometheus_client", "sse_starlette", "uvicorn")


@command(
    "serve",
    example="""
tallystick serve
tallystick serve --open
tallystick serve --link""",
    without=["json", "jsonl"],
)
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="The port; 0: any free one.  [8722]")
@click.option(
    "--allow", multiple=True, metavar="NAME",
    help="Another host name that clients may use, such as a proxy's. Repeat for more.",
)  # fmt: skip
@click.option("--link", is_flag=True, help="Print a login link for the server that is running, and stop.")
@click.option("open_page", "--open", is_flag=True, help="Open the page in the browser when it is ready.")
@click.option(
    "--new-token", is_flag=True,
    help="Replace the token; all sessions end, and a running server accepts the old one until it ends.",
)  # fmt: skip
@click.option(
    "--rate", type=click.FloatRange(0), metavar="N",
    help="Requests a second that each client may make, on average; 0: no limit.  [200]",
)  # fmt: skip
@profiles_option
@click.option(
    "--trust", type=click.Choice(TRUST), default="agent", metavar="WHO",
    help="As whom programs speak: human, agent, tool, web, import.  [agent]",
)  # fmt: skip
@agent_option
@whose
def serve(
    call: Call, /, host: str | None, port: int | None, allow: tuple[str, ...], link: bool, open_page: bool,
    new_token: bool, rate: float | None, profiles: tuple[str, ...], trust: str, agent: str, user: str | None,
) -> None:  # fmt: skip
    """Serve the memory as a web page, over HTTP and over MCP

    Serves, on this machine only by default and until Ctrl-C: the page in a browser, for the person whose memory it is;
    the API under /v1 and MCP at /mcp, for programs that send the token; and runs the rules that are due. Creates the
    memory if there is none. It serves one user.

    Prints, on standard error, a link that logs the browser in: it works once, for ten minutes. --link prints another
    one, on standard output, while the server runs. The token is created on the first start and is never printed.

    Programs have the trust of an agent: changing what a person stated needs a person's approval, which can be given on
    the page.
    """
    need_the_packages()
    from tallystick.surfaces.server.listen import HOST, PORT, Where, is_listening

    where = Where(host or HOST, PORT if port is None else port, allow)
    if link:
        click.echo(_link(call, where, user))
        if not is_listening(where):
            call.note(f"tallystick: nothing listens on port {where.port}; if it is another, name it with --port")
        return
    import asyncio

    from tallystick.surfaces.serve.access_control import RATE
    from tallystick.surfaces.serve.app import ServerNotices, serve as serve_all

    log_to_standard_error()
    chosen, notices = tools(profiles), ServerNotices(call.note)
    who, folder = OWNER if user is None else user, call.usable()
    asyncio.run(serve_all(
        _workers(call, folder, who, trust, agent, notices), chosen, where, notices=notices, note=call.note,
        options=options_of(call, who), rate=RATE if rate is None else rate, renew=new_token,
        ready=_open if open_page else None,
    ))  # fmt: skip


def need_the_packages() -> None:
    """Refuse, with the line that installs them, if a package of the server is missing."""
    if missing := next((name for name in _NEEDED if find_spec(name) is None), ""):
        raise Refused(
            f"the server needs the package {missing.replace('_', '-')}: pip install '.[serve]' in a checkout",
            "unavailable",
        )


def _workers(call: Call, folder: Path, user: str, trust: str, agent: str, notices: ServerNotices) -> Holds:
    """The memory for each part of the server, each with its own source."""
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.serve.app import Holds
    from tallystick.surfaces.server.worker import MemoryWorker

    opens = partial(Memory, folder, user=user, tell=notices)
    return Holds(
        page=MemoryWorker(partial(opens, by="page:local", trust="human")),
        api=MemoryWorker(partial(opens, by=f"http:{source_of(agent)}", trust=trust), agent=agent),
        mcp=as_mcp(call, opens, user, trust, agent=agent),
        rules=MemoryWorker(partial(opens, by="rules:local", trust="human")),
    )


def _link(call: Call, where: Where, user: str | None) -> str:
    """A login link for the server that runs there. Whoever has the token can make one."""
    from tallystick.memory.core.token import token_of
    from tallystick.surfaces.serve.login import made_code
    from tallystick.surfaces.server.listen import address

    if not where.port:
        raise click.UsageError("--link needs the port on which the server listens: --port N")
    with call.memory(user=user, read_only=True) as memory:
        token = token_of(memory.status().ledger, memory.user)
    return f"{address(where.host, where.port)}/login?code={made_code(token, where.port, time.time())}"


def _open(link: str) -> None:
    """Open the page in a thread: a browser that runs in the terminal blocks whoever starts it."""
    import webbrowser
    from threading import Thread

    Thread(target=webbrowser.open, args=(link,), daemon=True).start()

"""The options of `tallystick mcp` that are about HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tallystick.surfaces.server.listen import Where

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--http", is_flag=True, help="Serve over HTTP, to any number of clients that have the token."),
    click.option("--host", metavar="ADDRESS", help="With --http: the address to listen on.  [127.0.0.1]"),
    click.option(
        "--port", type=click.IntRange(0, 65535), metavar="N", help="With --http: the port; 0: any that is free.  [8722]"
    ),
    click.option(
        "--allow", multiple=True, metavar="NAME",
        help="With --http: another name that clients may use for this server, such as a proxy's. Repeat for more.",
    ),
    click.option(
        "--new-token", is_flag=True,
        help="With --http: make another token; a server that runs already takes the old one until it ends.",
    ),
)  # fmt: skip


def over_http(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def place(http: bool, host: str | None, port: int | None, allow: tuple[str, ...], new_token: bool) -> Where | None:
    """Where to serve over HTTP; None, if that was not asked for."""
    given = {"--host": host, "--port": port, "--allow": allow or None, "--new-token": new_token or None}
    if not http:
        if stray := next((name for name, value in given.items() if value is not None), ""):
            raise click.UsageError(f"{stray} goes with --http")
        return None
    from tallystick.surfaces.server.listen import HOST, PORT, Where

    return Where(host or HOST, PORT if port is None else port, allow)

"""`tallystick serve`: the page, the API, MCP and the scheduler of rules, in one process, for one user's memory.

Each part holds the folder by itself and speaks with a trust of its own: the page as the person whose memory it is, the
API and MCP as whoever was named when the server started, the rules as `tallystick consolidate --due` does. How it
listens and ends is told in `listening`, whom it lets in, in `serve/access_control`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.memory.core.token import Token, new_token, token_of
from tallystick.records.json import DEPTH
from tallystick.surfaces.api import router as api
from tallystick.surfaces.mcp.http import PATH, App
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.serve.access_control import AccessControl, Key, Place
from tallystick.surfaces.serve.limits import RATE, Limits
from tallystick.surfaces.serve.login import Sessions
from tallystick.surfaces.serve.metrics import Metrics
from tallystick.surfaces.serve.notices import ServerNotices
from tallystick.surfaces.serve.routes import Front
from tallystick.surfaces.serve.rule_scheduler import Rules
from tallystick.surfaces.server.changes import Feed
from tallystick.surfaces.server.guard import Names, is_loopback
from tallystick.surfaces.server.listen import PORT, Hurried, Server, Where, address, bound, warned
from tallystick.surfaces.web import app as site

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.status import Status
    from tallystick.surfaces.mcp.tool import Tool
    from tallystick.surfaces.server.worker import MemoryWorker

_ENVELOPE = 4  # levels that a protocol puts around what is said in it


@dataclass(frozen=True, slots=True)
class Holds:
    """The memory, held once for each part."""

    page: MemoryWorker
    api: MemoryWorker
    mcp: MemoryWorker
    rules: MemoryWorker

    async def close(self) -> None:
        for hold in (self.api, self.mcp, self.rules, self.page):
            await hold.close()


async def serve(
    holds: Holds, tools: Sequence[Tool], where: Where, *, told: ServerNotices, note: Callable[[str], None],
    options: str = "", rate: float = RATE, renew: bool = False, ready: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Answer until the program is told to end. `note` is told how to reach it; `ready` is given a link that logs in.

    `told` collects what the memory does by itself; `options` are what a command needs to mean the same memory; `anew`
    makes another token first.
    """
    Names.at(where.host, 0, where.also)  # what cannot be a name is refused before anything is made
    listening = bound(where)
    try:
        where = where._replace(port=listening.getsockname()[1])
        status, token = await holds.page.run(lambda context: _opened(context.memory, told, renew=renew))
        for hold in (holds.api, holds.mcp, holds.rules):  # these open it when they are first asked
            hold.only(Path(status.folder), status.ledger)
        makes_link = f"tallystick serve --link{options}{'' if where.port == PORT else f' --port {where.port}'}"
        served = _Served(holds, tools, where, token, told, rate, makes_link)

        def tell() -> None:
            base, folder = address(where.host, where.port), f"{status.folder}{' (new)' * (status.events == 1)}"
            link = f"{base}/login?code={served.sessions.code()}"
            for line in (*_announced(folder, base, link, makes_link, token), *warned(where.host)):
                note(shown(line))
            if ready is not None:
                ready(link)

        await served.begin()
        await Server(served.door, served.finish, tell).serve([listening])
    finally:
        listening.close()
        await holds.close()


def _opened(memory: Memory, told: ServerNotices, *, renew: bool) -> tuple[Status, Token]:
    """Open the memory, and hear what opening it did."""
    status = memory.status()
    told.opened(memory)
    return status, (new_token if renew else token_of)(status.ledger, memory.user)


class _Served:
    """Everything that is served, put together."""

    def __init__(
        self, holds: Holds, tools: Sequence[Tool], where: Where, token: Token, told: ServerNotices, rate: float,
        makes_link: str,
    ) -> None:  # fmt: skip
        metrics, limits, names = Metrics(), Limits(rate), Names.at(*where)
        self.sessions = Sessions(token, where.port)
        self._feed = Feed(holds.page, hear=told.hear)
        self._rules = Rules(holds.rules, holds.page, done=lambda _: metrics.rules.inc(), failed=told)
        self._mcp = App.of(holds.mcp, tools)
        ways = (makes_link, str(token.path)) if is_loopback(where.host) else ("tallystick serve --link", "")
        front = Front(holds.page, self._feed, self.sessions, limits, metrics, *ways)
        people = site.made(holds.page, more=front.for_people(), told=told.lines)
        programs, answers = front.for_programs(), api.made(holds.api, self._feed)
        self.door = AccessControl(
            (
                Place("/v1", answers, Key.TOKEN), Place("/openapi.json", answers, Key.TOKEN),
                Place(PATH, self._mcp, Key.TOKEN, depth=DEPTH + _ENVELOPE),
                Place("/metrics", programs, Key.TOKEN), Place("/healthz", programs, Key.NONE),
                Place("/static", programs, Key.NONE), Place("/login", people, Key.NONE, is_page=True),
            ),
            Place("", people, Key.COOKIE, is_page=True), names, token, self.sessions,
            life=self._mcp, limits=limits, metrics=metrics,
        )  # fmt: skip

    async def begin(self) -> None:
        await self._feed.begin()
        self._rules.start()

    async def finish(self, is_hurried: Hurried) -> None:
        """Take nothing new, end what only waits, and let what was begun come to its end."""
        self.door.begun.is_ending = True
        self._rules.stop()
        await self._feed.close()
        await asyncio.gather(self.door.begun.finish(is_hurried), self._mcp.finish(is_hurried))


def _announced(folder: str, base: str, link: str, makes_link: str, token: Token) -> Iterator[str]:
    """What the person who started it needs to know. The token itself is never shown."""
    yield f"tallystick: serving {folder} at {base} until Ctrl-C"
    yield f"tallystick: open {link} (it works once, for ten minutes; `{makes_link}` makes another)"
    yield (
        f"tallystick: programs use {base}/v1 and {base}{PATH} with `Authorization: Bearer TOKEN`; "
        f"it is in {token.path}"
    )

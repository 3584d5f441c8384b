"""Who wants to be told when a resource changes, and is told.

What a client is told is "this changed, read it again": several changes may come as one, and none is lost from the
moment on in which a subscription is acknowledged. While somebody listens, `changes` is asked every half second; while
nobody does, nothing is done.

Two eras, two ways: a client of the modern one holds a stream open (`subscriptions/listen`); one that began with a
handshake subscribes to each address, and is told of a changed list once it has asked for the list.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tallystick.records.errors import Closed, Refused, TallystickError
from tallystick.surfaces.mcp.resources import PAGES, frame_names, is_ours, name_in, not_found, page_names
from tallystick.surfaces.server.change_detector import ChangeDetector

if TYPE_CHECKING:
    from mcp.server.connection import Connection

    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker

Context = ServerRequestContext[Any, Any]

EVERY = 0.5  # seconds between two glances

_MOST = 1_000  # addresses that one client may listen to
_STREAMS = 256  # clients that may hold a stream open
_PATIENCE = 2.0  # seconds that a client may take to be told


@dataclass(slots=True)
class _Listener:
    """A client of the era that begins with a handshake."""

    connection: Connection
    addresses: set[str] = field(default_factory=set)

    async def tell(self, address: str) -> None:
        if address == LIST:
            await self.connection.send_resource_list_changed()
        else:
            await self.connection.send_resource_updated(address)


class Watch:
    """The listeners of one server."""

    def __init__(self, hold: MemoryWorker, *, every: float = EVERY) -> None:
        self._hold, self._every = hold, every
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=_STREAMS)
        self._listeners: dict[int, _Listener] = {}
        self._wanted: Counter[str] = Counter()  # addresses, by how many listen
        self._changes = Changes()
        self._task: asyncio.Task[None] | None = None

    # -- the modern era ----------------------------------------------------------------------------------------------

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:  # fmt: skip
        """Serve one stream until the client closes it, or the server ends."""
        asked = params.notifications
        wanted = _few({uri for uri in asked.resource_subscriptions or () if is_ours(uri)})
        wanted |= {LIST} if asked.resources_list_changed else set()
        await self._want(wanted)
        try:
            return await self._streams(ctx, params)
        finally:
            self._leave(wanted)

    # -- the era of the handshake ------------------------------------------------------------------------------------

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this client when that address changes. Saying it twice is saying it once."""
        if not is_ours(params.uri):
            raise not_found(ctx, params.uri)
        await self._tell_of(ctx, params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell it no more. That it never asked is no error."""
        listener = self._listeners.get(id(_connection(ctx)))
        if listener is not None and params.uri in listener.addresses:
            listener.addresses.discard(params.uri)
            self._leave({params.uri})
        return types.EmptyResult()

    async def listed(self, ctx: Context) -> None:
        """This client is about to be given the list, and is told from now on when another one comes."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await self._tell_of(ctx, LIST)

    async def _tell_of(self, ctx: Context, address: str) -> None:
        connection = _connection(ctx)
        listener = self._listeners.get(id(connection))
        if listener is None:
            listener = self._listeners[id(connection)] = _Listener(connection)
            connection.exit_stack.callback(self._gone, connection)
        if address not in listener.addresses:
            _few(listener.addresses | {address})
            listener.addresses.add(address)
            try:
                await self._want({address})
            except (TallystickError, OSError, asyncio.CancelledError):
                listener.addresses.discard(address)
                raise

    def _gone(self, connection: Connection) -> None:
        if listener := self._listeners.pop(id(connection), None):
            self._leave(listener.addresses)

    # -- both --------------------------------------------------------------------------------------------------------

    async def _want(self, addresses: Collection[str]) -> None:
        """Know how these stand, and look after them from now on."""
        again = not self._wanted
        fresh = [address for address in addresses if not self._wanted[address]]
        self._wanted.update(addresses)
        try:
            if fresh:
                await self._hold.run(lambda context: self._changes.begin(context.memory, fresh, again=again))
        except (TallystickError, OSError, asyncio.CancelledError):
            self._leave(addresses)
            raise
        if self._wanted and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._follow())

    def _leave(self, addresses: Collection[str]) -> None:
        self._wanted -= Counter(addresses)

    async def _follow(self) -> None:
        """Look, for as long as anybody listens."""
        while self._wanted:
            await asyncio.sleep(self._every)
            if self._changes.are_due():
                try:
                    found = await self._hold.run(partial(_look, self._changes, list(self._wanted)))
                except Closed:
                    return
                except (TallystickError, OSError, sqlite3.Error):  # busy, damaged: who calls is told; we look again
                    continue
                for address in found:
                    await self._tell(address)

    async def _tell(self, address: str) -> None:
        await self._bus.publish(ResourcesListChanged() if address == LIST else ResourceUpdated(uri=address))
        told = [listener.tell(address) for listener in list(self._listeners.values()) if address in listener.addresses]
        await asyncio.gather(*map(_patiently, told))

    def close(self) -> None:
        """End every stream; what was found is still told, and then that it ends."""
        self._streams.close()
        if self._task is not None:
            self._task.cancel()


def _look(changes: Changes, wanted: list[str], context: Any) -> list[str]:
    return changes.since(context.memory, wanted)


def _few(addresses: set[str]) -> set[str]:
    if len(addresses) > _MOST:
        raise MCPError(types.INVALID_PARAMS, f"a client may listen to {_MOST:,} resources at most; leave some first")
    return addresses


def _connection(ctx: Context) -> Connection:
    """The client's own connection: what is kept for it ends with it."""
    return ctx.session._connection  # the package has no other way to it


async def _patiently(telling: Awaitable[None]) -> None:
    """A client that does not read is not waited for."""
    try:
        await asyncio.wait_for(telling, _PATIENCE)
    except TimeoutError:
        return


# -- which resources stand otherwise than at the last look, whoever changed them ---------------------------------------


LIST = "memory://"  # stands for the list of all resources


class Changes:
    """How each address stood when it was last looked at. All but `are_due` belongs to the memory's thread."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._glance = ChangeDetector()
        self._once_more = False

    def are_due(self) -> bool:
        """Whether there may be something to look at."""
        return self._once_more or self._glance.is_due()

    def begin(self, memory: Memory, addresses: Iterable[str], *, again: bool) -> None:
        """Look at these for the first time; `anew`, if nobody has listened to anything until now."""
        if again:
            self._marks = {}
            self._glance.begin(memory)
        self._marks |= {address: self._mark(memory, address) for address in addresses}

    def since(self, memory: Memory, wanted: Iterable[str]) -> list[str]:
        """Which of these stand otherwise now."""
        is_changed = bool(self._glance.look(memory))
        marks = dict(self._marks)
        if is_changed or self._once_more:
            marks = {address: self._mark(memory, address) for address in wanted}
        found = [address for address, mark in marks.items() if mark != self._marks.get(address, mark)]
        self._marks, self._once_more = marks, is_changed
        return found

    def _mark(self, memory: Memory, address: str) -> str:
        """A text that is another one whenever what stands there may be."""
        if address == LIST:
            return _digest("\n".join([*page_names(memory), "", *frame_names(memory)]))
        if name := name_in(address, PAGES):
            return _page_mark(memory, name)
        return str(self._glance.place)  # a frame and the status follow from all that is remembered


def _page_mark(memory: Memory, name: str) -> str:
    try:
        page = memory.pages.read(name, include_superseded=True)
    except Refused:
        return "none"
    entries = "\n".join(f"{entry.id} {entry.superseded_by} {entry.is_retracted}" for entry in page.entries)
    return _digest(f"{entries}\n\n{page.text}")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

"""What a server offers besides tools: resources, prompts, completion, and notifications of changes.

A client reads resources by name: `memory://pages/{name}`, `memory://frames/{name}` and `memory://status`. A name is one
name of this user: no slash, no way up. What does not exist and what is somebody else's look the same.

A notification means "this changed, read it again": several changes may come as one, and none is lost once a
subscription is acknowledged. While somebody listens, the ledger is checked every half second; else nothing is done. A
page's file follows its ledger a moment later, perhaps written by another process: after every check that found a change
comes one more.

Two eras, two ways: a client of the modern one holds a stream open (`subscriptions/listen`); one that began with a
handshake subscribes to each address, and hears of a changed list once it has requested the list.

Prompts speak in the voice of the person who picks one. Stored words come as quoted data (`quoted`), in a prompt one
JSON object a line where it is more than a frame; what needs a person's approval is named, and its words are left out.
"""

import asyncio
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
import orjson
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tallystick.memory.memory import Memory
from tallystick.records.belief import Change
from tallystick.records.clock import parse_moment, stamp, system_clock
from tallystick.records.errors import Closed, NotFound, Refused, TallystickError
from tallystick.surfaces.mcp.format import error_line, quoted, shortened
from tallystick.surfaces.present.names import called
from tallystick.surfaces.server.worker import ChangeDetector, MemoryWorker

Context = ServerRequestContext[Any, Any]

PAGES, FRAMES, STATUS = "memory://pages/", "memory://frames/", "memory://status"
PAGE_TEMPLATE, FRAME_TEMPLATE = f"{PAGES}{{name}}", f"{FRAMES}{{name}}"

_AT_ONCE = 200  # resources in one answer
_LONGEST = 500
_MARKDOWN, _PLAIN, _JSON = "text/markdown", "text/plain", "application/json"
_PAGE = "A page of this memory: what is known about one person or thing, as dated entries. Stored data."
_FRAME = "Text of this memory for a prompt, for one purpose and within its budget. Stored data."
_STATUS = "The status of this memory: how much is stored, which reviews are pending, whether it can be written."
_KINDS = {PAGES: (_MARKDOWN, _PAGE), FRAMES: (_PLAIN, _FRAME), STATUS: (_JSON, _STATUS)}
_NOT_FOUND = -32002  # of the era that begins with a handshake; the other one has no code of its own for it

TEMPLATES = [
    types.ResourceTemplate(name=name, title=title, uri_template=uri, description=about, mime_type=kind)
    for name, title, uri, (kind, about) in (
        ("pages", "A page", PAGE_TEMPLATE, _KINDS[PAGES]), ("frames", "A frame", FRAME_TEMPLATE, _KINDS[FRAMES]),
    )
]  # fmt: skip

Given = Mapping[str, str]

START, REVIEW = "start_session", "review_what_you_learned"

_BUDGET, _MOST_TOKENS, _LONGEST_TASK = 1200, 50_000, 8_000
_SPAN = re.compile(r"([1-9]\d{0,4})([hd])", re.ASCII)
_LISTED = 50  # changes, and reviews, in one prompt
_WORDS = 400  # characters of one
_COMPLETIONS = 100  # the protocol's own limit

_BEGIN = """\
We are beginning to work. Below is what you have kept in memory that may bear on it: weigh it, and check what matters.
Call `recall` when you need to know more, and `remember` when you learn something that will still matter next time.\
"""
_LOOK_BACK = """\
Let us look back at what you learned. Below is what was added to memory, changed or removed since then. Say what is
wrong, doubtful or duplicate, and correct it with `revise` or `forget`; add what is missing with `remember`. Then tell
me in a few lines what you learned.\
"""
_WAITS = """\
These need my approval. Only I can give it: `tallystick review` in a terminal shows each with its words. Remind me of
them, and do nothing about them yourself.\
"""


def _all(memory: Memory) -> list[tuple[str, str]]:
    """All resources: address and name, in the order of addresses."""
    pages = ((PAGES + quote(name, safe=""), name) for name in page_names(memory))
    frames = ((FRAMES + quote(name, safe=""), name) for name in frame_names(memory))
    return sorted([*pages, *frames, (STATUS, "status")])


def _resource(found: tuple[str, str]) -> types.Resource:
    uri, name = found
    kind, about = next(each for prefix, each in _KINDS.items() if uri.startswith(prefix))
    return types.Resource(uri=uri, name=name, description=about, mime_type=kind)


def page_names(memory: Memory) -> list[str]:
    """The active pages of this user."""
    return sorted(map(called, memory.pages.list()))


def frame_names(memory: Memory) -> list[str]:
    return [frame.name for frame in memory.frames]


def _read(memory: Memory, uri: str) -> tuple[str, str]:
    """The type and the text of a resource. NotFound, if there is none."""
    if uri == STATUS:
        status = {**memory.status().to_dict(), "waiting": len(memory.reviews)}
        return _JSON, orjson.dumps(status, option=orjson.OPT_INDENT_2).decode()
    if name := name_in(uri, PAGES):
        try:
            return _MARKDOWN, quoted(memory.pages.read(name).text)
        except Refused:
            raise NotFound("no such page") from None
    if (name := name_in(uri, FRAMES)) in frame_names(memory):
        return _PLAIN, quoted(memory.frame(name).text)
    raise NotFound("no such resource")


def name_in(uri: str, prefix: str) -> str:
    """The name in an address of that kind; empty, if it is not one."""
    if not uri.startswith(prefix) or len(uri) > _LONGEST:
        return ""
    name = unquote(uri.removeprefix(prefix), errors="surrogateescape")
    is_one = name.isprintable() and not name.startswith(".") and not any(mark in name for mark in "/\\?#")
    return name if is_one else ""


def is_ours(uri: str) -> bool:
    """Whether a resource may be at that address, now or later."""
    return uri == STATUS or bool(name_in(uri, PAGES) or name_in(uri, FRAMES))


def not_found(ctx: Context, uri: str) -> MCPError:
    """The protocol's own error, in the era of this client. It repeats only what the caller sent."""
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    return MCPError(
        types.INVALID_PARAMS if is_modern else _NOT_FOUND, "Resource not found; `resources/list` lists them",
        {"uri": uri[:_LONGEST]},
    )  # fmt: skip


EVERY = 0.5  # seconds between two checks
LIST = "memory://"  # stands for the list of all resources

_LIMIT = 1_000  # addresses that one client may subscribe to
_STREAMS = 256  # clients that may hold a stream open
_TIMEOUT = 2.0  # seconds that a client may take to read a notification


@dataclass(slots=True)
class _Listener:
    """A client of the era that begins with a handshake."""

    connection: Connection
    addresses: set[str] = field(default_factory=set)

    async def notify(self, address: str) -> None:
        """Send a notification. A client that does not read is not waited for."""
        to = self.connection
        sending = to.send_resource_list_changed() if address == LIST else to.send_resource_updated(address)
        with suppress(TimeoutError):
            await asyncio.wait_for(sending, _TIMEOUT)


class Watch:
    """The subscriptions of one server."""

    def __init__(self, hold: MemoryWorker, *, every: float = EVERY) -> None:
        self._hold, self._every = hold, every
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=_STREAMS)
        self._listeners: dict[int, _Listener] = {}
        self._wanted: Counter[str] = Counter()  # addresses, by the number of subscriptions
        self._changes = Changes()
        self._task: asyncio.Task[None] | None = None

    # -- the modern era ----------------------------------------------------------------------------------------------

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:  # fmt: skip
        """Serve one stream until the client closes it, or the server ends."""
        requested = params.notifications
        wanted = {uri for uri in requested.resource_subscriptions or () if is_ours(uri)}
        _check_number(wanted)
        wanted |= {LIST} if requested.resources_list_changed else set()
        await self._want(wanted)
        try:
            return await self._streams(ctx, params)
        finally:
            self._leave(wanted)

    # -- the era of the handshake ------------------------------------------------------------------------------------

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Notify this client when that address changes. Subscribing twice is the same as once."""
        if not is_ours(params.uri):
            raise not_found(ctx, params.uri)
        await self._subscribe(ctx, params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """End a subscription. One that never was is no error."""
        listener = self._listeners.get(id(_connection(ctx)))
        if listener is not None and params.uri in listener.addresses:
            listener.addresses.discard(params.uri)
            self._leave({params.uri})
        return types.EmptyResult()

    async def list_requested(self, ctx: Context) -> None:
        """Notify this client from now on when the list changes."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await self._subscribe(ctx, LIST)

    async def _subscribe(self, ctx: Context, address: str) -> None:
        connection = _connection(ctx)
        listener = self._listeners.get(id(connection))
        if listener is None:
            listener = self._listeners[id(connection)] = _Listener(connection)
            connection.exit_stack.callback(self._gone, connection)
        if address not in listener.addresses:
            _check_number(listener.addresses | {address})
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
        """Note the current state of these, and check them from now on."""
        is_first = not self._wanted
        fresh = [address for address in addresses if not self._wanted[address]]
        self._wanted.update(addresses)
        try:
            if fresh:
                await self._hold.run(lambda context: self._changes.begin(context.memory, fresh, is_first=is_first))
        except (TallystickError, OSError, asyncio.CancelledError):
            self._leave(addresses)
            raise
        if self._wanted and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._follow())

    def _leave(self, addresses: Collection[str]) -> None:
        self._wanted -= Counter(addresses)

    async def _follow(self) -> None:
        """Check for changes as long as anybody listens."""
        while self._wanted:
            await asyncio.sleep(self._every)
            if self._changes.are_due():
                try:
                    found = await self._hold.run(partial(_look, self._changes, list(self._wanted)))
                except Closed:
                    return
                except (TallystickError, OSError, sqlite3.Error):  # busy or damaged: calls report it; check again
                    continue
                for address in found:
                    await self._bus.publish(ResourcesListChanged() if address == LIST else ResourceUpdated(uri=address))
                    listeners = [each for each in self._listeners.values() if address in each.addresses]
                    await asyncio.gather(*(each.notify(address) for each in listeners))

    def close(self) -> None:
        """End every stream, after the changes that were found are sent."""
        self._streams.close()
        if self._task is not None:
            self._task.cancel()


def _look(changes: "Changes", wanted: list[str], context: Any) -> list[str]:
    return changes.since(context.memory, wanted)


def _check_number(addresses: set[str]) -> None:
    if len(addresses) > _LIMIT:
        message = f"a client may subscribe to {_LIMIT:,} resources at most; unsubscribe from some first"
        raise MCPError(types.INVALID_PARAMS, message)


def _connection(ctx: Context) -> Connection:
    """The client's own connection: what is kept for it ends with it."""
    return ctx.session._connection  # the package has no other way to it


class Changes:
    """Changes of resources since the last check. All but `are_due` belongs to the memory's thread."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}
        self._detector = ChangeDetector()
        self._once_more = False

    def are_due(self) -> bool:
        return self._once_more or self._detector.is_due()

    def begin(self, memory: Memory, addresses: Iterable[str], *, is_first: bool) -> None:
        """Note the current state of these; `is_first`, if nobody was listening to anything."""
        if is_first:
            self._versions = {}
            self._detector.begin(memory)
        self._versions |= {address: self._version(memory, address) for address in addresses}

    def since(self, memory: Memory, wanted: Iterable[str]) -> list[str]:
        """The addresses among these that changed."""
        is_changed = bool(self._detector.look(memory))
        versions = dict(self._versions)
        if is_changed or self._once_more:
            versions = {address: self._version(memory, address) for address in wanted}
        found = [address for address, each in versions.items() if each != self._versions.get(address, each)]
        self._versions, self._once_more = versions, is_changed
        return found

    def _version(self, memory: Memory, address: str) -> str:
        """A text that changes whenever the resource may have changed."""
        if address == LIST:
            return _digest("\n".join([*page_names(memory), "", *frame_names(memory)]))
        if name := name_in(address, PAGES):
            return _page_version(memory, name)
        return str(self._detector.place)  # a frame and the status depend on the whole memory


def _page_version(memory: Memory, name: str) -> str:
    try:
        page = memory.pages.read(name, include_superseded=True)
    except Refused:
        return "none"
    entries = "\n".join(f"{entry.id} {entry.superseded_by} {entry.is_retracted}" for entry in page.entries)
    return _digest(f"{entries}\n\n{page.text}")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# -- prompts -----------------------------------------------------------------------------------------------------------


def _optional(name: str, description: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=False)


PROMPTS = {
    START: types.Prompt(
        name=START, title="Start a session",
        description="Begin with what memory has about the task, within a budget of tokens.",
        arguments=[
            _optional("task", "What we are going to do, in a sentence."),
            _optional("budget", f"How many tokens of memory at most; {_BUDGET} if left out."),
        ],
    ),
    REVIEW: types.Prompt(
        name=REVIEW, title="Review what you learned",
        description="Go through what was learned lately, and list what needs a person's approval.",
        arguments=[
            _optional("since", "Since when: 24h (if left out), 7d, a date or a time."),
            _optional("session", "Only what was said in this session."),
        ],
    ),
}  # fmt: skip


_VALUES = {"budget": ("400", "800", "1200", "2000", "4000"), "since": ("12h", "24h", "7d", "30d")}
_NAMES: dict[str, Callable[[Memory], list[str]]] = {PAGE_TEMPLATE: page_names, FRAME_TEMPLATE: frame_names}


def _arguments(prompt: types.Prompt) -> set[str]:
    return {argument.name for argument in prompt.arguments or ()}


def _start(memory: Memory, given: Given) -> Iterator[str]:
    """The beginning of a session: who one is, what bears on the task, and the task itself, in the person's words."""
    task, budget = given.get("task", "").strip(), _budget(given.get("budget", ""))
    if len(task) > _LONGEST_TASK:
        raise Refused(f"the task is longer than {_LONGEST_TASK:,} characters; describe it in a sentence", "size")
    own = memory.frame("self", task, budget=max(1, budget // 4))
    rest = memory.frame("attention", task, budget=max(1, budget - own.used))
    yield _with(_BEGIN, f"{own.text}\n{rest.text}".strip())
    if task:
        yield task


def _review(memory: Memory, given: Given) -> Iterator[str]:
    """What was learned since then, and what is pending."""
    since, session = _since(given.get("since", "")), given.get("session", "")
    found = ((change, change.after or change.before) for change in memory.diff(since))
    changes = [change for change, belief in found if not session or (belief and belief.session == session)]
    yield _with(_LOOK_BACK, "\n".join(map(_line, changes[-_LISTED:])), len(changes) - _LISTED)
    if waiting := memory.reviews.waiting():
        lines = [
            json.dumps({"review": each.id, "to": each.action.verb, "at": each.asked_at}) for each in waiting[:_LISTED]
        ]
        yield _with(_WAITS, "\n".join(lines), len(waiting) - _LISTED)


_MAKE: dict[str, Callable[[Memory, Given], Iterator[str]]] = {START: _start, REVIEW: _review}


def _with(words: str, stored: str, more: int = 0) -> str:
    """Our words, then what is stored, then how much more there is."""
    parts = (words, quoted(stored), f"There are {more:,} more." if more > 0 else "")
    return "\n\n".join(part for part in parts if part)


def _budget(given: str) -> int:
    if not given.strip():
        return _BUDGET
    if not (given.isascii() and given.isdigit() and len(given) < 9 and 1 <= int(given) <= _MOST_TOKENS):
        raise Refused(f"budget is a number of tokens from 1 to {_MOST_TOKENS:,}, such as {_BUDGET}")
    return int(given)


def _since(given: str) -> str:
    """The time that is meant, as the ledger writes it."""
    given = given.strip() or "24h"
    if span := _SPAN.fullmatch(given):
        return stamp(system_clock() - timedelta(**{"hours" if span[2] == "h" else "days": int(span[1])}))
    try:
        return parse_moment(given)
    except Refused:
        raise Refused("since is like 24h, 7d, 2026-05-03 or 2026-05-03T14:00:00Z", "time") from None


def _line(change: Change) -> str:
    """A change in one line of ASCII JSON. Words that are not approved, or were rejected, are not repeated."""
    found: dict[str, Any] = {"what": change.what}
    for name, belief in (("was", change.before), ("is", change.after)):
        if belief is not None:
            text = shortened(belief.text or " ".join(belief.triple), _WORDS)
            found |= {"id": belief.id, "trust": belief.trust, "at": belief.at}
            found[name] = "(not to be used; `tallystick show` shows it)" if belief.withheld else text
    return json.dumps(found)


def _matching(names: Iterable[str], typed: str) -> types.CompleteResult:
    typed = typed.casefold()
    found = [name for name in names if typed in name.casefold()]
    found.sort(key=lambda name: not name.casefold().startswith(typed))
    return types.CompleteResult(completion=types.Completion(
        values=found[:_COMPLETIONS], total=len(found), has_more=len(found) > _COMPLETIONS
    ))  # fmt: skip


Handler = Callable[..., Awaitable[Any]]


class Offers:
    def __init__(self, hold: MemoryWorker, *, every: float = EVERY) -> None:
        self._hold, self._watch = hold, Watch(hold, every=every)

    @property
    def handlers(self) -> dict[str, Any]:
        """The handlers, under the names that the package has for them."""
        handlers: dict[str, Handler] = {
            "on_list_resources": self.resources, "on_list_resource_templates": self.templates,
            "on_read_resource": self.resource, "on_subscribe_resource": self._watch.subscribe,
            "on_unsubscribe_resource": self._watch.unsubscribe, "on_subscriptions_listen": self._watch.listen,
            "on_list_prompts": self.prompts, "on_get_prompt": self.prompt, "on_completion": self.complete,
        }  # fmt: skip
        return {name: _with_plain_errors(handler) for name, handler in handlers.items()}

    async def resources(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """In the order of their addresses, so that what comes or goes in between moves nothing else."""
        await self._watch.list_requested(ctx)
        after = (params.cursor if params else None) or ""
        found = await self._hold.run(lambda context: [each for each in _all(context.memory) if each[0] > after])
        more = found[_AT_ONCE - 1][0] if len(found) > _AT_ONCE else None
        return types.ListResourcesResult(resources=list(map(_resource, found[:_AT_ONCE])), next_cursor=more)

    async def templates(self, _: Context, __: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = params.uri
        try:
            kind, text = await self._hold.run(lambda context: _read(context.memory, uri))
        except NotFound:
            raise not_found(ctx, uri) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])

    async def prompts(self, _: Context, __: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(PROMPTS.values()))

    async def prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The filled prompt. An unknown argument is refused."""
        prompt, given = PROMPTS.get(params.name), params.arguments or {}
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no such prompt; there are {START} and {REVIEW}")
        if unknown := given.keys() - _arguments(prompt):
            takes = " and ".join(sorted(_arguments(prompt)))
            raise MCPError(types.INVALID_PARAMS, f"it takes {takes}, and not {min(unknown)[:40]!r}")
        make = _MAKE[params.name]
        try:
            texts = await self._hold.run(lambda context: list(make(context.memory, given)))
        except Refused as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        found = [types.PromptMessage(role="user", content=types.TextContent(type="text", text=text)) for text in texts]
        return types.GetPromptResult(description=prompt.title, messages=found)

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """The values that match what was typed: first those that begin with it, then those that contain it."""
        ref, argument = params.ref, params.argument
        if isinstance(ref, types.PromptReference):
            prompt = PROMPTS.get(ref.name)
            if prompt is None or argument.name not in _arguments(prompt):
                raise MCPError(types.INVALID_PARAMS, "there is no such prompt, or it takes no such argument")
            return _matching(_VALUES.get(argument.name, ()), argument.value)
        names = _NAMES.get(ref.uri)
        if names is None or argument.name != "name":
            raise MCPError(types.INVALID_PARAMS, f"only `name` in {' and '.join(_NAMES)} can be completed")
        return _matching(await self._hold.run(lambda context: names(context.memory)), argument.value)

    def close(self) -> None:
        """Send no more notifications. Open streams end."""
        self._watch.close()


def _with_plain_errors(handler: Handler) -> Handler:
    """The same, but an error of the memory reaches the client as one line, and a fault of the program as no more."""

    async def handle(ctx: Any, params: Any) -> Any:
        try:
            return await handler(ctx, params)
        except MCPError:
            raise
        except TallystickError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        except Exception as error:  # the outer edge: the package would send a message with SQL and paths in it
            raise MCPError(types.INTERNAL_ERROR, error_line(error, "a request", "")) from None

    return handle

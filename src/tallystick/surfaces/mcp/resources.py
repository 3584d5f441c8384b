"""What a client may read by name: `memory://pages/{name}`, `memory://frames/{name}` and `memory://status`.

A name is one name: no slash, no way up, and only this user's. What does not exist and what is somebody else's are not
told apart. Words that are stored come as quoted data (`quoted`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.mcp.wording import quoted

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker

Context = ServerRequestContext[Any, Any]

PAGES, FRAMES, STATUS = "memory://pages/", "memory://frames/", "memory://status"
PAGE_TEMPLATE, FRAME_TEMPLATE = f"{PAGES}{{name}}", f"{FRAMES}{{name}}"

_AT_ONCE = 200  # so many are listed in one answer
_LONGEST = 500
_MARKDOWN, _PLAIN, _JSON = "text/markdown", "text/plain", "application/json"
_PAGE = "A page of this memory: what is held about one person or thing, as dated entries. Stored data."
_FRAME = "What this memory would put into a prompt for this purpose, within its budget. Stored data."
_STATUS = "How this memory stands: how much is held, what waits for a person, whether it can be written."
_KINDS = {PAGES: (_MARKDOWN, _PAGE), FRAMES: (_PLAIN, _FRAME), STATUS: (_JSON, _STATUS)}
_NOT_FOUND = -32002  # of the era that begins with a handshake; the other one has no code of its own for it

TEMPLATES = [
    types.ResourceTemplate(
        name="pages", title="A page", uri_template=PAGE_TEMPLATE, description=_PAGE, mime_type=_MARKDOWN
    ),
    types.ResourceTemplate(
        name="frames", title="A frame", uri_template=FRAME_TEMPLATE, description=_FRAME, mime_type=_PLAIN
    ),
]


class Resources:
    """The resources of one server."""

    def __init__(self, hold: MemoryWorker) -> None:
        self._hold = hold

    async def list(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """In the order of their names, so that what comes or goes meanwhile moves nothing else to another answer."""
        after = (params.cursor if params else None) or ""
        found = await self._hold.run(lambda context: [each for each in listed(context.memory) if each[0] > after])
        more = found[_AT_ONCE - 1][0] if len(found) > _AT_ONCE else None
        return types.ListResourcesResult(resources=list(map(_resource, found[:_AT_ONCE])), next_cursor=more)

    async def templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """What stands there now."""
        uri = params.uri
        try:
            kind, text = await self._hold.run(lambda context: read(context.memory, uri))
        except NotFound:
            raise not_found(ctx, uri) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def listed(memory: Memory) -> list[tuple[str, str]]:
    """Every resource there is: its address and its name, in the order of addresses."""
    pages = ((PAGES + quote(name, safe=""), name) for name in page_names(memory))
    frames = ((FRAMES + quote(name, safe=""), name) for name in frame_names(memory))
    return sorted([*pages, *frames, (STATUS, "status")])


def _resource(found: tuple[str, str]) -> types.Resource:
    uri, name = found
    kind, about = next(told for prefix, told in _KINDS.items() if uri.startswith(prefix))
    return types.Resource(uri=uri, name=name, description=about, mime_type=kind)


def page_names(memory: Memory) -> list[str]:
    """The pages of this user that are neither dormant nor put away."""
    return sorted(info.path.rpartition("/")[2].removesuffix(".md") for info in memory.pages.list())


def frame_names(memory: Memory) -> list[str]:
    return [frame.name for frame in memory.frames]


def read(memory: Memory, uri: str) -> tuple[str, str]:
    """What kind of text it is, and the text. NotFound, if it names nothing of ours."""
    if uri == STATUS:
        return _JSON, _status(memory)
    if name := name_in(uri, PAGES):
        return _MARKDOWN, quoted(page_text(memory, name))
    if name := name_in(uri, FRAMES):
        return _PLAIN, quoted(_frame(memory, name))
    raise NotFound("no such resource")


def name_in(uri: str, prefix: str) -> str:
    """The name that an address of that kind holds; empty if it is none."""
    if not uri.startswith(prefix) or len(uri) > _LONGEST:
        return ""
    name = unquote(uri.removeprefix(prefix), errors="surrogateescape")
    is_one = name.isprintable() and not name.startswith(".") and not any(mark in name for mark in "/\\?#")
    return name if is_one else ""


def is_ours(uri: str) -> bool:
    """Whether something may stand at that address, now or later."""
    return uri == STATUS or bool(name_in(uri, PAGES) or name_in(uri, FRAMES))


def page_text(memory: Memory, name: str) -> str:
    """A page as it stands in its file. NotFound, if it is none of this user's."""
    try:
        return memory.pages.read(name).text
    except Refused:
        raise NotFound("no such page") from None


def _frame(memory: Memory, name: str) -> str:
    if name not in frame_names(memory):
        raise NotFound("no such frame")
    return memory.frame(name).text


def _status(memory: Memory) -> str:
    told = {**memory.status().to_dict(), "waiting": len(memory.reviews)}
    return orjson.dumps(told, option=orjson.OPT_INDENT_2).decode()


def not_found(ctx: Context, uri: str) -> MCPError:
    """The protocol's own word for it, in the era of this client. Only what the caller sent is repeated."""
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    return MCPError(
        types.INVALID_PARAMS if is_modern else _NOT_FOUND, "Resource not found; `resources/list` tells what there is",
        {"uri": uri[:_LONGEST]},
    )  # fmt: skip

"""Resources that a client reads by name: `memory://pages/{name}`, `memory://frames/{name}` and `memory://status`.

A name is one name of this user: no slash, no way up. What does not exist and what is somebody else's look the same.
Stored words come as quoted data (`quoted`).
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
from tallystick.surfaces.mcp.format import quoted

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker

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
        """In the order of their addresses, so that what comes or goes in between moves nothing else."""
        after = (params.cursor if params else None) or ""
        found = await self._hold.run(lambda context: [each for each in _all(context.memory) if each[0] > after])
        more = found[_AT_ONCE - 1][0] if len(found) > _AT_ONCE else None
        return types.ListResourcesResult(resources=list(map(_resource, found[:_AT_ONCE])), next_cursor=more)

    async def templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """The current content of a resource."""
        uri = params.uri
        try:
            kind, text = await self._hold.run(lambda context: _read(context.memory, uri))
        except NotFound:
            raise not_found(ctx, uri) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


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
    return sorted(info.path.rpartition("/")[2].removesuffix(".md") for info in memory.pages.list())


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

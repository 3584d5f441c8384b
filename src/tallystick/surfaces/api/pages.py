"""Pages: beliefs as dated entries on one Markdown file per entity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Header, Path as InPath, Query, Request
from pydantic import Field
from starlette.responses import Response

from tallystick.surfaces.api.base_model import Shape, shaped
from tallystick.surfaces.api.cursor import Cursor, Limit, Part, listed_unless_known, part, place_in
from tallystick.surfaces.api.json_response import Json, ask, plain, plains, unless_known
from tallystick.surfaces.api.other_models import PAGE, Entry, Found, Page, PageText
from tallystick.surfaces.api.responses import also, several
from tallystick.surfaces.api.route import router as made

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

router = made("pages")
MARKDOWN = "text/markdown"

PageName = Annotated[str, InPath(max_length=300, description="A page's name: person-ana, or person-ana.md.")]


class Pages(Shape):
    """A part of the pages."""

    model_config = shaped(items=[PAGE], next=None)
    items: list[Page] = Field(description="By name.")
    next: str | None = Field(description="Where to go on; null at the end.")


@router.get(
    "/v1/pages", operation_id="list_pages", response_model=Pages, responses=also(304), summary="List the pages",
    response_description="By name.",
)  # fmt: skip
async def list_pages(
    request: Request,
    dormant: Annotated[bool, Query(description="Also those that nobody touched for long.")] = False,
    archived: Annotated[bool, Query(description="Also those that were put away.")] = False,
    limit: Limit = 100, cursor: Cursor = "",
) -> Response:  # fmt: skip
    """One for each person, project or topic that something is held about."""
    place = place_in(request, cursor, str)

    def work(memory: Memory) -> Part:
        found, following = part(memory.pages.list(dormant, archived), lambda each: (each.path,), place, limit)
        return plains(found), following

    return await listed_unless_known(request, work)


class NewPage(Shape):
    """A page to be made."""

    model_config = shaped(name="project-harbor", description="The harbor release", tags=["work"])
    name: str = Field(description="Its name: person-ana, project-harbor, …")
    description: str = Field(default="", description="One line.")
    tags: list[str] = Field(default=[], description="Of the page as a whole.")
    title: str = Field(default="", description="What stands at its head.")


@router.post(
    "/v1/pages", operation_id="create_page", response_model=Page, status_code=201, responses=also(403, 409),
    summary="Make a page", response_description="The page.",
)  # fmt: skip
async def create_page(request: Request, said: NewPage) -> Response:
    """Before there is anything to put on it. One that is there is refused."""
    found = await ask(request, lambda memory: plain(
        memory.pages.create(said.name, said.description, said.tags, title=said.title)
    ))  # fmt: skip
    return Json(found, 201, {"Location": f"/v1/pages/{quote(found['about'], safe='')}"})


@router.get(
    "/v1/pages/search", operation_id="search_pages", response_model=Found, responses=also(304),
    summary="Search the pages", response_description="Entries, the best first.",
)  # fmt: skip
async def search_pages(
    *,
    request: Request,
    query: Annotated[str, Query(description='Words, "phrases", depl*, #tags, dates, ids.', examples=["tea"])],
    pages: Annotated[list[str], several("Only on these, or that begin so.")],
    tags: Annotated[list[str], several("Only with such a tag.")],
    since: Annotated[str | None, Query(max_length=40, description="Only from then on.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="Only up to then.")] = None,
    superseded: Annotated[bool, Query(description="Also what was replaced.")] = False,
    limit: Limit = 10,
) -> Response:  # fmt: skip
    """The entries that hold these words. No text is wrong."""
    return await unless_known(request, lambda memory: {"entries": plains(memory.pages.search(
        query, pages or None, since, until, limit, superseded, tags=tags
    ))})  # fmt: skip


@router.get(
    "/v1/pages/recent", operation_id="recent_entries", response_model=Found, responses=also(304),
    summary="See what was written lately", response_description="Entries, the newest first.",
)  # fmt: skip
async def recent_entries(
    *,
    request: Request,
    since: Annotated[str | None, Query(max_length=40, description="Only from then on.")] = None,
    prefixes: Annotated[list[str], several("Only on pages that begin so.")],
    limit: Limit = 20,
) -> Response:  # fmt: skip
    """The entries that hold now, of all pages."""
    on = prefixes or None
    return await unless_known(request, lambda memory: {"entries": plains(memory.pages.recent(since, limit, on))})


@router.get(
    "/v1/pages/schema", operation_id="page_schema", response_class=Response, summary="Read how pages are written",
    responses={**also(), 200: {"content": {MARKDOWN: {"schema": {"type": "string"}}}, "description": "As Markdown."}},
)  # fmt: skip
async def page_schema(request: Request) -> Response:
    """Where something belongs, and how it is said, for an agent to read."""
    return Response(await ask(request, lambda memory: memory.pages.get_schema()), media_type=MARKDOWN)


@router.get(
    "/v1/pages/{name}", operation_id="get_page", response_model=PageText, summary="Read a page",
    responses={**also(304, 404), 200: {
        "description": "The page; as Markdown, if `Accept` says text/markdown.",
        "content": {MARKDOWN: {"schema": {"type": "string"}}},
    }},
)  # fmt: skip
async def get_page(
    *,
    request: Request, name: PageName,
    since: Annotated[str | None, Query(max_length=40, description="Only entries from then on.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="Only entries up to then.")] = None,
    tags: Annotated[list[str], several("Only entries with such a tag.")],
    tail: Annotated[int | None, Query(ge=0, le=100_000, description="Only the last so many.")] = None,
    superseded: Annotated[bool, Query(description="Also what was replaced or taken back.")] = False,
) -> Response:  # fmt: skip
    """As JSON: its entries, oldest first, and the file's text. As `text/markdown`: the file as it stands."""
    which: dict[str, Any] = {
        "since": since, "until": until, "tags": tags, "tail_n": tail, "include_superseded": superseded
    }  # fmt: skip
    is_text = MARKDOWN in request.headers.get("accept", "")

    def made(found: dict[str, Any], headers: Any) -> Response:
        told = {**headers, "Vary": "Accept"}
        return Response(found["text"], headers=told, media_type=MARKDOWN) if is_text else Json(found, headers=told)

    return await unless_known(
        request, lambda memory: plain(memory.pages.read(name, **which)), made=made,
        also=lambda memory: _file(memory, name),
    )  # fmt: skip


def _file(memory: Memory, name: str) -> str:
    """What tells whether somebody edited the page's file, which no event says yet."""
    try:
        found = (memory.pages.folder / memory.pages.name_of(name.removesuffix(".md"))).stat()
    except (OSError, ValueError):
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


class ChangePage(Shape):
    """What to say of a page as a whole."""

    model_config = shaped(description="What Ana likes", tags=["people"])
    description: str | None = Field(default=None, description="One line.")
    tags: list[str] | None = Field(default=None, description="Of the page as a whole.")
    title: str | None = Field(default=None, description="What stands at its head.")
    status: Literal["active", "archived"] | None = Field(default=None, description="Take it up again, or put it away.")
    needs_compact: Literal[True] | None = Field(default=None, description="Mark it to be folded.")
    reason: str = Field(default="", description="Why it is to be folded.")


@router.patch(
    "/v1/pages/{name}", operation_id="change_page", response_model=Page, responses=also(403, 404, 409),
    summary="Describe a page, or put it away", response_description="The page.",
)  # fmt: skip
async def change_page(request: Request, name: PageName, said: ChangePage) -> Response:
    """What is left out stays as it is. Entries are changed by superseding them."""

    def work(memory: Memory) -> Any:
        pages = memory.pages
        found = pages.describe(name, description=said.description, tags=said.tags, title=said.title)
        if said.status is not None:
            found = pages.archive(name) if said.status == "archived" else pages.activate(name)
        return plain(pages.flag_compact(name, said.reason) if said.needs_compact else found)

    return Json(await ask(request, work))


class NewEntry(Shape):
    """A statement for a page."""

    model_config = shaped(text="Ana lives in Berlin.", tags=["home"])
    text: str = Field(description="One thing, in a sentence.")
    tags: list[str] = Field(default=[], description="Words to find it by.")
    kind: str = Field(default="fact", description="fact, preference, …", max_length=100)
    confidence: float = Field(default=0.7, ge=0, le=1, description="How sure it is.")


@router.post(
    "/v1/pages/{name}/entries", operation_id="append_entry", response_model=Entry, status_code=201,
    responses=also(202, 403, 404, 409), summary="Add a statement to a page", response_description="The entry.",
)  # fmt: skip
async def append_entry(
    request: Request, name: PageName, said: NewEntry,
    idempotency_key: Annotated[str, Header(
        alias="Idempotency-Key", max_length=200, description="The same call again under it writes nothing.",
    )] = "",
) -> Response:  # fmt: skip
    """The page is made if need be. It is a belief about that entity."""
    more: dict[str, Any] = {"kind": said.kind, "confidence": said.confidence, "idempotency_key": idempotency_key}
    return Json(await ask(request, lambda memory: plain(memory.pages.append(name, said.text, said.tags, **more))), 201)


class Supersede(Shape):
    """What is to stand there instead."""

    model_config = shaped(text="Ana lives in Munich.", reason="she moved")
    text: str = Field(description="The new words.")
    reason: str = Field(default="", description="Why.")
    tags: list[str] | None = Field(default=None, description="Left out: as before.")


@router.post(
    "/v1/pages/{name}/entries/{id}/supersede", operation_id="supersede_entry", response_model=Entry,
    responses=also(202, 403, 404, 409), summary="Say an entry otherwise", response_description="The new entry.",
)  # fmt: skip
async def supersede_entry(
    request: Request, name: PageName, id: Annotated[str, InPath(max_length=200, description="The entry's id.")],
    said: Supersede,
) -> Response:  # fmt: skip
    """The old one is struck and names the new one. If it was replaced since you read it: 409."""
    return Json(await ask(request, lambda memory: plain(
        memory.pages.supersede(name, id, said.text, said.reason, tags=said.tags)
    )))  # fmt: skip

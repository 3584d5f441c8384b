"""Pages: beliefs as dated entries on one Markdown file per entity."""

from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Path as InPath, Query, Request
from pydantic import Field
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.surfaces.api import models
from tallystick.surfaces.api.models import IdempotencyKey, Limit, Shape, several, shaped
from tallystick.surfaces.api.operation import WRITE, Json, Operations, Part, also, part, plain, plains, unless_known

api = Operations("pages", "Beliefs as entries on Markdown pages.")
MARKDOWN = "text/markdown"
_MARKDOWN_TEXT = {MARKDOWN: {"schema": {"type": "string"}}}

PageName = Annotated[str, InPath(max_length=300, description="The name of a page: person-ana, or person-ana.md.")]


@api.get("/v1/pages", models.Pages, 304, place=(str,), summary="List the pages")
def list_pages(
    memory: Memory, place: list[Any] | None,
    dormant: Annotated[bool, Query(description="Also dormant pages.")] = False,
    archived: Annotated[bool, Query(description="Also archived pages.")] = False,
    limit: Limit = 100,
) -> Part:  # fmt: skip
    """One for each person, project or topic that has beliefs."""
    return part(memory.pages.list(dormant, archived), lambda each: (each.path,), place, limit)


class NewPage(Shape):
    """A page to create."""

    model_config = shaped(name="project-harbor", description="The harbor release", tags=["work"])
    name: str = Field(description="The name: person-ana, project-harbor, …")
    description: str = Field(default="", description="One line.")
    tags: list[str] = Field(default=[], description="The tags of the page.")
    title: str = Field(default="", description="The heading.")


@api.post("/v1/pages", models.Page, 403, 409, status=201, summary="Create a page")
def create_page(memory: Memory, body: NewPage) -> Json:
    """Creates a page before it has entries. One that exists is refused."""
    found = plain(memory.pages.create(body.name, body.description, body.tags, title=body.title))
    return Json(found, 201, {"Location": f"/v1/pages/{quote(found['about'], safe='')}"})


@api.get("/v1/pages/search", models.Found, 304, summary="Search the pages")
def search_pages(
    memory: Memory,
    *,
    query: Annotated[str, Query(description='Words, "phrases", depl*, #tags, dates, ids.', examples=["tea"])],
    pages: Annotated[list[str], several("Only on these pages; a prefix is enough.")],
    tags: Annotated[list[str], several("Only with such a tag.")],
    since: Annotated[str | None, Query(max_length=40, description="Only from then or later.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="Only until then.")] = None,
    superseded: Annotated[bool, Query(description="Also superseded entries.")] = False,
    limit: Limit = 10,
) -> Any:  # fmt: skip
    """The entries with these words. Any text is a valid query."""
    return {"entries": plains(memory.pages.search(query, pages or None, since, until, limit, superseded, tags=tags))}


@api.get("/v1/pages/recent", models.Found, 304, summary="List the newest entries")
def recent_entries(
    memory: Memory,
    *,
    since: Annotated[str | None, Query(max_length=40, description="Only from then or later.")] = None,
    prefixes: Annotated[list[str], several("Only on pages with such a prefix.")],
    limit: Limit = 20,
) -> Any:  # fmt: skip
    """The current entries of all pages."""
    return {"entries": plains(memory.pages.recent(since, limit, prefixes or None))}


@api.get(
    "/v1/pages/schema", None, summary="Get the rules for writing pages",
    responses={200: {"content": _MARKDOWN_TEXT, "description": "As Markdown."}}, response_class=Response,
)  # fmt: skip
def page_schema(memory: Memory) -> Response:
    """Which page a statement belongs on, and how to write it, for an agent to read."""
    return Response(memory.pages.get_schema(), media_type=MARKDOWN)


@api.router.get(
    "/v1/pages/{name}", response_model=models.PageText, summary="Get a page", responses={**also(304, 404), 200: {
        "description": "The page; as Markdown, if `Accept` is text/markdown.", "content": _MARKDOWN_TEXT,
    }},
)  # fmt: skip
async def get_page(
    *,
    request: Request, name: PageName,
    since: Annotated[str | None, Query(max_length=40, description="Only entries from then or later.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="Only entries until then.")] = None,
    tags: Annotated[list[str], several("Only entries with such a tag.")],
    tail: Annotated[int | None, Query(ge=0, le=100_000, description="Only that many of the last entries.")] = None,
    superseded: Annotated[bool, Query(description="Also superseded or retracted entries.")] = False,
) -> Response:  # fmt: skip
    """As JSON: its entries, oldest first, and the text of the file. As `text/markdown`: the file."""
    is_text = MARKDOWN in request.headers.get("accept", "")

    def work(memory: Memory) -> Any:
        return plain(memory.pages.read(
            name, since=since, until=until, tags=tags, tail_n=tail, include_superseded=superseded
        ))  # fmt: skip

    def made(found: dict[str, Any], headers: Any) -> Response:
        headers = {**headers, "Vary": "Accept"}
        if is_text:
            return Response(found["text"], headers=headers, media_type=MARKDOWN)
        return Json(found, headers=headers)

    return await unless_known(request, work, made=made, also=lambda memory: _file_version(memory, name))


def _file_version(memory: Memory, name: str) -> str:
    """A text that changes when somebody edits the page's file, which no event records yet."""
    try:
        found = (memory.pages.folder / memory.pages.name_of(name.removesuffix(".md"))).stat()
    except (OSError, ValueError):
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


class ChangePage(Shape):
    """Changes to a page."""

    model_config = shaped(description="What Ana likes", tags=["people"])
    description: str | None = Field(default=None, description="One line.")
    tags: list[str] | None = Field(default=None, description="The tags of the page.")
    title: str | None = Field(default=None, description="The heading.")
    status: Literal["active", "archived"] | None = Field(default=None, description="Activate it, or archive it.")
    needs_compact: Literal[True] | None = Field(default=None, description="Flag it for compaction.")
    reason: str = Field(default="", description="Why it needs compaction.")


@api.patch("/v1/pages/{name}", models.Page, 403, 404, 409, summary="Describe or archive a page")
def change_page(memory: Memory, name: PageName, body: ChangePage) -> Any:
    """Fields that are left out stay as they are. To change entries, supersede them."""
    pages = memory.pages
    found = pages.describe(name, description=body.description, tags=body.tags, title=body.title)
    if body.status is not None:
        found = pages.archive(name) if body.status == "archived" else pages.activate(name)
    return plain(pages.flag_compact(name, body.reason) if body.needs_compact else found)


class NewEntry(Shape):
    """A statement for a page."""

    model_config = shaped(text="Ana lives in Berlin.", tags=["home"])
    text: str = Field(description="One thing, in a sentence.")
    tags: list[str] = Field(default=[])
    kind: str = Field(default="fact", description="fact, preference, …", max_length=100)
    confidence: float = Field(default=0.7, ge=0, le=1)


@api.post("/v1/pages/{name}/entries", models.Entry, *WRITE, status=201, summary="Add an entry to a page")
def append_entry(memory: Memory, name: PageName, body: NewEntry, idempotency_key: IdempotencyKey = "") -> Any:
    """Creates the page if needed. The entry is a belief about that entity."""
    more: dict[str, Any] = {"kind": body.kind, "confidence": body.confidence, "idempotency_key": idempotency_key}
    return plain(memory.pages.append(name, body.text, body.tags, **more))


class Supersede(Shape):
    """The new text of an entry."""

    model_config = shaped(text="Ana lives in Munich.", reason="she moved")
    text: str = Field(description="The new words.")
    reason: str = ""
    tags: list[str] | None = Field(default=None, description="Left out: as before.")


@api.post("/v1/pages/{name}/entries/{id}/supersede", models.Entry, *WRITE, summary="Supersede an entry")
def supersede_entry(
    memory: Memory, name: PageName, id: Annotated[str, InPath(max_length=200, description="The id of the entry.")],
    body: Supersede,
) -> Any:  # fmt: skip
    """The old entry is struck and names the new one. If it was superseded since you read it: 409."""
    return plain(memory.pages.supersede(name, id, body.text, body.reason, tags=body.tags))

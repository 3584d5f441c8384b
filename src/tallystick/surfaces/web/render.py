"""Rendering pages and reading forms.

All stored text goes through the template's escaping: nothing here or in a template marks it as safe, except what
`web/markdown` made of it. A form is accepted only with the CSRF token of its session.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from hmac import compare_digest
from http import HTTPStatus
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote as quote_url

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from tallystick.memory.memory import Memory
from tallystick.memory.settings import locate
from tallystick.records.belief import OWNER
from tallystick.records.errors import Damaged, Refused, TallystickError
from tallystick.surfaces.present.names import called
from tallystick.surfaces.server.guard import status_of
from tallystick.surfaces.server.worker import MemoryWorker
from tallystick.surfaces.web.filters import FILTERS

T = TypeVar("T")

TEMPLATES = Path(__file__).parent / "templates"
PAGES = (  # the navigation, in this order
    ("/", "Home"), ("/search", "Search"), ("/pages", "Pages"), ("/timeline", "Timeline"), ("/graph", "Graph"),
    ("/reviews", "Reviews"), ("/integrity", "Integrity"),
)  # fmt: skip
TYPED = {"text": "Text", "name": "Name", "about": "About", "tags": "Tags", "reason": "Reason"}  # by a person
_FIELDS = 200  # of a form
_SUGGESTED = 500  # entities
_DIGITS = 16  # of an event's number


class Forged(Refused):
    """A form that no page of this session sent."""


async def with_memory(request: Request, work: Callable[[Memory], T]) -> T:
    """Run `work` on the memory, in its thread. One call per page, so everything on it is of one moment."""
    worker: MemoryWorker = request.app.state.worker
    return await worker.run(lambda context: work(context.memory))


def render(request: Request, template: str, *, piece: str = "", status: int = 200, **context: Any) -> HTMLResponse:
    """A page; or its `piece`, if our own script asks for that. Templates also get `nav`, `here` and `csrf`."""
    here = "/" + request.url.path.strip("/").partition("/")[0]
    is_piece = piece and request.headers.get("x-piece") == "1"
    found = _templates().get_template(piece if is_piece else template)
    text = found.render(nav=PAGES, here=here, csrf=csrf_of(request), **context)
    return HTMLResponse(text, status, {"Vary": "X-Piece"})  # one address, two answers: no cache may mix them


def redirect(to: str) -> RedirectResponse:
    """The answer to an accepted form. Reloading the page it leads to sends nothing twice."""
    return RedirectResponse(to, 303)


def page_status(error: TallystickError) -> HTTPStatus:
    """The status of a page about this error. A pending review is not what the form asked for."""
    status = HTTPStatus.FORBIDDEN if isinstance(error, Forged) else status_of(error)
    return HTTPStatus.CONFLICT if status == HTTPStatus.ACCEPTED else status


def is_number(text: str) -> bool:
    """True if this could be an event's number."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def command_for(memory: Memory, command: str, *, takes_user: bool = True) -> str:
    """A shell command, with the options that select this memory."""
    folder = "" if locate().resolve() == memory.folder.resolve() else f" -C {quote(str(memory.folder))}"
    user = "" if memory.user == OWNER or not takes_user else f" --user {quote(memory.user)}"
    return f"tallystick{folder} {command}{user}"


def page_of(memory: Memory, about: str) -> str:
    """The name of an entity's page; empty if it has none, or if the memory is damaged and no page can be opened."""
    try:
        name = memory.pages.name_of(about) if about in memory.pages else ""
    except Damaged:
        return ""
    return name.rpartition("/")[2].removesuffix(".md")


def page_titles(memory: Memory) -> dict[str, str]:
    """The title of each active page, by the page's name; empty if the memory is damaged."""
    try:
        return {called(info): info.title for info in memory.pages.list()}
    except Damaged:
        return {}


def suggested(titles: Mapping[str, str]) -> list[tuple[str, str]]:
    """What a field about an entity suggests: its title; where several have that, the page's name and the title."""
    several = Counter(title.casefold() for title in titles.values())
    found = [(title, "") if several[title.casefold()] == 1 else (name, title) for name, title in titles.items()]
    return sorted(found, key=lambda each: each[0].casefold())[:_SUGGESTED]


# -- forms -------------------------------------------------------------------------------------------------------------


def csrf_of(request: Request) -> str:
    """The CSRF token of this session, as access control put it there."""
    return str(request.scope.get("state", {}).get("csrf", ""))


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that a page of this session sent."""
    fields, csrf = await read_fields(request), csrf_of(request)
    if not compare_digest(fields.pop("csrf", "").encode(), csrf.encode()) or not csrf:
        raise Forged("this form is from another session; open the page again and resend it")
    return fields


async def read_fields(request: Request) -> dict[str, str]:
    """The fields of a form, whoever sent it; of a repeated name, the last."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise Refused("send forms as application/x-www-form-urlencoded")
    try:
        fields = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError:
        raise Refused("this form cannot be read; open the page again and resend it") from None
    fields = {name: value.replace("\r\n", "\n") for name, value in fields.items()}
    request.scope.setdefault("state", {})["sent"] = fields
    return fields


def unsaved(request: Request) -> dict[str, Any]:
    """Template context for a page about a rejected form: what was typed, if anything, and where to resend it."""
    sent = request.scope.get("state", {}).get("sent", {})
    fields = {name: value for name, value in sent.items() if name not in ("csrf", "token")}
    is_typed = any(fields.get(name, "").strip() for name in TYPED)
    return {"unsaved": fields if is_typed else {}, "labels": TYPED, "action": quote_url(request.scope["path"])}


@lru_cache(maxsize=1)
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.filters.update(FILTERS)
    return environment

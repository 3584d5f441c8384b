"""How a page is put together: the memory is asked, a template is filled, a form that comes back is checked.

Every text of the memory goes through the template's escaping; nothing here or in a template marks stored text as safe,
but for what `web/markdown` made of it. A form counts only with the word that this session's pages carry (`csrf`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hmac import compare_digest
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote as quoted

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from tallystick.memory.settings import locate
from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused
from tallystick.surfaces.web.filters import FILTERS

if TYPE_CHECKING:
    from starlette.requests import Request

    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker

T = TypeVar("T")

TEMPLATES = Path(__file__).parent / "templates"
PAGES = (  # what the navigation shows, in this order
    ("/", "Home"), ("/search", "Search"), ("/pages", "Pages"), ("/timeline", "Timeline"), ("/graph", "Graph"),
    ("/reviews", "Reviews"), ("/integrity", "Integrity"),
)  # fmt: skip
TYPED = {"text": "Your words", "name": "Name", "about": "About", "tags": "Tags", "reason": "Reason"}  # by a person
_NOT_KEPT = ("csrf", "token")
_FIELDS = 200  # of a form


class Forged(Refused):
    """A form that none of this session's pages sent."""


async def ask(request: Request, work: Callable[[Memory], T]) -> T:
    """Do `work` on the memory, in its thread. One call for a whole page: what it shows is of one moment."""
    hold: MemoryWorker = request.app.state.hold
    return await hold.run(lambda context: work(context.memory))


def shown(request: Request, template: str, *, status: int = 200, **given: Any) -> HTMLResponse:
    """A page, or a piece of one. A template has what it is given, and `nav`, `here`, `csrf`."""
    here = "/" + request.url.path.strip("/").partition("/")[0]
    text = _templates().get_template(template).render(nav=PAGES, here=here, csrf=csrf_of(request), **given)
    return HTMLResponse(text, status, {"Vary": "X-Piece"})  # one address, two answers: no cache may mix them


def command_of(memory: Memory, command: str, *, takes_user: bool = True) -> str:
    """A command for a terminal, with what it needs to mean this memory."""
    folder = "" if locate().resolve() == memory.folder.resolve() else f" -C {quote(str(memory.folder))}"
    user = "" if memory.user == OWNER or not takes_user else f" --user {quote(memory.user)}"
    return f"tallystick{folder} {command}{user}"


def is_piece(request: Request) -> bool:
    """Whether our own script asks, and wants the changing piece of the page alone."""
    return request.headers.get("x-piece") == "1"


def csrf_of(request: Request) -> str:
    """The word that this session's forms carry. Whoever let the request in has put it there."""
    return str(request.scope.get("state", {}).get("csrf", ""))


async def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a form that one of this session's pages sent; of a name that is said twice, the last."""
    fields = await fields_of(request)
    if not compare_digest(fields.pop("csrf", "").encode(), csrf_of(request).encode()) or not csrf_of(request):
        raise Forged("this form is from another session; open the page again, and send it from there")
    return fields


async def fields_of(request: Request) -> dict[str, str]:
    """The fields of a form, whoever sent it."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise Refused("send a form as application/x-www-form-urlencoded")
    try:
        fields = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError:
        raise Refused("this form cannot be read; open the page again, and send it from there") from None
    fields = {name: value.replace("\r\n", "\n") for name, value in fields.items()}
    request.scope.setdefault("state", {})["sent"] = fields
    return fields


def kept_of(request: Request) -> dict[str, str]:
    """What a form said that was sent and not taken, so that its words are not lost; nothing, if nothing was typed."""
    sent = request.scope.get("state", {}).get("sent", {})
    fields = {name: value for name, value in sent.items() if name not in _NOT_KEPT}
    return fields if any(fields.get(name, "").strip() for name in TYPED) else {}


def kept(request: Request) -> dict[str, Any]:
    """What a page needs that tells why a form was not taken: its words, and where to send them again."""
    return {"kept": kept_of(request), "labels": TYPED, "again": quoted(request.scope["path"])}


def then(to: str) -> RedirectResponse:
    """After a form was taken: look at a page. Loading that again sends nothing twice."""
    return RedirectResponse(to, 303)


@lru_cache(maxsize=1)
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters.update(FILTERS)
    return made

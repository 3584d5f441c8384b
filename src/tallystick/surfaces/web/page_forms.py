"""What a person does to a page: add an entry, change one, forget one, put the page away.

A change is a version that takes the place of the one that was read. If that one changed meanwhile, nothing is changed:
the form comes back with both texts, and what was typed is still in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from secrets import token_hex
from typing import TYPE_CHECKING

from tallystick.records.errors import Busy, Refused, TallystickError
from tallystick.surfaces.present.page_names import meant
from tallystick.surfaces.web.filters import segment
from tallystick.surfaces.web.page_view import OpenPage, opened
from tallystick.surfaces.web.render import ask, form_of, shown, then
from tallystick.surfaces.web.revise import begin, forgotten, reworded, shown_as, shown_form

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory

_TAGS = re.compile(r"[\s,#]+")
_NOT_A_NAME = re.compile(r"[^\w]+")


def once() -> str:
    """A word for a form that adds: sent twice by mistake, it adds once."""
    return token_hex(8)


async def editing(request: Request, name: str, version: str) -> Response:
    """The form for one entry."""
    draft = await ask(request, lambda memory: begin(memory, version, page=meant(memory, name)))
    return shown_form(request, draft)


async def begun(request: Request) -> Response:
    """The first entry of a page, which is made by it; or a look at every file, for what was edited there."""
    form = await form_of(request)
    if form.get("do") == "sync":
        await ask(request, lambda memory: memory.pages.sync())
        return then("/pages?done=synced")
    words = _NOT_A_NAME.sub("-", form.get("name", "").strip()).strip("-").lower()
    name = f"{form.get('kind', '')}-{words}"
    if not words:
        raise Refused("name what the page is about, like Ana or Harbor", "name")
    done = await ask(request, lambda memory: _add(memory, name, form))
    return then(f"/pages/{segment(name)}?done={done}")


async def taken(request: Request) -> Response:
    """One of the forms of a page."""
    form, named = await form_of(request), request.path_params["name"]
    name = await ask(request, lambda memory: meant(memory, named))
    what = form.get("do", "")
    if what == "change":
        return await _change(request, name, form)
    if what == "add":
        return await _added(request, name, form)
    if what not in _ACTS:
        raise Refused("this form says nothing that can be done to a page; open the page again")
    done = await ask(request, lambda memory: _ACTS[what](memory, name, form))
    return then(f"/pages/{segment(name)}?done={done}")


async def _added(request: Request, name: str, form: Mapping[str, str]) -> Response:
    """Add an entry, and look at it; or show the page again, with the reason and what was typed."""

    def work(memory: Memory) -> tuple[str, OpenPage | None, TallystickError | None]:
        try:
            return _add(memory, name, form), None, None
        except (Refused, Busy) as error:
            return "", opened(memory, name), error

    done, page, error = await ask(request, work)
    if page is None or error is None:
        return then(f"/pages/{segment(name)}?done={done}")
    return shown_page(request, page, trouble=str(error), typed=form, status=shown_as(error))


def shown_page(
    request: Request, page: OpenPage, *, done: str = "", trouble: str = "", typed: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:  # fmt: skip
    """One page with its forms."""
    given = {"page": page, "done": done, "trouble": trouble, "typed": typed or {}, "once": once()}
    return shown(request, "page.html", status=status, **given)


async def _change(request: Request, name: str, form: Mapping[str, str]) -> Response:
    def change(memory: Memory, version: str, text: str, reason: str) -> str:
        return memory.pages.supersede(name, version, text, reason).id

    return await reworded(request, form, change, page=name)


def _add(memory: Memory, name: str, form: Mapping[str, str]) -> str:
    tags = [tag for tag in _TAGS.split(form.get("tags", "")) if tag]
    key = form.get("once", "")
    memory.pages.append(name, form.get("text", "").strip("\n"), tags, idempotency_key=f"page:{key}" if key else "")
    return "masked" if memory.masked else "added"


def _forget(memory: Memory, name: str, form: Mapping[str, str]) -> str:
    begin(memory, form.get("version", ""), page=name)  # it is on this page
    return forgotten(memory, form)


def _archive(memory: Memory, name: str, _: Mapping[str, str]) -> str:
    return memory.pages.archive(name).status


def _activate(memory: Memory, name: str, _: Mapping[str, str]) -> str:
    return memory.pages.activate(name).status


_ACTS = {"forget": _forget, "archive": _archive, "activate": _activate}

"""Pages: what is held about each thing, as a person reads and edits it.

    GET  /pages                    all of them, by kind; with `q`, the entries that hold these words
    GET  /pages/{name}             one, its newest entries first; `earlier` shows what was replaced, `before` goes on
    GET  /pages/{name}?edit=ID     a form for one of its entries; `file` shows the page as its file reads
    POST /pages, /pages/{name}     see `page_forms`

A page that somebody edited in its file is taken in when it is looked at, so that it shows what the file says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route

from tallystick.surfaces.present.page_names import meant
from tallystick.surfaces.web import belief, episode, page_forms
from tallystick.surfaces.web.page_view import listed, opened
from tallystick.surfaces.web.render import ask, is_piece, shown
from tallystick.surfaces.web.revise import DONE

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


async def _all(request: Request) -> Response:
    words = request.query_params.get("q", "").strip()
    found = await ask(request, lambda memory: listed(memory, words))
    template = "pages_list.html" if is_piece(request) else "pages.html"
    done = DONE.get(request.query_params.get("done", ""), "")
    return shown(request, template, found=found, done=done, once=page_forms.once())


async def _one(request: Request) -> Response:
    name, said = request.path_params["name"], request.query_params
    if "edit" in said:
        return await page_forms.editing(request, name, said["edit"])
    page = await ask(
        request,
        lambda memory: opened(
            memory, meant(memory, name), earlier="earlier" in said, before=said.get("before", ""),
        ),
    )  # fmt: skip
    if "file" in said:
        return shown(request, "page_file.html", page=page)
    return page_forms.shown_page(request, page, done=DONE.get(said.get("done", ""), ""))


routes: list[BaseRoute] = [
    Route("/pages", _all, methods=["GET"]),
    Route("/pages", page_forms.begun, methods=["POST"]),
    Route("/pages/{name}", _one, methods=["GET"]),
    Route("/pages/{name}", page_forms.taken, methods=["POST"]),
    *belief.routes,
    *episode.routes,
]

"""The web pages as one application. `serve/access_control` decides who may see them."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute

from tallystick.records.errors import TallystickError
from tallystick.surfaces.server.http_status import allowed
from tallystick.surfaces.web import belief, graph, home, integrity, pages, reviews, search, timeline
from tallystick.surfaces.web.render import page_status, render, unsaved

if TYPE_CHECKING:
    from starlette.requests import Request

    from tallystick.surfaces.server.worker import MemoryWorker

_PAGES = (home, search, pages, belief, timeline, graph, reviews, integrity)


def create_app(
    worker: MemoryWorker, *, routes: Sequence[BaseRoute] = (), notices: list[str] | None = None
) -> Starlette:  # fmt: skip
    """The pages of a memory, which `worker` opens with a person's trust.

    `routes` are the server's own; `notices` grows with what the memory does by itself.
    """
    app = Starlette(
        routes=[*routes, *(route for page in _PAGES for route in page.routes)],
        exception_handlers={TallystickError: _refused, HTTPException: _http_error, Exception: _internal_error},
    )
    app.state.worker, app.state.jobs = worker, integrity.Jobs()
    app.state.notices = [] if notices is None else notices
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, TallystickError)
    return _error_page(request, page_status(error), str(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    response = _error_page(request, status, _DETAILS.get(status, ""))
    response.headers.update(error.headers or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["allow"] = allowed(request.app.routes, request)
    return response


async def _internal_error(request: Request, _: Exception) -> Response:
    """The error itself is logged by access control, where only the person who started the server reads it."""
    return _error_page(request, HTTPStatus.INTERNAL_SERVER_ERROR, _DETAILS[HTTPStatus.INTERNAL_SERVER_ERROR])


def _error_page(request: Request, status: HTTPStatus, detail: str) -> Response:
    title = _TITLES.get(status, status.phrase)
    return render(
        request, "error.html", piece="error_piece.html", status=status, title=title, detail=detail, **unsaved(request)
    )


_TITLES = {
    HTTPStatus.BAD_REQUEST: "Invalid request", HTTPStatus.NOT_FOUND: "Not found", HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.CONFLICT: "This has changed", HTTPStatus.SERVICE_UNAVAILABLE: "Not available now",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something went wrong",
}  # fmt: skip
_DETAILS = {
    HTTPStatus.NOT_FOUND: "There is no page at this address.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "tallystick failed on this request. Everything already saved is safe; try again.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not accept that method. Use the form on its page.",
}

"""The pages as one application. Who may see it is decided before: see `serve/access_control`."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute

from tallystick.records.errors import TallystickError
from tallystick.surfaces.server.http_status import allowed, status_of
from tallystick.surfaces.web import graph, home, integrity, pages, reviews, search, timeline
from tallystick.surfaces.web.render import Forged, is_piece, kept, shown

if TYPE_CHECKING:
    from starlette.requests import Request

    from tallystick.surfaces.server.worker import MemoryWorker

_PAGES = (home, search, pages, timeline, graph, reviews, integrity)


def made(hold: MemoryWorker, *, more: Sequence[BaseRoute] = (), told: list[str] | None = None) -> Starlette:
    """The site of the memory that is held: a person's, so it is held with a person's trust.

    `more` are addresses of whoever serves it; `told` is what the memory did by itself, as it grows.
    """
    site = Starlette(
        routes=[*more, *(route for page in _PAGES for route in page.routes)],
        exception_handlers={TallystickError: _refused, HTTPException: _nothing_here, Exception: _broken},
    )
    site.state.hold, site.state.told = hold, [] if told is None else told
    return site


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, TallystickError)
    status = HTTPStatus.FORBIDDEN if isinstance(error, Forged) else status_of(error)
    if status == HTTPStatus.ACCEPTED:
        status = HTTPStatus.CONFLICT  # on a page, a question that waits is not what was asked for
    return _told(request, status, str(error))


async def _nothing_here(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    answer = _told(request, status, _DETAILS.get(status, ""))
    answer.headers.update(error.headers or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        answer.headers["allow"] = allowed(request.app.routes, request)
    return answer


async def _broken(request: Request, _: Exception) -> Response:
    """The door tells of what went wrong where nobody but the person who started the server reads it."""
    return _told(request, HTTPStatus.INTERNAL_SERVER_ERROR, _DETAILS[HTTPStatus.INTERNAL_SERVER_ERROR])


def _told(request: Request, status: HTTPStatus, detail: str) -> Response:
    if is_piece(request):
        return shown(request, "error_piece.html", status=status, detail=detail)
    title = _TITLES.get(status, status.phrase)
    return shown(request, "error.html", status=status, title=title, detail=detail, back="", **kept(request))


_TITLES = {
    HTTPStatus.BAD_REQUEST: "That cannot be done as it stands", HTTPStatus.NOT_FOUND: "Nothing is here",
    HTTPStatus.FORBIDDEN: "That is not allowed", HTTPStatus.CONFLICT: "It has changed meanwhile",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not possible now", HTTPStatus.INTERNAL_SERVER_ERROR: "Something went wrong",
}  # fmt: skip
_DETAILS = {
    HTTPStatus.NOT_FOUND: "There is no page at this address. The ones there are stand above.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "This failed inside tallystick. What was acknowledged is kept; try again.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not take that. Use the form on its page.",
}

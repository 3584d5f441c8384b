"""The web pages as one application. `serve/access_control` decides who may see them."""

from collections.abc import Sequence
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tallystick.records.errors import TallystickError
from tallystick.surfaces.server.guard import allowed
from tallystick.surfaces.server.worker import MemoryWorker
from tallystick.surfaces.web import (
    belief,
    changes,
    entities,
    graph,
    home,
    integrity,
    pages,
    reviews,
    search,
    timeline,
)
from tallystick.surfaces.web.render import page_status, render, unsaved

_GET = {  # a key may contain a slash
    "/": home.show, "/search": search.search, "/pages": pages.list_pages, "/pages/{name}": pages.show,
    "/episodes/{name:path}": belief.show_episode, "/beliefs/{name:path}": belief.show,
    "/timeline": timeline.list_events, "/timeline/{seq}": timeline.show,
    "/timeline/{seq}/proof.txt": timeline.proof_file, "/graph": graph.show, "/reviews": reviews.list_reviews,
    "/reviews/{name}": reviews.show, "/integrity": integrity.show, "/changes": changes.show, "/undo": changes.preview,
    "/merge": entities.merge, "/split": entities.split,
}  # fmt: skip
_POST = {
    "/": home.remember, "/search/outcome": search.report_outcome, "/pages": pages.create, "/pages/{name}": pages.act,
    "/beliefs/{name:path}": belief.act, "/timeline/{seq}/sign": timeline.sign,
    "/reviews/{name}/approve": reviews.answer, "/reviews/{name}/reject": reviews.answer,
    "/integrity/verify": integrity.look, "/integrity/check": integrity.look, "/integrity/backup": integrity.backup,
    "/integrity/checkpoint": integrity.checkpoint, "/undo": changes.undo, "/merge": entities.merge,
    "/split": entities.split,
}  # fmt: skip
_ROUTES = [
    Route(path, handle, methods=[method])
    for method, handlers in (("GET", _GET), ("POST", _POST)) for path, handle in handlers.items()
]  # fmt: skip


def create_app(
    worker: MemoryWorker, *, routes: Sequence[BaseRoute] = (), notices: list[str] | None = None
) -> Starlette:  # fmt: skip
    """The pages of a memory, which `worker` opens with a person's trust.

    `routes` are the server's own; `notices` grows with what the memory does by itself.
    """
    app = Starlette(
        routes=[*routes, *_ROUTES],
        exception_handlers=dict.fromkeys((TallystickError, HTTPException, Exception), _error_page),
    )
    app.state.worker, app.state.jobs = worker, integrity.Jobs()
    app.state.notices = [] if notices is None else notices
    return app


async def _error_page(request: Request, error: Exception) -> Response:
    """The page about an error. Access control logs one of the program, for the person who started the server alone."""
    if isinstance(error, TallystickError):
        status, detail = page_status(error), str(error)
    else:
        status = HTTPStatus(error.status_code if isinstance(error, HTTPException) else 500)
        detail = _DETAILS.get(status, "")
    response = render(
        request, "error.html", piece="error_piece.html", status=status, title=_TITLES.get(status, status.phrase),
        detail=detail, **unsaved(request),
    )  # fmt: skip
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["allow"] = allowed(request.app.routes, request)
    return response


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

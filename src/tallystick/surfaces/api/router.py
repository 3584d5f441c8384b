"""The API: the verbs and nouns of `Memory` under `/v1`, for one user; and its OpenAPI description.

Authentication and rate limits come before it: see `serve/access_control`. The models are the contract: a field that
they do not name is refused. Answers are not checked at run time; the tests check them against the models.
"""

import asyncio
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from tallystick.surfaces.api import admin, beliefs, graph, pages
from tallystick.surfaces.api.models import VALUE
from tallystick.surfaces.api.operation import ERRORS, PROBLEM, REASONS, Problem, Wrong
from tallystick.surfaces.server.worker import Feed, MemoryWorker

_PARTS = (
    beliefs.saying, beliefs.asking, beliefs.looking, pages.api, graph.api, graph.paths, graph.rules, admin.reviews,
    admin.sources, admin.ledger, admin.leaving,
)  # fmt: skip
ABOUT = """\
The verbs and nouns of a memory, for the one user that this server serves.

Send `Authorization: Bearer TOKEN`; `tallystick serve` prints where its token is. Errors are \
`application/problem+json`. What needs a person's approval is answered with 202; its review is at `Location`. \
Lists have `items` and `next`; `next` is the cursor of the next part, which `Link` names too. \
Answers with an `ETag` are 304 for clients that have them.
"""
_ACCESS = {
    401: "The token is missing or wrong.",
    413: "The request is too long; send several.",
    421: "This server does not answer to the name in `Host`.",
    429: "Too many requests; `Retry-After` says when to continue.",
    500: "Internal error; the server's log says what failed.",
}
_FOREIGN = "A page of another origin may not ask; or the policy does not allow it, or only a person may do it."
_ANSWERS = dict(sorted({**REASONS, **_ACCESS, 403: _FOREIGN}.items()))


def made(hold: MemoryWorker, feed: Feed) -> FastAPI:
    """The API over a memory, with the trust of that memory."""
    app = FastAPI(
        openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False, exception_handlers=ERRORS
    )
    app.state.hold, app.state.feed = hold, feed
    app.state.routes, app.state.looking = routes(), asyncio.Lock()
    for each in _PARTS:
        app.include_router(each.router)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def routes() -> list[BaseRoute]:
    """All routes under `/v1`, in the order in which they are tried."""
    return [route for each in _PARTS for route in each.router.routes]


def _described(app: FastAPI) -> dict[str, Any]:
    """The description, made once."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    found = app.openapi_schema = get_openapi(
        title="tallystick", version="1", description=ABOUT, routes=app.routes,
        tags=[{"name": each.tag, "description": each.about} for each in _PARTS],
    )  # fmt: skip
    parts = found["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    _, more = models_json_schema(
        [(Problem, "serialization"), (Wrong, "serialization")], ref_template="#/components/schemas/{model}"
    )
    parts["schemas"] = dict(sorted({**parts["schemas"], **more["$defs"], "Value": VALUE}.items()))
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "The server's own token."}}
    problem = {"content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    parts["responses"] = {
        f"Answer{status}": {"description": what, **({} if status == 304 else problem)}
        for status, what in _ANSWERS.items()
    }  # fmt: skip
    found["security"] = [{"token": []}]
    for operations in found["paths"].values():
        for operation in operations.values():
            operation["responses"] = _all_responses(operation["responses"])
    _remove_titles(parts["schemas"], found["paths"])
    return found


def _all_responses(responses: dict[str, Any]) -> dict[str, Any]:
    """The responses of an operation, with those that every operation has; each problem is described once, elsewhere."""
    every = {int(status): each for status, each in responses.items()} | dict.fromkeys((*_ACCESS, 403))
    return {
        str(status): {"$ref": f"#/components/responses/Answer{status}"} if status in _ANSWERS else each
        for status, each in sorted(every.items())
    }  # fmt: skip


def _remove_titles(*places: Any) -> None:
    """Remove the titles of fields, which only repeat their names."""
    for place in places:
        if isinstance(place, dict):
            if isinstance(place.get("title"), str) and ("type" in place or "anyOf" in place or "$ref" in place):
                del place["title"]
            _remove_titles(*(each for name, each in place.items() if name not in ("examples", "example")))
        elif isinstance(place, list):
            _remove_titles(*place)

"""The API: the verbs and nouns of `Memory` under `/v1`, for one user.

Who may ask, how much and how often is decided before: see `door`. Models are the contract: what they do not name is
refused. What is answered was made here and is not checked again; the tests hold it against the models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from fastapi import FastAPI
from fastapi import Request as Asked
from fastapi.routing import APIRoute

from keepsake.surfaces.http import asking, follow, looking, overseeing, paging, problems, relating, saying
from keepsake.surfaces.http.openapi import described

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.responses import Response

    from keepsake.surfaces.holder import Holder
    from keepsake.surfaces.http.feed import Feed

_ROUTERS = (saying, asking, looking, follow, paging, relating, overseeing)  # `follow` goes before one event by its number


def made(hold: Holder, feed: Feed) -> FastAPI:
    """The API over the memory that is held, with whatever trust that has."""
    app = FastAPI(openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.router.route_class = _Route
    app.state.hold, app.state.feed = hold, feed
    problems.handle_in(app)
    for each in _ROUTERS:
        app.include_router(each.router)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


class _Request(Asked):
    """A request whose JSON is read strictly: no NaN, no half characters."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class _Route(APIRoute):
    def get_route_handler(self) -> Callable[[Asked], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Asked) -> Response:
            return await handler(_Request(request.scope, request.receive))

        return handle

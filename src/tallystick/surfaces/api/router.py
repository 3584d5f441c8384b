"""The API: the verbs and nouns of `Memory` under `/v1`, for one user.

Who may ask, how much and how often is decided before: see `door`. Models are the contract: what they do not name is
refused. What is answered was made here and is not checked again; the tests hold it against the models.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import FastAPI

from tallystick.surfaces.api import (
    admin as overseeing,
    beliefs as saying,
    browse as looking,
    errors as problems,
    event_stream as follow,
    graph as relating,
    pages as paging,
    recall as asking,
)
from tallystick.surfaces.api.app import described

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from tallystick.surfaces.server.changes import Feed
    from tallystick.surfaces.server.worker import MemoryWorker

_PARTS = (saying, asking, looking, paging, relating, follow, overseeing)  # `follow` before one event by its number


def made(hold: MemoryWorker, feed: Feed) -> FastAPI:
    """The API over the memory that is held, with whatever trust that has."""
    app = FastAPI(openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.hold, app.state.feed = hold, feed
    app.state.routes, app.state.looking = routes(), asyncio.Lock()
    problems.handle_in(app)
    for each in _PARTS:
        app.include_router(each.router)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


def routes() -> list[BaseRoute]:
    """Every route under `/v1`, in the order in which they are tried."""
    return [route for each in _PARTS for route in each.router.routes]

"""Routes that read strictly: JSON without NaN and half characters, and no parameter that they do not know."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response


class _Strict(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class _Route(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler, known = super().get_route_handler(), {each.alias for each in self.dependant.query_params}

        async def handle(request: Request) -> Response:
            if strange := [name for name in request.query_params if name not in known]:
                raise RequestValidationError([{"type": "extra_forbidden", "loc": ("query", each)} for each in strange])
            return await handler(_Strict(request.scope, request.receive))

        return handle


def router(*tags: str) -> APIRouter:
    """A router of such routes."""
    return APIRouter(route_class=_Route, tags=list(tags))

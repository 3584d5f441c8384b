"""Routes that read strictly: JSON that means the same to everyone, and no parameter that they do not know."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from tallystick.records.json import loads

_SHORT = 1 << 16  # bytes; what is longer takes a while to read, and others are answered meanwhile
_WIDE = 20_000  # values; each that is wrong costs a while to say so
_OPEN = ("data", "metadata")  # fields that take any JSON


class _Strict(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = _read(body) if len(body) <= _SHORT else await to_thread(_read, body)
        return self._json


def _read(body: bytes) -> Any:
    """The JSON of a body, if it is sound and no wider than we take."""
    try:
        value = loads(body)
    except ValueError as error:
        raise JSONDecodeError(str(error), "", 0) from None
    waiting = [{name: each for name, each in value.items() if name not in _OPEN} if isinstance(value, dict) else value]
    count = 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            count += len(one)
            if count > _WIDE:
                raise JSONDecodeError(f"more than {_WIDE:,} values; say it in several", "", 0)
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return value


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

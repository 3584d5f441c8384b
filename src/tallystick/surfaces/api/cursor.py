"""Where a long list goes on: a place in its order, not a number of rows, so that what others write moves nothing.

A cursor is opaque, and holds a check of the list and of what narrows it: one that was made up, cut short, or given for
another question is refused. It is no secret: it names a place in what its holder may read anyway.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode

import orjson
from fastapi import Query

from tallystick.records.errors import Refused
from tallystick.surfaces.api.json_response import Json, unless_known

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory

T = TypeVar("T")
Part = tuple[list[Any], tuple[Any, ...] | None]  # some rows, and the place of the last, if there are more

MOST = 500
Limit = Annotated[int, Query(ge=1, le=MOST, description=f"How many at most, from 1 to {MOST}.")]
Cursor = Annotated[str, Query(max_length=2000, description="Where to go on: `next` of the answer before.")]
_OF_THE_PAGE = ("cursor", "limit")
_CHECK = 6  # bytes


def place_in(request: Request, cursor: str, *kinds: type) -> list[Any] | None:
    """The place that a cursor names; None, for the beginning."""
    if not cursor:
        return None
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place: list[Any] = orjson.loads(raw[_CHECK:])
    except ValueError:
        raise _nonsense() from None
    is_ours = raw[:_CHECK] == _check(request, raw[_CHECK:]) and len(place) == len(kinds)
    if not is_ours or any(type(each) is not kind for each, kind in zip(place, kinds, strict=True)):
        raise _nonsense()
    return place


def _nonsense() -> Refused:
    return Refused("this cursor is not one of this list; begin again without one, and follow `next`")


def cursor_to(request: Request, place: Iterable[Any]) -> str:
    """The cursor that names a place in this request's list."""
    raw = orjson.dumps(list(place))
    return urlsafe_b64encode(_check(request, raw) + raw).rstrip(b"=").decode()


def _check(request: Request, place: bytes) -> bytes:
    asked = sorted(pair for pair in _said(request) if pair[0] not in _OF_THE_PAGE)
    return blake2b(orjson.dumps([request.url.path, asked]) + place, digest_size=_CHECK).digest()


def _said(request: Request) -> list[tuple[str, str]]:
    return parse_qsl(request.url.query, keep_blank_values=True)


def listed(request: Request, items: list[Any], place: Iterable[Any] | None, headers: Any = ()) -> Json:
    """A part of a list, and where it goes on."""
    following = None if place is None else cursor_to(request, place)
    found = {**dict(headers)}
    if following is not None:
        query = urlencode([*(pair for pair in _said(request) if pair[0] != "cursor"), ("cursor", following)])
        found["Link"] = f'<{request.url.path}?{query}>; rel="next"'
    return Json({"items": items, "next": following}, headers=found)


async def listed_unless_known(request: Request, work: Callable[[Memory], Part]) -> Response:
    """The same of what `work` finds, or 304."""
    return await unless_known(request, work, made=lambda found, headers: listed(request, found[0], found[1], headers))


def part(
    each: Iterable[T], key: Callable[[T], tuple[Any, ...]], place: list[Any] | None, limit: int
) -> tuple[list[T], tuple[Any, ...] | None]:  # fmt: skip
    """Of a list that is whole at hand: those behind a place, in the order of `key`, and where to go on."""
    after = None if place is None else tuple(place)
    found = sorted((one for one in each if after is None or key(one) > after), key=key)
    return found[:limit], key(found[limit - 1]) if len(found) > limit else None

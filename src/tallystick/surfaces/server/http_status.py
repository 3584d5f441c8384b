"""Which status of HTTP tells what went wrong, and what goes with it. One table, for the API and the page alike."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from tallystick.records.errors import (
    Busy,
    Closed,
    Damaged,
    KeyReused,
    Moved,
    NeedsApproval,
    NotApproved,
    NotFound,
    NotWritable,
    Refused,
    TallystickError,
    Unfinished,
    UnknownVersion,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

_STATUS: tuple[tuple[type[TallystickError], HTTPStatus], ...] = (  # the first that fits
    (NotFound, HTTPStatus.NOT_FOUND),
    (KeyReused, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NeedsApproval, HTTPStatus.ACCEPTED),  # nothing was changed yet, and the question waits
    (NotApproved, HTTPStatus.FORBIDDEN),
    (NotWritable, HTTPStatus.SERVICE_UNAVAILABLE),
    (UnknownVersion, HTTPStatus.SERVICE_UNAVAILABLE),
    (Closed, HTTPStatus.SERVICE_UNAVAILABLE),
    (Refused, HTTPStatus.BAD_REQUEST),
    (Moved, HTTPStatus.CONFLICT),
    (Busy, HTTPStatus.SERVICE_UNAVAILABLE),
    (Unfinished, HTTPStatus.SERVICE_UNAVAILABLE),
    (Damaged, HTTPStatus.SERVICE_UNAVAILABLE),
)


def status_of(error: TallystickError) -> HTTPStatus:
    """The status that an answer about this error has."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def allowed(routes: Iterable[BaseRoute], request: Request) -> str:
    """The methods that an address takes, as `Allow` says them: those of all routes that lead there."""
    from starlette.routing import Match

    found: set[str] = set()
    for route in routes:
        if route.matches(request.scope)[0] != Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return ", ".join(sorted(found))

"""The HTTP status of each error: one table, for the API and the page."""

from collections.abc import Iterable
from http import HTTPStatus

from starlette.requests import Request
from starlette.routing import BaseRoute, Match

from tallystick.records import errors

_STATUS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], HTTPStatus], ...] = (  # the first that matches
    (errors.NotFound, HTTPStatus.NOT_FOUND),
    (errors.KeyReused, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.NeedsApproval, HTTPStatus.ACCEPTED),  # nothing was changed yet; a review is pending
    (errors.NotApproved, HTTPStatus.FORBIDDEN),
    ((errors.NotWritable, errors.UnknownVersion, errors.Closed), HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.Refused, HTTPStatus.BAD_REQUEST),
    (errors.Moved, HTTPStatus.CONFLICT),
    ((errors.Busy, errors.Unfinished, errors.Damaged), HTTPStatus.SERVICE_UNAVAILABLE),
)


def status_of(error: errors.TallystickError) -> HTTPStatus:
    """The status of an answer about this error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def allowed(routes: Iterable[BaseRoute], request: Request) -> str:
    """The value of `Allow` for an address: the methods of all routes that lead there."""
    found: set[str] = set()
    for route in routes:
        if route.matches(request.scope)[0] != Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return ", ".join(sorted(found))

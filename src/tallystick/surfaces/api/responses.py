"""What an operation may answer beside what it gives: the problems that really occur, named once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Path as InPath, Query
from pydantic import BeforeValidator, Field

from tallystick.surfaces.api.base_model import whole

REASONS = {
    202: "Nothing was changed yet: a person must say yes, and the question waits at `Location`.",
    304: "You have it already: nothing changed since.",
    400: "It cannot be done as it stands; nothing was changed.",
    403: "The policy says no, or only a person may.",
    404: "There is no such thing here.",
    409: "It has changed since; read it again.",
    412: "It is not the version that `If-Match` names.",
    422: "The request is not as it should be; `errors` says where.",
    503: "Not now: the memory is busy, damaged, closed, or may only be read.",
}


def also(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These beside the usual ones: 400, 422 and 503."""
    return {status: {"description": REASONS[status]} for status in sorted({*statuses, 400, 422, 503})}


def _number(value: Any) -> Any:
    """An event's number may come as text."""
    is_number = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16
    return int(value) if is_number else whole(value)


# -- what requests have in common ------------------------------------------------------------------------------------

_WHEN = "An event's number, a date (2026-05-03, its midnight in UTC) or a time (2026-05-03T14:00:00Z)."
_Seq = Annotated[int, Field(ge=0, lt=1 << 53)]
When = Annotated[_Seq | Annotated[str, Field(max_length=40)], BeforeValidator(_number)]

Name = Annotated[str, InPath(description="A belief's key, its id, or the last six characters of one.", max_length=1000)]
OfPath = Annotated[str, Query(description="As it is seen from that branch; empty: the main one.", max_length=200)]
BelievedAt = Annotated[str, Query(description=f"What was held then. {_WHEN}", max_length=40)]
IfMatch = Annotated[
    str, Header(alias="If-Match", max_length=200, description='The version that you read, in quotes: "ID". Else 412.')
]


def moment(said: str) -> int | str | None:
    """A moment as a query says it."""
    found: int | str = _number(said)
    return None if found == "" else found


def several(description: str) -> Any:
    """A parameter that may be said several times; never, and it is an empty list."""
    return Query(default_factory=list, max_length=50, description=description)

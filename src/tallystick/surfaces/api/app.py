"""The description of the API that clients are given, made from its routes and models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from tallystick.surfaces.api.base_model import VALUE
from tallystick.surfaces.api.errors import PROBLEM, Problem, Wrong
from tallystick.surfaces.api.responses import REASONS

if TYPE_CHECKING:
    from fastapi import FastAPI

ABOUT = """\
The verbs and nouns of a memory, for the one user that this server serves.

Say `Authorization: Bearer TOKEN`; `tallystick serve` prints where its token is. Errors are \
`application/problem+json`. What needs a person's yes is answered with 202, and the question waits at `Location`. \
Lists give `items` and `next`; `next` is the cursor to go on with, and stands in `Link` too. \
Answers with an `ETag` are 304 to whoever has them.
"""
TAGS = (
    ("saying", "What is said to the memory."),
    ("asking", "What the memory is asked."),
    ("looking", "What is known, to be looked through."),
    ("pages", "Beliefs as entries on Markdown pages."),
    ("graph", "Entities, and how they are related."),
    ("paths", "The branches of conversations."),
    ("learning", "Rules that make facts of episodes."),
    ("reviews", "What waits for a person's yes."),
    ("sources", "Whom to trust."),
    ("ledger", "The chain itself, and its proofs."),
    ("leaving", "Taking everything along."),
)
_AT_THE_DOOR = {
    401: "The token is missing or wrong.",
    413: "The request is too long; say it in several.",
    421: "This server is not known by the name in `Host`.",
    429: "Too many requests; `Retry-After` says when to go on.",
    500: "Something went wrong that should not have; the server's log says what.",
}
_FOREIGN = "A page from elsewhere may not ask; or the policy says no, or only a person may."
_ANSWERS = dict(sorted({**REASONS, **_AT_THE_DOOR, 403: _FOREIGN}.items()))


def described(app: FastAPI) -> dict[str, Any]:
    """The description, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _made(app)
    return app.openapi_schema


def _made(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title="tallystick", version="1", description=ABOUT, routes=app.routes,
        tags=[{"name": name, "description": what} for name, what in TAGS],
    )  # fmt: skip
    parts = found["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    _, more = models_json_schema(
        [(Problem, "serialization"), (Wrong, "serialization")], ref_template="#/components/schemas/{model}"
    )
    parts["schemas"] = dict(sorted({**parts["schemas"], **more["$defs"], "Value": VALUE}.items()))
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "The server's own token."}}
    parts["responses"] = {_name(status): _response(status, what) for status, what in _ANSWERS.items()}
    found["security"] = [{"token": []}]
    for operations in found["paths"].values():
        for operation in operations.values():
            operation["responses"] = _settled(operation["responses"])
    _without_titles(parts["schemas"], found["paths"])
    return found


def _settled(responses: dict[str, Any]) -> dict[str, Any]:
    """What an operation answers, with what every one of them may be answered at the door; each problem is told once."""
    told = {int(status): each for status, each in responses.items()} | dict.fromkeys((*_AT_THE_DOOR, 403))
    return {
        str(status): {"$ref": f"#/components/responses/{_name(status)}"} if status in _ANSWERS else each
        for status, each in sorted(told.items())
    }  # fmt: skip


def _name(status: int) -> str:
    return f"Answer{status}"


def _response(status: int, what: str) -> dict[str, Any]:
    if status == 304:
        return {"description": what}
    return {"description": what, "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _without_titles(*places: Any) -> None:
    """The names of fields are written beside them already."""
    for place in places:
        if isinstance(place, dict):
            if isinstance(place.get("title"), str) and ("type" in place or "anyOf" in place or "$ref" in place):
                del place["title"]
            _without_titles(*(each for name, each in place.items() if name not in ("examples", "example")))
        elif isinstance(place, list):
            _without_titles(*place)

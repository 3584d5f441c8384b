"""The description of the API that clients are given, made from its routes and models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from keepsake.surfaces.http.problems import PROBLEM, Problem, Wrong

if TYPE_CHECKING:
    from fastapi import FastAPI

ABOUT = """\
The verbs and nouns of a memory, for the one user that this server serves.

Say `Authorization: Bearer TOKEN`; `keepsake serve` prints where its token is. Errors are `application/problem+json`. \
What needs a person's yes is answered with 202, and the question waits at `Location`. Lists give `items` and `next`; \
`next` is the cursor to go on with, and stands in `Link` too. Answers with an `ETag` are 304 to whoever has them.
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
    "401": ("Unauthorized", "The token is missing or wrong."),
    "413": ("TooLarge", "The request is too long; say it in several."),
    "421": ("Misdirected", "This server is not known by the name in `Host`."),
    "429": ("TooMany", "Too many requests; `Retry-After` says when to go on."),
    "500": ("Unexpected", "Something went wrong that should not have; the server's log says what."),
}
_FOREIGN = "A page from elsewhere may not ask; or the policy says no, or only a person may."


def described(app: FastAPI) -> dict[str, Any]:
    """The description, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _made(app)
    return app.openapi_schema


def _made(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title="keepsake", version="1", description=ABOUT, routes=app.routes,
        tags=[{"name": name, "description": what} for name, what in TAGS],
    )  # fmt: skip
    parts = found["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    _, more = models_json_schema(
        [(Problem, "serialization"), (Wrong, "serialization")], ref_template="#/components/schemas/{model}"
    )
    parts["schemas"] |= more["$defs"]
    parts["schemas"] = dict(sorted(parts["schemas"].items()))
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "The server's own token."}}
    parts["responses"] = {name: _problem(what) for name, what in _AT_THE_DOOR.values()}
    found["security"] = [{"token": []}]
    for operations in found["paths"].values():
        for operation in operations.values():
            _settle(operation["responses"])
    return found


def _settle(responses: dict[str, Any]) -> None:
    """Every operation may be refused at the door."""
    for status, (name, _) in _AT_THE_DOOR.items():
        responses[status] = {"$ref": f"#/components/responses/{name}"}
    responses["403"] = _problem(_FOREIGN)
    responses.update(dict(sorted(responses.items())))
    ordered = dict(sorted(responses.items()))
    responses.clear()
    responses.update(ordered)


def _problem(what: str) -> dict[str, Any]:
    return {"description": what, "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}

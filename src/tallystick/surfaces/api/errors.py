"""Errors as `application/problem+json`: what is wrong and the way out, in one line, and nothing of what was sent.

An action that needs approval is no error: 202, with the address of its review.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tallystick.records.errors import Busy, NeedsApproval, TallystickError
from tallystick.surfaces.api.models import shaped
from tallystick.surfaces.server.http_status import allowed, status_of

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

    from tallystick.memory.memory import Memory

PROBLEM = "application/problem+json"
KIND = "urn:tallystick:error:"  # and the name of an error, as docs/reference/errors.md has it

_LONGEST = 400  # characters of a detail
_MOST = 20  # faults that are listed for one request
_NAME = 60  # characters of a field's name
_DETAILS = {
    HTTPStatus.NOT_FOUND: "no such address; /openapi.json lists them",
    HTTPStatus.METHOD_NOT_ALLOWED: "this address does not take that method; see Allow",
    HTTPStatus.BAD_REQUEST: "the body cannot be read; send JSON",
}


class Wrong(BaseModel):
    """One fault of a request."""

    model_config = shaped(where="body.confidence", what="Input should be less than or equal to 1")
    where: str = Field(description="The place: body, query, path or header, and the field's name.")
    what: str = Field(description="What it should be.")


class Problem(BaseModel):
    """What went wrong, and the way out."""

    model_config = shaped(
        type=f"{KIND}NotFound", title="Not Found", status=404,
        detail="no belief named 'tee'; run tallystick log to list them",
    )  # fmt: skip
    type: str = Field(description=f"`about:blank`, or `{KIND}` and the name of the error.")
    title: str = Field(description="The status in words.")
    status: int = Field(description="The status of the answer.")
    detail: str = Field(description="What is wrong and the way out, in one line.")
    review: str = Field(default="", description="The review, if the action needs a person's approval.")
    errors: list[Wrong] = Field(default=[], description="The faults of the request, if it is not valid.")


def must_be_a_person(memory: Memory) -> None:
    """403, unless this server has a person's trust."""
    if memory.trust != "human":
        raise HTTPException(403, f"only a person may read what needs approval; this server's trust is {memory.trust}")


def answer(
    status: int, detail: str, *, kind: str = "about:blank", headers: dict[str, str] | None = None, **more: Any
) -> Response:  # fmt: skip
    """A problem as a response."""
    line = _readable(detail)
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    body = {"type": kind, "title": HTTPStatus(status).phrase, "status": status, "detail": line, **more}
    return Response(orjson.dumps(body), status, {**(headers or {}), "Content-Type": PROBLEM})


def handle_in(app: FastAPI) -> None:
    """Answer every error of this application with a problem."""
    app.add_exception_handler(TallystickError, _refused)
    app.add_exception_handler(RequestValidationError, _wrong)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(Exception, _unexpected)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, TallystickError)
    status = status_of(error)
    kind = KIND + type(error).__name__
    if isinstance(error, NeedsApproval):
        where = {"Location": f"/v1/reviews/{error.review}"}
        return answer(status, str(error), kind=kind, headers=where, review=error.review)
    if status == HTTPStatus.CONFLICT and request.headers.get("if-match"):
        status = HTTPStatus.PRECONDITION_FAILED
    again = {"Retry-After": "1"} if isinstance(error, Busy) else None
    return answer(status, str(error), kind=kind, headers=again)


async def _wrong(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [{"where": _place(each), "what": _what(each)} for each in list(error.errors())[:_MOST]]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = f"{found[0]['where']}: {found[0]['what']}{more}" if found else "the request is not valid"
    return answer(422, detail, errors=found)


def _place(found: dict[str, Any]) -> str:
    if found["type"] == "json_invalid":
        return "body"
    return ".".join(_readable(str(part))[:_NAME] for part in found["loc"]) or "request"


def _what(found: dict[str, Any]) -> str:
    """Pydantic's message, unless it may repeat what was sent."""
    if found["type"] == "json_invalid":
        why = str(found.get("ctx", {}).get("error", "not JSON"))
        return "not valid JSON" if why.startswith("not ") else why[:_LONGEST]
    if found["type"] in ("value_error", "assertion_error"):
        return "not a valid value"
    if found["type"] == "extra_forbidden":
        return "no such field"
    return str(found["msg"])[:_LONGEST]


async def _plain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = _DETAILS.get(status) or str(error.detail)
    headers = {"Allow": allowed(request.app.state.routes, request)} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
    return answer(status, detail, headers=headers)


async def _unexpected(_: Request, error: Exception) -> Response:
    logging.getLogger("tallystick").error("a request failed: %s", type(error).__name__)
    return answer(500, "internal error; the server's log says what failed")


def _readable(text: str) -> str:
    """The same on one line, without characters that cannot be printed."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " if each.isspace() else "\ufffd" for each in text)

"""Operations of the API: each is a function of the memory and of what the request names.

It runs in the memory's thread, in one call, so that its answer is of one moment; what it returns is sent as JSON and is
not checked again. Requests are read strictly: JSON that means the same to every reader, and no unknown parameter.

An operation that may answer 304 has an `ETag`: only an event can change its answer. The tag is made of the version of
the memory's content, of the request and of the server's trust, so it never passes for the tag of another request.
Answers that the clock changes too (recall, frames, what is true now, pending reviews), or that receipts change (status,
events), have none.

A long list is served in parts. A cursor names a place in the order of the list, not a number of rows, so writes in
between move nothing. It is opaque and holds a checksum of the list and its filters: one that was made up, cut short, or
comes from another list is refused. It is no secret: it names a place in what its holder may read anyway.

An error is `application/problem+json`: one line, and nothing of what was sent.
"""

import logging
from asyncio import to_thread
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial, wraps
from hashlib import blake2b
from http import HTTPStatus
from inspect import Parameter, Signature, signature
from json import JSONDecodeError
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

import orjson
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.errors import Busy, NeedsApproval, Refused, TallystickError
from tallystick.records.json import loads
from tallystick.surfaces.api.models import Cursor, shaped
from tallystick.surfaces.server.guard import allowed, status_of
from tallystick.surfaces.server.worker import CallContext, MemoryWorker

T = TypeVar("T")
Work = TypeVar("Work", bound=Callable[..., Any])
Part = tuple[list[Any], tuple[Any, ...] | None]  # some rows, and the place of the last one, if there are more

REASONS = {
    202: "Nothing was changed yet: it needs a person's approval. The review is at `Location`.",
    304: "Not modified.",
    400: "The request cannot be carried out; nothing was changed.",
    403: "The policy does not allow it, or only a person may do it.",
    404: "Not found.",
    409: "It has changed in the meantime; read it again.",
    412: "The current version is not the one in `If-Match`.",
    422: "The request is not valid; `errors` says where.",
    503: "Not available: the memory is busy, damaged, closed or read-only.",
}
WRITE = (202, 403, 404, 409)  # the usual statuses of an operation that writes


def also(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Statuses that an operation may answer with, besides success, 400, 422 and 503."""
    return {status: {"description": REASONS[status]} for status in sorted({*statuses, 400, 422, 503})}


# -- declaring an operation --------------------------------------------------------------------------------------------


class Operations:
    """The operations under one tag."""

    def __init__(self, tag: str, about: str) -> None:
        self.tag, self.about = tag, about
        self.router = APIRouter(
            route_class=_StrictRoute, tags=[tag], generate_unique_id_function=lambda route: route.name
        )

    def _operation(
        self, method: str, path: str, answer: Any, *statuses: int, summary: str, gives: str = "", status: int = 200,
        place: tuple[type, ...] | None = None, cached_with: str = "",
        responses: dict[int | str, dict[str, Any]] | None = None, **more: Any,
    ) -> Callable[[Work], Work]:  # fmt: skip
        """Declare an operation. With 304 among its statuses, it has an `ETag`.

        `gives` describes the answer, else its model does. With `place`, it is a long list: the function takes the place
        behind which to continue, whose types these are, and gives a `Part`. With `cached_with`, there is an `ETag` only
        if that parameter is given.
        """

        def decorate(work: Work) -> Work:
            @wraps(work)
            async def endpoint(request: Request, **given: Any) -> Response:
                is_cached = 304 in statuses and (not cached_with or given[cached_with] is not None)
                if place is not None:
                    given["place"] = place_in(request, given.pop("cursor"), *place)
                made = partial(_list_answer, request) if place is not None else None
                if is_cached:
                    return await unless_known(request, lambda memory: work(memory, **given), made=made)
                found = await ask(request, lambda memory: work(memory, **given))
                if isinstance(found, Response):
                    return found
                return made(found, {}) if made else Json(found, status)

            endpoint.__signature__ = _http_signature(work, is_list=place is not None)  # type: ignore[attr-defined]
            self.router.add_api_route(
                path, endpoint, methods=[method], response_model=answer, status_code=status, summary=summary,
                response_description=gives or getattr(answer, "__doc__", None) or summary,
                responses={**also(*statuses), **(responses or {})}, **more,
            )  # fmt: skip
            return work

        return decorate

    def get(self, path: str, answer: Any, *statuses: int, **more: Any) -> Callable[[Work], Work]:
        return self._operation("GET", path, answer, *statuses, **more)

    def post(self, path: str, answer: Any, *statuses: int, **more: Any) -> Callable[[Work], Work]:
        return self._operation("POST", path, answer, *statuses, **more)

    def patch(self, path: str, answer: Any, *statuses: int, **more: Any) -> Callable[[Work], Work]:
        return self._operation("PATCH", path, answer, *statuses, **more)


def _http_signature(work: Callable[..., Any], *, is_list: bool) -> Signature:
    """What a request brings for `work`: the request in place of the memory, a cursor at the end in place of a place."""
    first = Parameter("request", Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
    rest = [each for each in list(signature(work).parameters.values())[1:] if each.name != "place"]
    last = [Parameter("cursor", Parameter.KEYWORD_ONLY, default="", annotation=Cursor)] if is_list else []
    return Signature([first, *rest, *last])


# -- reading requests --------------------------------------------------------------------------------------------------

_SHORT = 1 << 16  # bytes; a longer body is read in another thread
_WIDE = 20_000  # values; each wrong one takes time to report
_OPEN = ("data", "metadata")  # fields that take any JSON


class _StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = _read(body) if len(body) <= _SHORT else await to_thread(_read, body)
        return self._json


def _read(body: bytes) -> Any:
    """The JSON of a body, if it is valid and not too wide."""
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
                raise JSONDecodeError(f"more than {_WIDE:,} values; send several requests", "", 0)
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return value


class _StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler, known = super().get_route_handler(), {each.alias for each in self.dependant.query_params}

        async def handle(request: Request) -> Response:
            if strange := [name for name in request.query_params if name not in known]:
                raise RequestValidationError([{"type": "extra_forbidden", "loc": ("query", each)} for each in strange])
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle


# -- answers -----------------------------------------------------------------------------------------------------------

_OPAQUE = frozenset(("body", "data", "metadata", "payload", "properties", "provenance", "changes", "asked", "views"))
_CACHE = "private, no-cache"  # a client keeps it, and asks again each time


class Json(Response):
    """An answer that is plain data already."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


async def ask(request: Request, work: Callable[[Memory], T]) -> T:
    """Do `work` on the memory, in its thread."""
    worker: MemoryWorker = request.app.state.hold
    return await worker.run(lambda context: work(context.memory))


async def unless_known(
    request: Request, work: Callable[[Memory], Any], *, also: Callable[[Memory], str] | None = None,
    made: Callable[[Any, Mapping[str, str]], Response] | None = None,
) -> Response:  # fmt: skip
    """The result of `work`; 304 if the client has it, and then the memory is asked only for its content version.

    `also` gives what else the answer depends on, as text. `made` makes the answer, if it is not plain JSON.
    """
    known = request.headers.get("if-none-match", "")

    def look(context: CallContext) -> tuple[str, Any]:
        tag = _tag(request, context.memory, also)
        tags = [each.strip().removeprefix("W/") for each in known.split(",")]  # a weak tag counts as much
        is_known = tag in tags or tags == ["*"]
        found = work(context.memory) if not is_known or known.strip() == "*" else None  # `*`: known if it is there
        return tag, None if is_known else found

    tag, found = await request.app.state.hold.run(look)
    headers = {"ETag": tag, "Cache-Control": _CACHE}
    if found is None:
        return Response(status_code=304, headers=headers)
    return made(found, headers) if made else Json(found, headers=headers)


def _tag(request: Request, memory: Memory, also: Callable[[Memory], str] | None) -> str:
    seq, version = memory.content_version()
    parts = [request.url.path, request.url.query, request.headers.get("accept", ""), also(memory) if also else ""]
    digest = blake2b(orjson.dumps([version, memory.trust, *parts]), digest_size=12).hexdigest()
    return f'"{seq}-{digest}"'


def plain(record: Any) -> Any:
    """A record as JSON, without its user: a server serves one."""
    return _without_user(record.to_dict())


def plains(records: Iterable[Any]) -> list[Any]:
    return [plain(each) for each in records]


def _without_user(value: Any) -> Any:
    """The same without `user`, except in fields whose JSON is the caller's own."""
    if isinstance(value, dict):
        return {
            name: each if name in _OPAQUE else _without_user(each) for name, each in value.items() if name != "user"
        }  # fmt: skip
    return [_without_user(each) for each in value] if isinstance(value, list | tuple) else value


# -- long lists --------------------------------------------------------------------------------------------------------

_CHECKSUM = 6  # bytes


def place_in(request: Request, cursor: str, *kinds: type) -> list[Any] | None:
    """The place that a cursor names; None for the beginning."""
    if not cursor:
        return None
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place: list[Any] = orjson.loads(raw[_CHECKSUM:])
        is_ours = raw[:_CHECKSUM] == _checksum(request, raw[_CHECKSUM:]) and tuple(map(type, place)) == kinds
    except ValueError:
        is_ours = False
    if not is_ours:
        raise Refused("not a cursor of this list; start again without a cursor, and follow `next`")
    return place


def _checksum(request: Request, place: bytes) -> bytes:
    filters = sorted(pair for pair in _query(request) if pair[0] not in ("cursor", "limit"))
    return blake2b(orjson.dumps([request.url.path, filters]) + place, digest_size=_CHECKSUM).digest()


def _query(request: Request) -> list[tuple[str, str]]:
    return parse_qsl(request.url.query, keep_blank_values=True)


def _list_answer(request: Request, found: Part, headers: Mapping[str, str]) -> Json:
    """A part of this request's list, with the cursor of the next part and a `Link` to it."""
    items, place = found
    if place is None:
        return Json({"items": items, "next": None}, headers=dict(headers))
    raw = orjson.dumps(list(place))
    cursor = urlsafe_b64encode(_checksum(request, raw) + raw).rstrip(b"=").decode()
    query = urlencode([*(pair for pair in _query(request) if pair[0] != "cursor"), ("cursor", cursor)])
    link = f'<{request.url.path}?{query}>; rel="next"'
    return Json({"items": items, "next": cursor}, headers={**headers, "Link": link})


def part(each: Iterable[T], key: Callable[[T], tuple[Any, ...]], place: list[Any] | None, limit: int) -> Part:
    """The records behind a place, in the order of `key`, as JSON; and where to continue."""
    after = None if place is None else tuple(place)
    found = sorted((one for one in each if after is None or key(one) > after), key=key)
    return plains(found[:limit]), key(found[limit - 1]) if len(found) > limit else None


# -- errors ------------------------------------------------------------------------------------------------------------


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
_FAULTS = {**dict.fromkeys(("value_error", "assertion_error"), "not a valid value"), "extra_forbidden": "no such field"}


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
    found = list(map(_fault, list(error.errors())[:_MOST]))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = f"{found[0]['where']}: {found[0]['what']}{more}" if found else "the request is not valid"
    return answer(422, detail, errors=found)


def _fault(found: dict[str, Any]) -> dict[str, str]:
    """The place and pydantic's message, unless that may repeat what was sent."""
    if found["type"] == "json_invalid":
        why = str(found.get("ctx", {}).get("error", "not JSON"))
        return {"where": "body", "what": "not valid JSON" if why.startswith("not ") else why[:_LONGEST]}
    where = ".".join(_readable(str(part))[:_NAME] for part in found["loc"]) or "request"
    return {"where": where, "what": _FAULTS.get(found["type"]) or str(found["msg"])[:_LONGEST]}


async def _plain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = _DETAILS.get(status) or str(error.detail)
    headers = {"Allow": allowed(request.app.state.routes, request)} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
    return answer(status, detail, headers=headers)


async def _unexpected(_: Request, error: Exception) -> Response:
    logging.getLogger("tallystick").error("a request failed: %s", type(error).__name__)
    return answer(500, "internal error; the server's log says what failed")


ERRORS: dict[Any, Any] = {  # every error is answered with a problem
    TallystickError: _refused, RequestValidationError: _wrong, HTTPException: _plain, Exception: _unexpected,
}  # fmt: skip


def _readable(text: str) -> str:
    """The same on one line, without characters that cannot be printed."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " if each.isspace() else "\ufffd" for each in text)

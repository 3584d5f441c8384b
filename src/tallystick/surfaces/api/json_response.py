"""How the API answers: JSON that was made here is not checked again, and what has not changed is not sent again.

An `ETag` stands on answers that only an event can change. It is made of the memory's mark, of what was asked and with
which trust, so one question's tag never passes for another's. What the clock changes too (recall, frames, what is true
now, what waits), or receipts do (status, events), has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import CallContext, MemoryWorker

T = TypeVar("T")
_OPEN = frozenset(("body", "data", "metadata", "payload", "properties", "provenance", "changes", "asked", "views"))
_MAY_BE_KEPT = "private, no-cache"  # kept by whoever asked, and asked about again each time


class Json(Response):
    """An answer that is plain data already."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


async def ask(request: Request, work: Callable[[Memory], T]) -> T:
    """Do `work` on the memory, in its thread: one call for a whole answer, so that it is of one moment."""
    hold: MemoryWorker = request.app.state.hold
    return await hold.run(lambda context: work(context.memory))


async def unless_known(
    request: Request, work: Callable[[Memory], Any], *, also: Callable[[Memory], str] | None = None,
    made: Callable[[Any, Mapping[str, str]], Response] | None = None,
) -> Response:  # fmt: skip
    """What `work` finds; 304 if the asker has it already, and then the memory is asked for nothing but its mark.

    `also` tells what else such an answer is made from, in a text. `made` makes the answer, if it is not JSON.
    """
    known = request.headers.get("if-none-match", "")

    def look(context: CallContext) -> tuple[str, Any]:
        tag = tag_of(request, context.memory, also)
        is_known = is_among(tag, known)
        found = work(context.memory) if not is_known or known.strip() == "*" else None  # `*`: known if it is there
        return tag, None if is_known else found

    tag, found = await request.app.state.hold.run(look)
    headers = {"ETag": tag, "Cache-Control": _MAY_BE_KEPT}
    if found is None:
        return Response(status_code=304, headers=headers)
    return made(found, headers) if made else Json(found, headers=headers)


def tag_of(request: Request, memory: Memory, also: Callable[[Memory], str] | None = None) -> str:
    """The tag that an answer to this request has now."""
    seq, mark = memory.content_version()
    asked = [request.url.path, request.url.query, request.headers.get("accept", ""), also(memory) if also else ""]
    digest = blake2b(orjson.dumps([mark, memory.trust, *asked]), digest_size=12).hexdigest()
    return f'"{seq}-{digest}"'


def is_among(tag: str, given: str) -> bool:
    """Whether a tag is one of those of an `If-None-Match`. A weak one counts as much: the words are the same."""
    said = [each.strip().removeprefix("W/") for each in given.split(",")]
    return tag in said or said == ["*"]


def plain(record: Any) -> Any:
    """A record as JSON has it, without whose it is: a server serves one."""
    return _nobodys(record.to_dict())


def plains(records: Any) -> list[Any]:
    return [plain(each) for each in records]


def _nobodys(value: Any) -> Any:
    """The same without `user`, but for what somebody else said in it."""
    if isinstance(value, dict):
        return {
            name: each if name in _OPEN else _nobodys(each) for name, each in value.items() if name != "user"
        }  # fmt: skip
    return [_nobodys(each) for each in value] if isinstance(value, list | tuple) else value

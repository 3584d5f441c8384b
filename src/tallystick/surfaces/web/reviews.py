"""Reviews: what waits for a person's yes, what would come of it, and the answer.

A yes given here is the person's, through the door of the page, to exactly the action that was shown: the form carries
its digest, and what asks for anything else by now is refused. Looking answers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route

from tallystick.records.errors import Moved, NotFound, Refused
from tallystick.records.review import STATUSES
from tallystick.surfaces.web.event import is_number
from tallystick.surfaces.web.render import ask, form_of, is_piece, shown, then
from tallystick.surfaces.web.review_view import ShownReview, asked, came_of_it

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.review import Review

_AT_ONCE = 20  # that wait, with all that they would change
_ANSWERED = 30
_SHOWN = ("", *STATUSES[1:])


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits, the oldest first, and what was answered, the newest first."""

    waiting: int
    kept_out: int
    shown: list[ShownReview]
    answered: list[Review]
    more_waiting: int | None  # the number of the page that follows
    more_answered: int | None
    show: str
    page: int
    size: int
    may_answer: bool
    may_write: bool
    trouble: str


@dataclass(frozen=True, slots=True)
class One:
    """One review, whole."""

    asked: ShownReview
    outcome: str
    now: Belief | None
    may_answer: bool
    may_write: bool


async def reviews(request: Request) -> Response:
    show, number = request.query_params.get("show", ""), request.query_params.get("page", "1")
    if show not in _SHOWN or not is_number(number) or not 0 < int(number) < 1 << 40:
        raise Refused("no such list of reviews; begin again at /reviews")
    found = await ask(request, lambda memory: _queue(memory, show, int(number)))
    done = request.query_params.get("done", "")
    template = "reviews_piece.html" if is_piece(request) else "reviews.html"
    return shown(request, template, queue=found, erased=done == "erase")


def _queue(memory: Memory, show: str, page: int) -> Queue:
    waiting = memory.reviews.waiting()
    still = {review.id for review in waiting}
    answered = [each for each in memory.reviews.all() if each.id not in still and show in ("", each.status)]
    answered.sort(key=lambda each: each.answered_at or each.granted_at, reverse=True)
    some, more = _page(waiting, page, _AT_ONCE)
    older, more_older = _page(answered, page, _ANSWERED)
    return Queue(
        len(waiting), sum(each.action.kind == "trust" for each in waiting), [asked(memory, each) for each in some],
        older, more, more_older, show, page, memory.ledger.size, memory.reviews.may_answer(), memory.writable,
        memory.trouble,
    )  # fmt: skip


def _page(found: Sequence[Review], number: int, much: int) -> tuple[list[Review], int | None]:
    start = (number - 1) * much
    return list(found[start : start + much]), number + 1 if len(found) > start + much else None


async def review(request: Request) -> Response:
    name = request.path_params["name"]
    found = await ask(request, lambda memory: _one(memory, name))
    return shown(request, "review.html", one=found)


def _one(memory: Memory, name: str) -> One:
    found = memory.reviews.get(name)
    outcome, now = ("", None) if found.is_open else came_of_it(memory, found)
    told = asked(memory, found, as_asked=not found.is_open)
    return One(told, outcome, now, memory.reviews.may_answer(), memory.writable)


async def approve(request: Request) -> Response:
    return await _answer(request, is_approval=True)


async def reject(request: Request) -> Response:
    return await _answer(request, is_approval=False)


async def _answer(request: Request, *, is_approval: bool) -> Response:
    name, fields = request.path_params["name"], await form_of(request)
    return then(await ask(request, lambda memory: _answered(memory, name, fields, is_approval=is_approval)))


def _answered(memory: Memory, name: str, fields: Mapping[str, str], *, is_approval: bool) -> str:
    """Answer, and return the address that tells what came of it. One that has an answer keeps it."""
    found, reason = memory.reviews.get(name), fields.get("reason", "").strip()
    if not found.is_open:
        return f"/reviews/{found.id}"
    if fields.get("digest", "") != found.digest:
        raise Moved(f"{found.id} is not what was shown; look at it again, then answer")
    try:
        if is_approval:
            memory.reviews.approve(found.id, reason=reason, digest=found.digest)
        else:
            memory.reviews.reject(found.id, reason=reason)
    except Moved:
        if memory.reviews.get(found.id).status != "stale":
            raise
    return f"/reviews/{found.id}" if _is_there(memory, found.id) else "/reviews?done=erase"


def _is_there(memory: Memory, name: str) -> bool:
    """Whether it can still be shown: what was erased took its review along."""
    try:
        return bool(memory.reviews.get(name))
    except NotFound:
        return False


routes: list[BaseRoute] = [
    Route("/reviews", reviews, methods=["GET"]),
    Route("/reviews/{name}", review, methods=["GET"]),
    Route("/reviews/{name}/approve", approve, methods=["POST"]),
    Route("/reviews/{name}/reject", reject, methods=["POST"]),
]

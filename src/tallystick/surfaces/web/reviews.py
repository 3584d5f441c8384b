"""Reviews: what needs a person's approval, what it would change, and the answer.

An approval given here is the person's, through the page, of exactly the action that was shown: the form carries its
digest, and an action that has changed since is refused. Reading answers nothing. The wording is that of the command
line; here each change is taken apart, so that the difference can be marked in the text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.belief import Belief
from tallystick.records.errors import Missing, Moved, NotFound, Refused
from tallystick.records.ids import BELIEF_ID
from tallystick.records.policy import BELIEF
from tallystick.records.review import STATUSES, Review
from tallystick.surfaces.present.diff import pieces as diff_pieces
from tallystick.surfaces.present.reviews import asks, pieces, title
from tallystick.surfaces.present.text import short
from tallystick.surfaces.web.filters import client, excerpt
from tallystick.surfaces.web.render import command_for, is_number, read_form, redirect, render, with_memory

_QUARANTINED = "trust"  # the kind of a review about something that is not recalled until it is approved
_PENDING = 20  # on one page, with everything they would change
_ANSWERED = 30
_CHANGE = 20_000  # characters of one change
_DONE = {
    "remember": "It is remembered.", "revise": "It was revised. The previous version stays in its history.",
    "forget": "It was forgotten. Its history stays.", "invalidate": "It is marked as wrong. Its history stays.",
    "erase": "The erasure was interrupted and is not finished.", "trust": "It can be recalled now.",
    "activate": "It is active again.", "reinforce": "It counts as helpful.", "promote": "It is no longer a hypothesis.",
    "merge": "They are one belief now. Each one's text stays in its history.",
    "page.compact": "The page was compacted.", "path.merge": "The path was merged.",
    "path.abandon": "The path was abandoned. It can be reopened.",
    "path.compact": "The path was compacted. It can be reopened.", "path.reopen": "The path is open again.",
    "change.undo": "It was undone.", "graph.merge": "They are one now. The merge can be undone.",
    "graph.split": "The beliefs are about another entity now. The split can be undone.",
}  # fmt: skip


async def list_reviews(request: Request) -> Response:
    show, number = request.query_params.get("show", ""), request.query_params.get("page", "1")
    if show not in ("", *STATUSES[1:]) or not is_number(number) or not 0 < int(number) < 1 << 40:
        raise Refused("no such list of reviews; start again at /reviews")
    found = await with_memory(request, lambda memory: _queue(memory, show, int(number)))
    is_erased = request.query_params.get("done", "") == "erase"
    return render(request, "reviews.html", piece="reviews_piece.html", queue=found, is_erased=is_erased)


def _queue(memory: Memory, show: str, page: int) -> dict[str, Any]:
    """Pending reviews, oldest first, and answered ones, newest first."""
    pending = memory.reviews.waiting()
    ids = {review.id for review in pending}
    answered = [each for each in memory.reviews.all() if each.id not in ids and show in ("", each.status)]
    answered.sort(key=lambda each: each.answered_at or each.granted_at, reverse=True)
    some, next_pending = _page(pending, page, _PENDING)
    older, next_answered = _page(answered, page, _ANSWERED)
    return {
        "pending": len(pending), "quarantined": sum(each.action.kind == _QUARANTINED for each in pending),
        "shown": [_view(memory, each) for each in some], "answered": older, "next_pending": next_pending,
        "next_answered": next_answered, "show": show, "page": page, "size": memory.ledger.size,
        "may_answer": memory.reviews.may_answer(), "may_write": memory.writable, "trouble": memory.trouble,
    }  # fmt: skip


def _page(found: Sequence[Review], number: int, size: int) -> tuple[Sequence[Review], int | None]:
    """One page of a list, and the number of the next one."""
    stop = number * size
    return found[stop - size : stop], number + 1 if len(found) > stop else None


async def show(request: Request) -> Response:
    name = request.path_params["name"]
    return render(request, "review.html", one=await with_memory(request, lambda memory: _one(memory, name)))


def _one(memory: Memory, name: str) -> dict[str, Any]:
    found = memory.reviews.get(name)
    outcome, now = ("", None) if found.is_open else _outcome(memory, found)
    return {
        "view": _view(memory, found, as_asked=not found.is_open), "outcome": outcome, "now": now,
        "may_answer": memory.reviews.may_answer(), "may_write": memory.writable,
    }  # fmt: skip


async def answer(request: Request) -> Response:
    name, fields = request.path_params["name"], await read_form(request)
    is_approval = request.url.path.endswith("/approve")
    return redirect(await with_memory(request, lambda memory: _save(memory, name, fields, is_approval=is_approval)))


def _save(memory: Memory, name: str, fields: Mapping[str, str], *, is_approval: bool) -> str:
    """Record the answer. Returns the address that shows the outcome. An answered review keeps its answer."""
    found, reason = memory.reviews.get(name), fields.get("reason", "").strip()
    if not found.is_open:
        return f"/reviews/{found.id}"
    if fields.get("digest", "") != found.digest:
        raise Moved(f"{found.id} has changed since it was shown; read it again, then answer")
    try:
        if is_approval:
            memory.reviews.approve(found.id, reason=reason, digest=found.digest)
        else:
            memory.reviews.reject(found.id, reason=reason)
    except Moved:
        if memory.reviews.get(found.id).status != "stale":
            raise
    try:
        return f"/reviews/{memory.reviews.get(found.id).id}"
    except NotFound:  # erased with what it was about
        return "/reviews?done=erase"


# -- a review in words -------------------------------------------------------------------------------------------------


def question(memory: Memory, review: Review) -> str:
    """The request of a review, in a line, with the current text."""
    return _title(review, [memory.get(version, path=review.action.path) for version in review.action.target])


def _view(memory: Memory, review: Review, *, as_asked: bool = False) -> dict[str, Any]:
    """A review with what it would change: as that is now, or as it was when it was requested.

    Each change is a `Piece`, with the difference in its words marked where it has one.
    """
    action, moment = review.action, review.seq if as_asked else None
    found = [_belief(memory, version, action.path, moment) for version in action.target]
    changes = []
    for each in pieces(review, found):
        was = excerpt(each.was, _CHANGE) if each.was is not None else None
        cut = each._replace(text=excerpt(each.text, _CHANGE), was=was)
        changes.append((cut, diff_pieces(was, cut.text) if was is not None and not cut.name else []))
    return {
        "review": review, "title": _title(review, found), "changes": changes, "client": client(action.by),
        "command": command_for(memory, f"review approve {review.id[-6:]}"),
        "is_granted": bool(review.marker) and review.status == "waiting", "is_quarantined": action.kind == _QUARANTINED,
    }  # fmt: skip


def _belief(memory: Memory, version: str, path: str, moment: int | None) -> Belief | None:
    """A version as it is now, or as it was at that moment; as it is now, if the past cannot be read any more."""
    now = memory.get(version, path=path)
    if moment is None or (now is not None and now.id == version):
        return now
    try:
        return memory.get(version, believed_at=moment, path=path)
    except Missing:
        return now


def _title(review: Review, found: list[Belief | None]) -> str:
    """The question in a line. A belief without a key of its own is quoted."""
    first = found[0] if found else None
    if first is None or review.action.noun != BELIEF or not BELIEF_ID.match(first.key) or not first.text:
        return title(review, found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{asks(review)} “{short(first.text, 60)}”{more}?"


def _outcome(memory: Memory, review: Review) -> tuple[str, Belief | None]:
    """The outcome of an answer in words, and the belief as it is now."""
    action = review.action
    now = memory.get(action.target[0], path=action.path) if action.target and action.noun == BELIEF else None
    if review.status == "approved":
        return _DONE.get(action.cell, "Done."), now
    if review.status == "rejected":
        return ("It was forgotten." if action.kind == _QUARANTINED else "Nothing was changed."), now
    return "Its subject changed before it was answered. Nothing was changed; the request can be made again.", now

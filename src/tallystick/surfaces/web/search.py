"""Search: what the memory answers, and why; what an agent would be given; both of now, or of any moment before.

Looking leaves no receipt, and counts as no use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.background import BackgroundTask
from starlette.routing import BaseRoute, Route

from tallystick.records.clock import stamp
from tallystick.records.errors import Refused, TallystickError
from tallystick.surfaces.server.http_status import status_of
from tallystick.surfaces.web.page_view import page_of
from tallystick.surfaces.web.render import ask, form_of, is_piece, shown, then
from tallystick.surfaces.web.search_query import SearchForm, plainly, read

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.filled_frame import FilledFrame
    from tallystick.records.hit import Hit
    from tallystick.records.recall import RecallResult

_HITS = 10
_SIGNALS = {"helped": 1.0, "misled": 0.0}


@dataclass(frozen=True, slots=True)
class Place:
    """The moment that is asked about, as an event's number and a time; and the last event there is."""

    end: int
    seq: int  # -1: before the first event
    at: str = ""  # empty: now


@dataclass(frozen=True, slots=True)
class SearchResults:
    """All that the page shows."""

    asked: SearchForm
    place: Place
    frames: list[tuple[str, int]]  # names, and their budgets
    recalled: RecallResult | None = None
    framed: FilledFrame | None = None
    pages: dict[str, str] = field(default_factory=dict)  # what a hit is about → its page
    wrong: str = ""

    @property
    def hits(self) -> list[Hit]:
        return [*(self.recalled or ()), *(self.framed.hits if self.framed else ())]


async def search(request: Request) -> Response:
    given = dict(request.query_params)
    try:
        asked = read(given)
        page = _page(request, await ask(request, lambda memory: _found(memory, asked)))
        page.background = None if asked.is_any else BackgroundTask(_get_ready, request)
        return page
    except TallystickError as error:
        wrong, asked = str(error), plainly(given)
        found = await ask(
            request, lambda memory: SearchResults(asked, _place(memory, None), _frames(memory), wrong=wrong)
        )
        return _page(request, found, status_of(error))


async def _get_ready(request: Request) -> None:
    """While the question is being typed, load what answers it. What goes wrong, the question will meet."""
    with suppress(TallystickError):
        await ask(request, lambda memory: memory.recall("anything", k=1, receipt=False))


def _page(request: Request, found: SearchResults, status: int = 200) -> Response:
    template = "search_piece.html" if is_piece(request) else "search.html"
    noted = request.query_params.get("noted", "")
    return shown(request, template, status=status, found=found, noted=noted if noted in _SIGNALS else "")


async def outcome(request: Request) -> Response:
    """Say that a memory helped, or misled; and look at the same answer again."""
    fields = await form_of(request)
    name, how = fields.get("name", ""), fields.get("how", "")
    if not name or how not in _SIGNALS:
        raise Refused("say which memory it was, and whether it helped; the buttons on the search page do", "required")
    await ask(request, lambda memory: memory.outcome([name], _SIGNALS[how]))
    return then(plainly(dict(parse_qsl(fields.get("back", "")))).address(noted=how))


def _found(memory: Memory, asked: SearchForm) -> SearchResults:
    place = _place(memory, asked.moment)
    recalled = framed = None
    if asked.frame:
        framed = memory.frame(asked.frame, asked.question, budget=asked.budget, receipt=False, **asked.narrowed())
    elif asked.question:
        recalled = memory.recall(asked.question, k=_HITS, explain=True, receipt=False, **asked.narrowed())
    found = SearchResults(asked, place, _frames(memory), recalled, framed)
    found.pages.update(_pages(memory, found.hits))
    return found


def _pages(memory: Memory, hits: Iterable[Hit]) -> dict[str, str]:
    return {about: page_of(memory, about) for about in {hit.about for hit in hits if hit.what == "belief"}}


def _frames(memory: Memory) -> list[tuple[str, int]]:
    return [(frame.name, frame.token_budget) for frame in memory.frames]


def _place(memory: Memory, moment: int | datetime | None) -> Place:
    """Where the slider stands. A moment after the last event is now."""
    end = memory.ledger.size - 1
    if isinstance(moment, datetime):
        seq, at = _last_by(memory, stamp(moment), end), stamp(moment)
        return Place(end, seq, at)
    if moment is None or moment >= end:
        return Place(end, end)
    return Place(end, moment, _time_of(memory, moment) or "")


def _time_of(memory: Memory, seq: int) -> str | None:
    """When that event was recorded; of another's, or one that is not here, the next one."""
    event = next(iter(memory.log(seq)), None)
    return event.ts if event else None


def _last_by(memory: Memory, then: str, end: int) -> int:
    """The last event that had been recorded by then, -1 if there was none; by halving."""
    return _halving(-1, end, lambda seq: (_time_of(memory, seq) or "~") <= then)


def _halving(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The last for which it holds, where it holds up to there; the first, if for none."""
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


routes: list[BaseRoute] = [
    Route("/search", search, methods=["GET"]),
    Route("/search/outcome", outcome, methods=["POST"]),
]

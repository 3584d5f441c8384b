"""Search: what the memory answers and why, and what an agent would be given; now, or at any earlier moment.

    GET  /search            `q` is the question
        at, when            an event's number, or an exact date or time, which goes first: what was known then
        end                 the last event when the page was made: `at` that one means now
        frame, budget       what an agent would be given, in so many tokens
        session, agent, kind, tag   filters; kinds and tags may be comma-separated lists
    POST /search/outcome    `name` is a hit, `how` is helped or misled

Other parameters are ignored. Searching leaves no receipt and counts as no use.
"""

from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.clock import stamp
from tallystick.records.errors import Refused, TallystickError
from tallystick.surfaces.present.names import read_moment
from tallystick.surfaces.server.guard import status_of
from tallystick.surfaces.web.filters import words
from tallystick.surfaces.web.render import page_of, page_titles, read_form, redirect, render, with_memory

_FILTERS = ("session", "agent", "kind", "tag")
_FIELDS = ("q", "frame", "budget", "at", "when", *_FILTERS)
_FIELD = 20_000  # characters of a field
_DIGITS = 9  # of a budget
_HITS = 10
_OUTCOMES = {"helped": 1.0, "misled": 0.0}


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The fields as they were typed, so that a page can show them again, and what they mean."""

    typed: Mapping[str, str]
    moment: int | datetime | None = None  # None: now
    budget: int | None = None

    @property
    def question(self) -> str:
        return self.typed["q"]

    @property
    def frame(self) -> str:
        return self.typed["frame"]

    @property
    def is_filtered(self) -> bool:
        return any(self.typed[name] for name in _FILTERS)

    def options(self) -> dict[str, Any]:
        """The arguments of `recall` and `frame` other than the question."""
        filters = {"kinds": words(self.typed["kind"]), "tags": words(self.typed["tag"])}
        return {
            "session": self.typed["session"] or None, "agent": self.typed["agent"] or None,
            "filters": {name: values for name, values in filters.items() if values}, "believed_at": self.moment,
            "receipt": False,
        }  # fmt: skip

    def address(self, *without: str, **more: str) -> str:
        """The address of the same search, without some of its fields and with more."""
        query = {name: value for name, value in self.typed.items() if value and name not in without} | more
        return "/search" + (f"?{urlencode(query)}" if query else "")


class Place(NamedTuple):
    """The position of the time slider: the last event, the event asked about (-1: before the first), and its time."""

    end: int
    seq: int
    at: str = ""  # empty: now


async def search(request: Request) -> Response:
    typed, status, task = _typed(request.query_params), 200, None
    try:
        form = _parse(typed)
        found = await with_memory(request, lambda memory: _results(memory, form))
        task = None if form.question or form.frame else BackgroundTask(_warm_up, request)
    except TallystickError as error:
        message, status = str(error), status_of(error)
        found = await with_memory(request, lambda memory: _results(memory, SearchForm(typed), error=message))
    outcome = request.query_params.get("noted", "")
    page = render(
        request, "search.html", piece="search_piece.html", status=status, found=found,
        outcome=outcome if outcome in _OUTCOMES else "",
    )  # fmt: skip
    page.background = task
    return page


async def _warm_up(request: Request) -> None:
    """Load what answers a question while it is being typed. If that fails, so will the question."""
    with suppress(TallystickError):
        await with_memory(request, lambda memory: memory.recall("anything", k=1, receipt=False))


async def report_outcome(request: Request) -> Response:
    """Record that a memory helped or misled, and show the same results again."""
    fields = await read_form(request)
    name, how = fields.get("name", ""), fields.get("how", "")
    if not name or how not in _OUTCOMES:
        raise Refused("name a memory, and whether it helped or misled; use the buttons on the search page", "required")
    await with_memory(request, lambda memory: memory.outcome([name], _OUTCOMES[how]))
    return redirect(SearchForm(_typed(dict(parse_qsl(fields.get("back", ""))))).address(noted=how))


def _typed(query: Mapping[str, str]) -> dict[str, str]:
    """The fields as they were typed, whatever they mean."""
    typed = {name: query.get(name, "").strip()[:_FIELD] for name in _FIELDS}
    if typed["at"] == query.get("end", ""):
        typed["at"] = ""
    return typed


def _parse(typed: Mapping[str, str]) -> SearchForm:
    """The form with its moment and budget read; refused if they are invalid."""
    moment, budget = typed["when"] or typed["at"], typed["budget"] if typed["frame"] else ""
    if len(moment) > 40:
        raise Refused("not a moment; write an event's number, a date (2026-05-03) or a time (2026-05-03T14:00)", "time")
    if budget and (not (budget.isascii() and budget.isdigit()) or len(budget) > _DIGITS):
        raise Refused("a budget is a number of tokens, like 500")
    return SearchForm(typed, read_moment(moment) if moment else None, int(budget) if budget else None)


def _results(memory: Memory, form: SearchForm, *, error: str = "") -> dict[str, Any]:
    recalled = framed = None
    if not error and form.frame:
        framed = memory.frame(form.frame, form.question, budget=form.budget, **form.options())
    elif not error and form.question:
        recalled = memory.recall(form.question, k=_HITS, explain=True, **form.options())
    hits = [*(recalled or ()), *(framed.hits if framed else ())]
    return {
        "form": form, "place": _place(memory, form.moment),
        "frames": [(frame.name, frame.token_budget) for frame in memory.frames], "recalled": recalled, "framed": framed,
        "titles": page_titles(memory) if hits else {},
        "pages": {about: page_of(memory, about) for about in {hit.about for hit in hits if hit.what == "belief"}},
        "error": error,
    }  # fmt: skip


def _place(memory: Memory, moment: int | datetime | None) -> Place:
    """The position of the slider. A moment after the last event is now."""
    end = memory.ledger.size - 1
    if isinstance(moment, datetime):
        at = stamp(moment)
        return Place(end, bisect_right(range(end + 1), at, key=lambda seq: _time(memory, seq) or "~") - 1, at)
    if moment is None or moment >= end:
        return Place(end, end)
    return Place(end, moment, _time(memory, moment))


def _time(memory: Memory, seq: int) -> str:
    """The time of that event, or of the next one if it is another user's or not in this folder; empty if none is."""
    event = next(iter(memory.log(seq)), None)
    return event.ts if event else ""

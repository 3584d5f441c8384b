"""Timeline: every event of the ledger, newest first.

A page costs what it shows, however long the ledger is. What is looked for by kind, scope or source is looked for so far
back; then the page says how far it looked, and leads on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.routing import BaseRoute, Route

from tallystick.records.errors import Refused
from tallystick.surfaces.present.time import day_name, day_of
from tallystick.surfaces.web import event
from tallystick.surfaces.web.event_view import KINDS, TONES, address_of, scope_of, told_of, trust_of, verb
from tallystick.surfaces.web.filters import door
from tallystick.surfaces.web.render import ask, is_piece, shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.event import Event

_AT_ONCE = 50
_ROOM = 240  # cells of a line's words
_FIELDS = ("kind", "session", "agent", "source")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event, as one line of the list."""

    seq: int
    ts: str
    verb: str
    tone: str
    name: str
    words: str
    is_erased: bool
    door: str
    trust: str
    session: str
    agent: str
    address: str


@dataclass(frozen=True, slots=True)
class Day:
    name: str
    lines: list[EventLine]


@dataclass(frozen=True, slots=True)
class Timeline:
    """One page of it. `older`, `newer`, `newest` are addresses; `floor` is how far a look went that was cut short."""

    days: list[Day]
    size: int
    older: str
    newer: str
    newest: str
    floor: int | None
    trouble: str


async def timeline(request: Request) -> Response:
    asked = {name: request.query_params.get(name, "").strip()[:_LONGEST] for name in _FIELDS}
    before, after = (_number(request, name) for name in ("before", "after"))
    found = await ask(request, lambda memory: _timeline(memory, asked, before, after))
    live = _address(asked) if before is None and after is None else ""
    if is_piece(request):
        return shown(request, "timeline_piece.html", timeline=found, asked=asked)
    return shown(request, "timeline.html", timeline=found, asked=asked, kinds=KINDS, live=live)


def _number(request: Request, name: str) -> int | None:
    said = request.query_params.get(name, "")
    if not said:
        return None
    if not event.is_number(said):
        raise Refused(f"{name} is the number of an event, not {said[:40]!r}; begin again at /timeline")
    return int(said)


def _timeline(memory: Memory, asked: Mapping[str, str], before: int | None, after: int | None) -> Timeline:
    kind = asked["kind"]
    if kind and kind not in KINDS:
        raise Refused(f"no kind of event is called {kind[:40]!r}; choose one on the page")
    page = memory.log_page(
        before=before, after=after, limit=_AT_ONCE, op=kind, by=asked["source"], session=asked["session"],
        agent=asked["agent"],
    )  # fmt: skip
    lines = [line_of(memory, each) for each in page.events]
    return Timeline(
        [Day(day_name(day), list(some)) for day, some in groupby(lines, key=lambda line: day_of(line.ts))],
        memory.ledger.size,
        _address(asked, before=page.older) if page.older is not None else "",
        _address(asked, after=page.newer) if page.newer is not None else "",
        _address(asked),
        page.older if page.is_cut else None,
        memory.trouble,
    )


def line_of(memory: Memory, each: Event) -> EventLine:
    """An event in words. What it speaks of without repeating it is looked up, as it is held now."""
    name, words, *_ = told_of(memory, each, _ROOM)
    session, agent = scope_of(each)
    return EventLine(
        each.seq, each.ts, verb(each.op), TONES.get(each.op, ""), name, words, each.body is None,
        door(each.by), trust_of(each), session, agent, address_of(memory, each),
    )  # fmt: skip


def _address(asked: Mapping[str, str], **place: int | None) -> str:
    said = {name: value for name, value in {**asked, **place}.items() if value not in ("", None)}
    return "/timeline" + (f"?{urlencode(said)}" if said else "")


routes: list[BaseRoute] = [Route("/timeline", timeline, methods=["GET"]), *event.routes]

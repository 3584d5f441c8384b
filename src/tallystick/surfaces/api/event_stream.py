"""Following the ledger: every event as it is recorded, by whoever, as server-sent events.

Each has its number for an id. Whoever comes back with `Last-Event-ID` goes on behind that one: nothing is lost, nothing
comes twice. A stream ends with the server, and when its reader goes; a slow reader holds up nobody but itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from fastapi import Header, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from tallystick.records.errors import Refused, TallystickError
from tallystick.surfaces.api.admin import Op
from tallystick.surfaces.api.json_response import ask, plains
from tallystick.surfaces.api.responses import also
from tallystick.surfaces.api.route import router as made

if TYPE_CHECKING:
    from tallystick.surfaces.server.changes import Feed
    from tallystick.surfaces.server.worker import CallContext, MemoryWorker

router = made()
HEARTBEAT = 15  # seconds
_AT_ONCE = 200  # events that are read in one go; others have their turn in between
_STREAM = "text/event-stream"


@router.get(
    "/v1/events/stream", operation_id="follow_events", response_class=Response, tags=["ledger"],
    summary="Follow the ledger", responses={**also(), 200: {
        "description": "Server-sent events: `id` is an event's number, `event` its op, `data` the event as JSON.",
        "content": {_STREAM: {"schema": {
            "type": "object", "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
        }}},
    }},
)  # fmt: skip
async def follow_events(
    request: Request, op: Op = "",
    start: Annotated[int | None, Query(ge=0, lt=1 << 53, description="From that event on; none: from now on.")] = None,
    last: Annotated[str, Header(
        alias="Last-Event-ID", max_length=20, description="The last event that you have; goes before `start`.",
    )] = "",
) -> Response:  # fmt: skip
    """Every event from now on, from `start` on, or from behind `Last-Event-ID` on. A comment comes every 15 seconds."""
    size = await ask(request, lambda memory: memory.ledger.size)
    first = _behind(last, size) if last else size if start is None else start
    events = _told(request.app.state.hold, request.app.state.feed, first, op)
    return EventSourceResponse(events, ping=HEARTBEAT, sep="\n", headers={"Cache-Control": "no-store"})


def _behind(last: str, size: int) -> int:
    if not (last.isascii() and last.isdigit()):
        raise Refused("Last-Event-ID is an event's number, as the stream gave it")
    if int(last) >= size:
        raise Refused(
            f"there is no event {last} here: the ledger has {size}. Is it another one, or one taken back?", "reference"
        )
    return int(last) + 1


async def _told(hold: MemoryWorker, feed: Feed, following: int, op: str) -> AsyncIterator[ServerSentEvent]:
    """The events from `following` on, whenever the feed says that there are some; until the memory cannot be read."""
    async for _ in feed.changes():
        is_more = True
        while is_more:
            try:
                events, following = await hold.run(partial(_read, start=following, op=op))
            except (TallystickError, OSError, sqlite3.Error):  # whoever comes back goes on behind what they have
                return
            for event in events:
                said = orjson.dumps(event).decode()
                yield ServerSentEvent(data=said, event=event["op"], id=str(event["seq"]), sep="\n")
            is_more = len(events) == _AT_ONCE


def _read(context: CallContext, start: int, op: str) -> tuple[list[dict[str, Any]], int]:
    """Some events, and where to go on: behind what was looked at, wanted or not."""
    size = context.memory.ledger.size
    found = list(islice(context.memory.log(start, op=op), _AT_ONCE))
    behind = found[-1].seq + 1 if found else start
    return plains(found), behind if len(found) == _AT_ONCE else max(behind, size)

"""Administration: reviews, sources, the ledger with its proofs and its stream of events, and the export."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import orjson
from fastapi import Header, Path as InPath, Query, Request
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from tallystick.memory.maintenance import check as maintenance
from tallystick.memory.maintenance.ledger import verify_folder
from tallystick.memory.memory import Memory
from tallystick.records.errors import NotFound, Refused, TallystickError
from tallystick.surfaces.api import models
from tallystick.surfaces.api.models import Limit, Shape, When, shaped
from tallystick.surfaces.api.operation import Json, Operations, Part, also, ask, part, plain, plains
from tallystick.surfaces.server.worker import CallContext, Feed, MemoryWorker

reviews = Operations("reviews", "Actions that need a person's approval.")
sources = Operations("sources", "Whom to trust.")
ledger = Operations("ledger", "The ledger itself, and its proofs.")
leaving = Operations("leaving", "Export everything.")
T = TypeVar("T")
NDJSON = "application/x-ndjson"
HEARTBEAT = 15  # seconds
_PIECE = 1 << 16  # bytes of an export that are sent at once
_BATCH = 200  # events of the stream that are read at once; others have their turn in between


def _public(review: dict[str, Any]) -> dict[str, Any]:
    """A review without its marker: whoever has that can carry the action out."""
    return {name: value for name, value in review.items() if name != "marker"}


@reviews.get("/v1/reviews", models.Reviews, place=(int, str), summary="List the reviews")
def list_reviews(
    memory: Memory, place: list[Any] | None,
    status: Annotated[Literal["waiting", "any"], Query(description="Pending ones, or all.")] = "waiting",
    kind: Annotated[str, Query(max_length=40, description="Of pending ones: only such actions.")] = "",
    trust: Annotated[str, Query(max_length=40, description="Of pending ones: only with that trust.")] = "",
    about: Annotated[str, Query(description="Of pending ones: only about that entity.")] = "",
    limit: Limit = 100,
) -> Part:  # fmt: skip
    """Actions that need a person's approval, and the answers."""
    found = memory.reviews.all() if status == "any" else memory.reviews.find(kind=kind, trust=trust, about=about)
    items, following = part(found, lambda each: (each.seq, each.id), place, limit)
    return list(map(_public, items)), following


ReviewId = Annotated[str, InPath(max_length=200, description="The id of a review, or the last six characters of it.")]


@reviews.get("/v1/reviews/{id}", models.Review, 404, summary="Get a review")
def get_review(memory: Memory, id: ReviewId) -> Any:
    """The requested action, who requested it, and the answer."""
    return _public(plain(memory.reviews.get(id)))


class Approve(Shape):
    """A person's approval."""

    model_config = shaped(reason="she said so", digest="")
    reason: str = ""
    digest: str = Field(default="", description="The digest of the review: approve exactly that.", max_length=64)


class Reject(Shape):
    """A rejection, or a withdrawal."""

    model_config = shaped(reason="not true")
    reason: str = ""


@reviews.post("/v1/reviews/{id}/approve", models.Review, 403, 404, 409, summary="Approve")
def approve(memory: Memory, id: ReviewId, body: Approve) -> Any:
    """Approves the action and carries it out. Needs a person's trust: see `tallystick serve --trust`."""
    return _public(plain(memory.reviews.approve(id, reason=body.reason, digest=body.digest)))


@reviews.post("/v1/reviews/{id}/reject", models.Review, 403, 404, 409, summary="Reject")
def reject(memory: Memory, id: ReviewId, body: Reject) -> Any:
    """A quarantined belief is forgotten; otherwise nothing is changed."""
    return _public(plain(memory.reviews.reject(id, reason=body.reason)))


@reviews.post("/v1/reviews/{id}/withdraw", models.Review, 403, 404, 409, summary="Withdraw a review")
def withdraw(memory: Memory, id: ReviewId, body: Reject) -> Any:
    """One that this server requested itself."""
    return _public(plain(memory.reviews.withdraw(id, reason=body.reason)))


@sources.get("/v1/sources", models.Sources, 304, summary="List the sources")
def list_sources(memory: Memory) -> Any:
    """How much each stated, with which trust, and whether recall leaves it out."""
    return {"sources": [{"withheld": None, **plain(each)} for each in memory.sources()]}


class Doubt(Shape):
    """A source to distrust."""

    model_config = shaped(source="mcp:3f9a", reason="it made things up")
    source: str = Field(description="mcp:3f9a, mcp:*, agent:NAME, session:NAME or trust:web.")
    since: When | None = Field(default=None, description="Since when; left out: everything that it ever stated.")
    reason: str = ""


@sources.post("/v1/distrust", models.Distrust, 403, summary="Distrust a source")
def distrust(memory: Memory, body: Doubt) -> Any:
    """Recall leaves it out, and what it replaced becomes current again. Only a person may do this."""
    return plain(memory.distrust(body.source, since=body.since, reason=body.reason))


class RestoreTrust(Shape):
    """A source to trust again."""

    model_config = shaped(source="mcp:3f9a", reason="it was fixed")
    source: str = Field(description="The name, as it was distrusted.")
    reason: str = ""


@sources.post("/v1/restore-trust", models.Sources, 403, 404, summary="Trust a source again")
def restore_trust(memory: Memory, body: RestoreTrust) -> Any:
    """Recall serves it again, with what it stated in the meantime. Only a person may do this."""
    memory.restore_trust(body.source, reason=body.reason)
    return list_sources(memory)


Start = Annotated[int, Query(ge=0, lt=1 << 53, description="The first event.")]
Op = Annotated[str, Query(max_length=60, description="Only events whose `op` has this prefix: belief, belief.put.")]


@ledger.router.get(
    "/v1/events/stream", response_class=Response, summary="Follow the ledger", responses={**also(), 200: {
        "description": "Server-sent events: `id` is an event's number, `event` its op, `data` the event as JSON.",
        "content": {"text/event-stream": {"schema": {
            "type": "object", "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
        }}},
    }},
)  # fmt: skip
async def follow_events(
    request: Request, op: Op = "",
    start: Annotated[int | None, Query(ge=0, lt=1 << 53, description="The first event; left out: from now on.")] = None,
    last: Annotated[str, Header(
        alias="Last-Event-ID", max_length=20, description="The last event that you have; overrides `start`.",
    )] = "",
) -> Response:  # fmt: skip
    """All events from now on, from `start` on, or after `Last-Event-ID`. A comment is sent every 15 seconds.

    A client that comes back with `Last-Event-ID` misses nothing and gets nothing twice.
    """
    size = await ask(request, lambda memory: memory.ledger.size)
    first = _after(last, size) if last else size if start is None else start
    events = _stream(request.app.state.hold, request.app.state.feed, first, op)
    return EventSourceResponse(events, ping=HEARTBEAT, sep="\n", headers={"Cache-Control": "no-store"})


def _after(last: str, size: int) -> int:
    if not (last.isascii() and last.isdigit()):
        raise Refused("Last-Event-ID is the number of an event, as the stream gave it")
    if int(last) >= size:
        raise Refused(
            f"there is no event {last}: this ledger has {size}; is it another one, or an older copy?", "reference"
        )
    return int(last) + 1


async def _stream(worker: MemoryWorker, feed: Feed, following: int, op: str) -> AsyncIterator[ServerSentEvent]:
    """The events from `following` on, whenever the feed reports some; until the memory cannot be read."""
    async for _ in feed.changes():
        is_more = True
        while is_more:
            try:
                events, following = await worker.run(partial(_batch, start=following, op=op))
            except (TallystickError, OSError, sqlite3.Error):  # a client that comes back continues where it was
                return
            for event in events:
                data = orjson.dumps(event).decode()
                yield ServerSentEvent(data=data, event=event["op"], id=str(event["seq"]), sep="\n")
            is_more = len(events) == _BATCH


def _batch(context: CallContext, start: int, op: str) -> tuple[list[dict[str, Any]], int]:
    """Some events, and where to continue: after all that were read, with that op or not."""
    size = context.memory.ledger.size
    found = list(islice(context.memory.log(start, op=op), _BATCH))
    following = found[-1].seq + 1 if found else start
    return plains(found), following if len(found) == _BATCH else max(following, size)


def _first(each: Iterator[Any], limit: int) -> Part:
    found = list(islice(each, limit + 1))
    return plains(found[:limit]), (found[limit - 1].seq + 1,) if len(found) > limit else None


@ledger.get("/v1/events", models.Events, place=(int,), summary="Read the ledger")
def list_events(memory: Memory, place: list[Any] | None, start: Start = 0, op: Op = "", limit: Limit = 100) -> Part:
    """All events, and the ledger's own. The body of an erased event is null."""
    return _first(memory.log(place[0] if place else start, op=op), limit)


@ledger.get("/v1/audit", models.Audit, place=(int,), summary="Read the audit log")
def list_audit(memory: Memory, place: list[Any] | None, start: Start = 0, limit: Limit = 100) -> Part:
    """Read from the ledger."""
    return _first(memory.audit(place[0] if place else start), limit)


Seq = Annotated[int, InPath(ge=0, lt=1 << 53, description="The number of an event.")]


@ledger.get("/v1/events/{seq}", models.Event, 404, summary="Get an event")
def get_event(memory: Memory, seq: Seq) -> Any:
    """By its number."""
    found = next(iter(memory.log(seq)), None)
    if found is None or found.seq != seq:
        raise NotFound(f"no event {seq} of this user; GET /v1/events lists them")
    return plain(found)


@ledger.post("/v1/events/{seq}/proof", models.Proof, 404, 409, summary="Prove that an event is in the ledger")
def prove_event(memory: Memory, seq: Seq) -> Any:
    """Takes a checkpoint first, and reads every line."""
    return {"event": get_event(memory, seq), "proof": memory.ledger.prove(seq), "key": memory.ledger.verifier_key}


@ledger.router.get(
    "/v1/ledger/verify", response_model=models.Report, responses=also(), summary="Verify every line of the ledger",
    response_description="The result.",
)  # fmt: skip
async def verify(request: Request) -> Response:
    """Also compares it with every witness."""
    return Json((await _off_thread(request, verify_folder)).to_dict())


@ledger.post("/v1/ledger/checkpoint", models.Note, 409, summary="Sign the ledger's size, head and root")
def checkpoint(memory: Memory) -> Any:
    """The note is kept in the folder and pinned outside it."""
    return {"note": memory.ledger.checkpoint(), "key": memory.ledger.verifier_key}


@ledger.router.get(
    "/v1/check", response_model=models.Findings, responses=also(), summary="Look for damage, and change nothing",
    response_description="All that is wrong, worst first.",
)  # fmt: skip
async def check(request: Request) -> Response:
    """Reads every event, every backup, the index, the pages, the vectors and the settings."""
    return Json({"findings": [each.to_dict() for each in await _off_thread(request, maintenance.check)]})


async def _off_thread(request: Request, look: Callable[[Path], T]) -> T:
    """Look at the whole folder outside the memory's thread, so that no request waits for it; one look at a time."""
    folder = await ask(request, lambda memory: memory.ledger.folder)
    async with request.app.state.looking:
        return await run_in_threadpool(look, folder)


@leaving.router.get(
    "/v1/export", response_class=Response, summary="Export everything", responses={**also(403), 200: {
        "description": "Lines of JSON; the last one says that it is complete.",
        "content": {NDJSON: {"schema": {"type": "string"}}},
    }},
)  # fmt: skip
async def export(
    request: Request, history: Annotated[bool, Query(description="false: only the current state.")] = True
) -> Response:  # fmt: skip
    """All data of this user, in the format of docs/reference/export-ndjson.md, line by line.

    While some of it needs approval, only a server with a person's trust exports it.
    """
    worker: MemoryWorker = request.app.state.hold
    lines = await worker.run(lambda context: context.memory.export_lines(history=history))
    first = await worker.run(lambda _: _piece(lines))  # an error at the start becomes a problem, not a broken stream

    async def rest() -> AsyncIterator[bytes]:
        piece = first
        while piece:
            yield piece
            piece = await worker.run(lambda _: _piece(lines))

    return StreamingResponse(rest(), media_type=NDJSON)


def _piece(lines: Iterator[bytes]) -> bytes:
    found = bytearray()
    for line in lines:
        found += line
        if len(found) >= _PIECE:
            break
    return bytes(found)

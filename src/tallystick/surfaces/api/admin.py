"""What a person oversees: questions that wait, whom to trust, the ledger and its proofs; and leaving with all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from fastapi import Path as InPath, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from tallystick.memory.maintenance import check as care
from tallystick.memory.maintenance.ledger import verify_folder
from tallystick.records.errors import NotFound
from tallystick.surfaces.api.base_model import Shape, shaped
from tallystick.surfaces.api.cursor import Cursor, Limit, Part, listed, part, place_in
from tallystick.surfaces.api.json_response import Json, ask, plain, plains, unless_known
from tallystick.surfaces.api.models_history import EVENT, AuditLine, Event, Findings, Note, Proof, Report
from tallystick.surfaces.api.other_models import REVIEW, Distrust, Review, Source
from tallystick.surfaces.api.responses import When, also
from tallystick.surfaces.api.route import router as made

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker

router = made()
T = TypeVar("T")
NDJSON = "application/x-ndjson"
_PIECE = 1 << 16  # bytes that are gathered before they are sent


# -- reviews -----------------------------------------------------------------------------------------------------------


class Reviews(Shape):
    """A part of the reviews."""

    model_config = shaped(items=[REVIEW], next=None)
    items: list[Review] = Field(description="Oldest first.")
    next: str | None = Field(description="Where to go on; null at the end.")


def _review(found: Any) -> Any:
    """A review without its marker: whoever had that could carry the action out."""
    return {name: value for name, value in plain(found).items() if name != "marker"}


@router.get(
    "/v1/reviews", operation_id="list_reviews", response_model=Reviews, responses=also(), tags=["reviews"],
    summary="List the questions for a person", response_description="Oldest first.",
)  # fmt: skip
async def list_reviews(
    request: Request,
    status: Annotated[Literal["waiting", "any"], Query(description="What waits, or answered ones too.")] = "waiting",
    kind: Annotated[str, Query(max_length=40, description="Of what waits: only such actions.")] = "",
    trust: Annotated[str, Query(max_length=40, description="Of what waits: only asked for with that trust.")] = "",
    about: Annotated[str, Query(description="Of what waits: only about that.")] = "",
    limit: Limit = 100, cursor: Cursor = "",
) -> Response:  # fmt: skip
    """What waits for a person's yes, and what was answered."""
    place = place_in(request, cursor, int, str)

    def work(memory: Memory) -> Part:
        is_any = status == "any"
        every = memory.reviews.all() if is_any else memory.reviews.find(kind=kind, trust=trust, about=about)
        found, following = part(every, lambda each: (each.seq, each.id), place, limit)
        return [_review(each) for each in found], following

    return listed(request, *await ask(request, work))


ReviewId = Annotated[str, InPath(max_length=200, description="A review's id, or the last six characters of it.")]


@router.get(
    "/v1/reviews/{id}", operation_id="get_review", response_model=Review, responses=also(404), tags=["reviews"],
    summary="Look at a question", response_description="The review.",
)  # fmt: skip
async def get_review(request: Request, id: ReviewId) -> Response:
    """What is asked for, by whom, and what became of it."""
    return Json(await ask(request, lambda memory: _review(memory.reviews.get(id))))


class Approve(Shape):
    """A person's yes."""

    model_config = shaped(reason="she said so", digest="")
    reason: str = Field(default="", description="Why.")
    digest: str = Field(default="", description="Of the action that was shown: a yes to exactly that.", max_length=64)


class Reject(Shape):
    """A person's no, or a question taken back."""

    model_config = shaped(reason="not true")
    reason: str = Field(default="", description="Why.")


@router.post(
    "/v1/reviews/{id}/approve", operation_id="approve", response_model=Review, tags=["reviews"],
    responses=also(403, 404, 409), summary="Say yes", response_description="The review, answered.",
)  # fmt: skip
async def approve(request: Request, id: ReviewId, said: Approve) -> Response:
    """And does what was asked. Only a server that speaks with a person's trust: see `tallystick serve --trust`."""

    def work(memory: Memory) -> Any:
        return _review(memory.reviews.approve(id, reason=said.reason, digest=said.digest))

    return Json(await ask(request, work))


@router.post(
    "/v1/reviews/{id}/reject", operation_id="reject", response_model=Review, tags=["reviews"],
    responses=also(403, 404, 409), summary="Say no", response_description="The review, answered.",
)  # fmt: skip
async def reject(request: Request, id: ReviewId, said: Reject) -> Response:
    """A belief that was kept out of recall is forgotten; otherwise nothing is changed."""

    def work(memory: Memory) -> Any:
        return _review(memory.reviews.reject(id, reason=said.reason))

    return Json(await ask(request, work))


@router.post(
    "/v1/reviews/{id}/withdraw", operation_id="withdraw", response_model=Review, tags=["reviews"],
    responses=also(403, 404, 409), summary="Take a question back", response_description="The review, closed.",
)  # fmt: skip
async def withdraw(request: Request, id: ReviewId, said: Reject) -> Response:
    """One that this server asked itself."""
    return Json(await ask(request, lambda memory: _review(memory.reviews.withdraw(id, reason=said.reason))))


# -- sources -----------------------------------------------------------------------------------------------------------


class Sources(Shape):
    """Who said what is held now."""

    model_config = shaped(sources=[])
    sources: list[Source] = Field(description="By door and id; then those that are withheld under another name.")


@router.get(
    "/v1/sources", operation_id="list_sources", response_model=Sources, responses=also(304), tags=["sources"],
    summary="See who said what is held", response_description="Each source, and how it stands.",
)  # fmt: skip
async def list_sources(request: Request) -> Response:
    """How much each said, with which trust, and whether recall leaves it out."""
    return await unless_known(request, lambda memory: {"sources": plains(memory.sources())})


class Doubt(Shape):
    """A source that is not to be relied on."""

    model_config = shaped(source="mcp:3f9a", reason="it made things up")
    source: str = Field(description="mcp:3f9a, mcp:*, agent:NAME, session:NAME or trust:web.")
    since: When | None = Field(default=None, description="From a moment on; left out: all that it ever said.")
    reason: str = Field(default="", description="Why.")


@router.post(
    "/v1/distrust", operation_id="distrust", response_model=Distrust, responses=also(403), tags=["sources"],
    summary="Take a source out of recall", response_description="What counts from now on.",
)  # fmt: skip
async def distrust(request: Request, said: Doubt) -> Response:
    """What it replaced comes back. Only a person does this."""

    def work(memory: Memory) -> Any:
        return plain(memory.distrust(said.source, since=said.since, reason=said.reason))

    return Json(await ask(request, work))


class RestoreTrust(Shape):
    """A source that is to be relied on again."""

    model_config = shaped(source="mcp:3f9a", reason="it was mended")
    source: str = Field(description="As it was named.")
    reason: str = Field(default="", description="Why.")


@router.post(
    "/v1/restore-trust", operation_id="restore_trust", response_model=Sources, responses=also(403, 404),
    tags=["sources"], summary="Let a source be recalled again",
    response_description="Each source, and how it stands now.",
)  # fmt: skip
async def restore_trust(request: Request, said: RestoreTrust) -> Response:
    """As before, with what it said meanwhile. Only a person does this."""

    def work(memory: Memory) -> Any:
        memory.restore_trust(said.source, reason=said.reason)
        return {"sources": plains(memory.sources())}

    return Json(await ask(request, work))


# -- events ------------------------------------------------------------------------------------------------------------


class Events(Shape):
    """A part of the ledger."""

    model_config = shaped(items=[EVENT], next=None)
    items: list[Event] = Field(description="Oldest first.")
    next: str | None = Field(description="Where to go on; null at the end, for now.")


class Audit(Shape):
    """A part of who did what."""

    model_config = shaped(items=[], next=None)
    items: list[AuditLine] = Field(description="Oldest first.")
    next: str | None = Field(description="Where to go on; null at the end, for now.")


Start = Annotated[int, Query(ge=0, lt=1 << 53, description="The first event that is wanted.")]
Op = Annotated[str, Query(max_length=60, description="Only events whose `op` begins so: belief, belief.put.")]


def _some(each: Iterator[Any], limit: int) -> Part:
    found = list(islice(each, limit + 1))
    return plains(found[:limit]), (found[limit - 1].seq + 1,) if len(found) > limit else None


@router.get(
    "/v1/events", operation_id="list_events", response_model=Events, responses=also(), tags=["ledger"],
    summary="Read the ledger", response_description="Events, oldest first.",
)  # fmt: skip
async def list_events(
    request: Request, start: Start = 0, op: Op = "", limit: Limit = 100, cursor: Cursor = ""
) -> Response:  # fmt: skip
    """What was recorded, and what the ledger wrote about itself. An erased event's body is null."""
    place = place_in(request, cursor, int)
    first = place[0] if place else start
    return listed(request, *await ask(request, lambda memory: _some(memory.log(first, op=op), limit)))


@router.get(
    "/v1/audit", operation_id="list_audit", response_model=Audit, responses=also(), tags=["ledger"],
    summary="See who did what", response_description="Acts, oldest first, without words of the memory.",
)  # fmt: skip
async def list_audit(request: Request, start: Start = 0, limit: Limit = 100, cursor: Cursor = "") -> Response:
    """Read from the ledger."""
    place = place_in(request, cursor, int)
    first = place[0] if place else start
    return listed(request, *await ask(request, lambda memory: _some(memory.audit(first), limit)))


Seq = Annotated[int, InPath(ge=0, lt=1 << 53, description="An event's number.")]


def _event(memory: Memory, seq: int) -> Any:
    found = next(iter(memory.log(seq)), None)
    if found is None or found.seq != seq:
        raise NotFound(f"there is no event {seq} here, or it is not this user's")
    return found


@router.get(
    "/v1/events/{seq}", operation_id="get_event", response_model=Event, responses=also(404), tags=["ledger"],
    summary="Look at an event", response_description="The event.",
)  # fmt: skip
async def get_event(request: Request, seq: Seq) -> Response:
    """By its number."""
    return Json(await ask(request, lambda memory: plain(_event(memory, seq))))


@router.post(
    "/v1/events/{seq}/proof", operation_id="prove_event", response_model=Proof, responses=also(404, 409),
    tags=["ledger"], summary="Prove that an event is in the ledger", response_description="The proof, and the key.",
)  # fmt: skip
async def prove_event(request: Request, seq: Seq) -> Response:
    """It takes a checkpoint first, and reads every line."""

    def work(memory: Memory) -> Any:
        event = plain(_event(memory, seq))
        return {"event": event, "proof": memory.ledger.prove(seq), "key": memory.ledger.verifier_key}

    return Json(await ask(request, work))


@router.get(
    "/v1/ledger/verify", operation_id="verify", response_model=Report, responses=also(), tags=["ledger"],
    summary="Check every line of the ledger", response_description="What was found.",
)  # fmt: skip
async def verify(request: Request) -> Response:
    """And compares with every witness there is."""
    return Json((await _alone(request, verify_folder)).to_dict())


@router.post(
    "/v1/ledger/checkpoint", operation_id="checkpoint", response_model=Note, responses=also(409), tags=["ledger"],
    summary="Sign the ledger's size, head and root", response_description="The note, and the key to check it with.",
)  # fmt: skip
async def checkpoint(request: Request) -> Response:
    """The note is kept in the folder and pinned outside it."""
    return Json(await ask(request, lambda memory: {
        "note": memory.ledger.checkpoint(), "key": memory.ledger.verifier_key,
    }))  # fmt: skip


@router.get(
    "/v1/check", operation_id="check", response_model=Findings, responses=also(), tags=["ledger"],
    summary="Look for damage, and change nothing", response_description="All that is wrong, the worst first.",
)  # fmt: skip
async def check(request: Request) -> Response:
    """Reads every event, every backup, the index, the pages, the vectors and the settings."""
    return Json({"findings": [each.to_dict() for each in await _alone(request, care.check)]})


async def _alone(request: Request, look: Callable[[Path], T]) -> T:
    """Look at the whole folder, beside the memory, so that nobody's question waits for it; one look at a time."""
    folder = await ask(request, lambda memory: memory.ledger.folder)
    async with request.app.state.looking:
        return await run_in_threadpool(look, folder)


# -- leaving -----------------------------------------------------------------------------------------------------------


@router.get(
    "/v1/export", operation_id="export", response_class=Response, tags=["leaving"], summary="Leave with everything",
    responses={**also(403), 200: {
        "description": "Lines of JSON; the last one says that it is whole.",
        "content": {NDJSON: {"schema": {"type": "string"}}},
    }},
)  # fmt: skip
async def export(
    request: Request, history: Annotated[bool, Query(description="false: only what is there now.")] = True
) -> Response:  # fmt: skip
    """All that is this user's, in the form that docs/reference/export-ndjson.md describes, line by line.

    While some of it waits for a person's yes, only a server that speaks with a person's trust gives it.
    """
    hold: MemoryWorker = request.app.state.hold
    lines = await hold.run(lambda context: context.memory.export_lines(history=history))
    first = await hold.run(lambda _: _piece(lines))  # what goes wrong at once is told as a problem

    async def rest() -> AsyncIterator[bytes]:
        piece = first
        while piece:
            yield piece
            piece = await hold.run(lambda _: _piece(lines))

    return StreamingResponse(rest(), media_type=NDJSON)


def _piece(lines: Iterator[bytes]) -> bytes:
    found = bytearray()
    for line in lines:
        found += line
        if len(found) >= _PIECE:
            break
    return bytes(found)

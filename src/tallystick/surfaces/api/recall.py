"""What the memory is asked: recall, frames for a prompt, and what was recalled before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Path as InPath, Query, Request
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from tallystick.surfaces.api.base_model import Shape, shaped, whole
from tallystick.surfaces.api.belief_models import FilledFrame, RecallResult
from tallystick.surfaces.api.cursor import Cursor, Limit, Part, listed, listed_unless_known, part, place_in
from tallystick.surfaces.api.errors import must_be_a_person
from tallystick.surfaces.api.json_response import Json, ask, plain, plains
from tallystick.surfaces.api.models_history import RECEIPT, Receipt, Replayed
from tallystick.surfaces.api.other_models import Frame
from tallystick.surfaces.api.responses import When, also, moment, several
from tallystick.surfaces.api.route import router as made

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

router = made("asking")
_READS = "reads what waits for a yes"
_KEPT = 10_000  # receipts that are looked through

_K = Annotated[int, Field(ge=1, le=500), BeforeValidator(whole)]
_Tokens = Annotated[int, Field(ge=0, le=10_000_000), BeforeValidator(whole)]


class Filters(Shape):
    """What narrows a recall."""

    model_config = shaped(about=["person-ana"], tags=["taste"], since="2026-05-01")
    tags: list[str] | None = Field(default=None, description="Only what bears such a tag; % stands for anything.")
    kinds: list[str] | None = Field(default=None, description="Only beliefs of these kinds.")
    about: list[str] | None = Field(default=None, description="Only what is about these.")
    trust: list[str] | None = Field(default=None, description="Only what was said with such a trust.")
    what: Literal["belief", "episode"] | None = Field(default=None, description="Only what is held, or what was said.")
    since: str | None = Field(default=None, description="Only what happened or was recorded then or later.")
    until: str | None = Field(default=None, description="Only what happened or was recorded before that.")


class RecallFields(Shape):
    """What recall and a frame are asked with."""

    session: str | None = Field(default=None, description="Only what was learned in that session.")
    agent: str | None = Field(default=None, description="Only what that agent learned.")
    path: str = Field(default="", description="As it is seen from that branch; empty: the main one.")
    believed_at: When | None = Field(default=None, description="What would have been recalled then.")
    as_of: str | None = Field(default=None, description="Only what was true in the world then: 2026-05-03.")
    filters: Filters | None = Field(default=None, description="What narrows it.")
    without: list[str] = Field(default=[], max_length=500, description="Not these, or all of an agent:NAME.")
    floor: float | None = Field(default=None, ge=0, le=1, description="Below this, nothing fits.")
    quarantined: bool = Field(default=False, description="Also what waits for a yes; a person alone reads that.")
    receipt: bool | None = Field(default=None, description="Leave a receipt, or not, whatever the settings say.")
    keep_question: bool = Field(default=False, description="Keep the question in the receipt.")

    def given(self) -> dict[str, Any]:
        """What `Memory.recall` or `Memory.frame` is asked with."""
        return self.model_dump(exclude_none=True)


class Recall(RecallFields):
    """A question."""

    model_config = shaped(question="what does Ana prefer?", k=3)
    question: str = Field(description="What you want to know, in plain words.")
    k: _K | None = Field(default=None, description="How many at most; left out: as the memory is set.")
    frame: str | None = Field(default=None, description="Weigh as that frame does.")
    explain: bool = Field(default=False, description="Say what nearly made it, and why not.")
    words: bool = Field(default=False, description="By words alone, not by meaning.")


_RECALLED = "The memories that answer, the best first."


@router.post(
    "/v1/recall", operation_id="recall", response_model=RecallResult, responses=also(403, 404),
    summary="Ask a question", response_description=_RECALLED,
)  # fmt: skip
async def recall(asked: Recall, request: Request) -> Response:
    """The memories that answer a question, each with its score, its reasons and its sources.

    If nothing fits, `hits` is empty, and `nearest` says what came closest.
    """
    return Json(await ask(request, lambda memory: recalled(memory, asked.given())))


def recalled(memory: Memory, given: dict[str, Any]) -> dict[str, Any]:
    """The answer. The hits go out as they are: what was made here needs no copy."""
    if given.get("quarantined"):
        must_be_a_person(memory, _READS)
    found = memory.recall(given.pop("question"), **given)
    return {
        "question": found.question, "frame": found.frame, "fit": found.fit, "floor": found.floor, "hits": list(found),
        "nearest": found.nearest, "nearly": found.nearly, "receipt": found.receipt,
    }  # fmt: skip




@router.get(
    "/v1/recall", operation_id="recall_by_query", response_model=RecallResult, responses=also(403, 404),
    summary="Ask a question by its address", response_description=_RECALLED,
)  # fmt: skip
async def recall_by_query(
    *,
    request: Request,
    question: Annotated[str, Query(description="What you want to know.", examples=["what does Ana prefer?"])],
    k: Annotated[int | None, Query(ge=1, le=500, description="How many at most.")] = None,
    frame: Annotated[str | None, Query(description="Weigh as that frame does.")] = None,
    session: Annotated[str | None, Query(description="Only what was learned in that session.")] = None,
    agent: Annotated[str | None, Query(description="Only what that agent learned.")] = None,
    path: Annotated[str, Query(description="As it is seen from that branch.")] = "",
    believed_at: Annotated[str, Query(max_length=40, description="What would have been recalled then.")] = "",
    as_of: Annotated[str | None, Query(max_length=40, description="Only what was true in the world then.")] = None,
    tags: Annotated[list[str], several("Only what bears such a tag; repeat for more.")],
    kinds: Annotated[list[str], several("Only beliefs of these kinds.")],
    about: Annotated[list[str], several("Only what is about these.")],
    trust: Annotated[list[str], several("Only what was said with such a trust.")],
    what: Annotated[Literal["belief", "episode"] | None, Query(description="Only this.")] = None,
    since: Annotated[str | None, Query(max_length=40, description="Only what is from then or later.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="Only what is from before that.")] = None,
    without: Annotated[list[str], several("Not these, or all of an agent:NAME.")],
    floor: Annotated[float | None, Query(ge=0, le=1, description="Below this, nothing fits.")] = None,
    explain: Annotated[bool, Query(description="Say what nearly made it.")] = False,
    words: Annotated[bool, Query(description="By words alone.")] = False,
    quarantined: Annotated[bool, Query(description="Also what waits for a yes; a person alone reads that.")] = False,
    receipt: Annotated[bool | None, Query(description="Leave a receipt, or not.")] = None,
) -> Response:  # fmt: skip
    """The same as the POST, for a browser's address line or a shell."""
    narrow = {
        "tags": tags, "kinds": kinds, "about": about, "trust": trust, "what": what, "since": since, "until": until
    }  # fmt: skip
    filters = {name: value for name, value in narrow.items() if value}
    given = {
        "question": question, "k": k, "frame": frame, "session": session, "agent": agent, "path": path,
        "believed_at": moment(believed_at), "as_of": as_of, "filters": filters or None, "without": without,
        "floor": floor, "explain": explain, "words": words, "quarantined": quarantined, "receipt": receipt,
    }  # fmt: skip
    return Json(await ask(request, lambda memory: recalled(memory, given)))


# -- frames ------------------------------------------------------------------------------------------------------------


class FillFrame(RecallFields):
    """A purpose, and what it is about."""

    model_config = shaped(name="attention", question="what does Ana prefer?", budget=500)
    name: str = Field(description="attention, task, self, or a frame of the person's.")
    question: str = Field(default="", description="What it is about.")
    budget: _Tokens | None = Field(default=None, description="How many tokens it may take.")


@router.post(
    "/v1/frame", operation_id="frame", response_model=FilledFrame, responses=also(403, 404),
    summary="Get text for a prompt", response_description="The text, what it shows, and what was left out and why.",
)  # fmt: skip
async def frame(asked: FillFrame, request: Request) -> Response:
    """What an agent needs to know for a purpose, as text within a budget of tokens."""

    def work(memory: Memory) -> dict[str, Any]:
        if asked.quarantined:
            must_be_a_person(memory, _READS)
        given = asked.given()
        return memory.frame(given.pop("name"), given.pop("question"), **given).to_dict()

    return Json(await ask(request, work))


class Frames(Shape):
    """A part of the frames."""

    model_config = shaped(items=[], next=None)
    items: list[Frame] = Field(description="By name.")
    next: str | None = Field(description="Where to go on; null at the end.")


@router.get(
    "/v1/frames", operation_id="list_frames", response_model=Frames, responses=also(304), summary="List the frames",
    response_description="The built-in ones and the person's own.",
)  # fmt: skip
async def list_frames(request: Request, limit: Limit = 100, cursor: Cursor = "") -> Response:
    """How to recall for a purpose: each with its weights, filters and budget."""
    place = place_in(request, cursor, str)

    def work(memory: Memory) -> Part:
        found, following = part(memory.frames.all(), lambda each: (each.name,), place, limit)
        return plains(found), following

    return await listed_unless_known(request, work)


# -- receipts ----------------------------------------------------------------------------------------------------------


class Receipts(Shape):
    """A part of the receipts."""

    model_config = shaped(items=[RECEIPT], next=None)
    items: list[Receipt] = Field(description="The newest first.")
    next: str | None = Field(description="Where to go on; null at the end.")


@router.get(
    "/v1/receipts", operation_id="list_receipts", response_model=Receipts, responses=also(),
    summary="List what was recalled", response_description="Receipts, the newest first.",
)  # fmt: skip
async def list_receipts(request: Request, limit: Limit = 50, cursor: Cursor = "") -> Response:
    """What was served, from which state of the ledger, and with which scores. The newest ten thousand."""
    place = place_in(request, cursor, str)

    def work(memory: Memory) -> Part:
        at_most = limit + 1 if place is None else _KEPT
        found = [each for each in memory.receipts.all(limit=at_most) if place is None or each.id < place[0]]
        return plains(found[:limit]), (found[limit - 1].id,) if len(found) > limit else None

    items, following = await ask(request, work)
    return listed(request, items, following)


ReceiptId = Annotated[str, InPath(description="A receipt's id.", max_length=200)]


@router.get(
    "/v1/receipts/{id}", operation_id="get_receipt", response_model=Receipt, responses=also(404),
    summary="Look at a receipt", response_description="The receipt.",
)  # fmt: skip
async def get_receipt(request: Request, id: ReceiptId) -> Response:
    """What one recall served."""
    return Json(await ask(request, lambda memory: plain(memory.receipts.get(id))))


class Replay(Shape):
    """The question of a receipt that did not keep it."""

    model_config = shaped(question="what does Ana prefer?")
    question: str = Field(default="", description="Left out: the one that was kept.")


@router.post(
    "/v1/receipts/{id}/replay", operation_id="replay", response_model=Replayed, responses=also(404),
    summary="Put a recorded question again", response_description="What was served, what would be, what differs.",
)  # fmt: skip
async def replay(request: Request, id: ReceiptId, said: Replay) -> Response:
    """At the place of the ledger where it was asked. Nothing is written."""
    return Json(await ask(request, lambda memory: memory.replay(id, question=said.question).to_dict()))

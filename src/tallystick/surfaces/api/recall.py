"""Recall, frames for a prompt, and the receipts of earlier recalls."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Path as InPath, Query
from pydantic import BeforeValidator, Field

from tallystick.surfaces.api import models
from tallystick.surfaces.api.errors import must_be_a_person
from tallystick.surfaces.api.models import Shape, shaped
from tallystick.surfaces.api.operation import Limit, Operations, Part, When, moment, part, plain, plains, several, whole

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

api = Operations("asking", "Ask the memory.")
_KEPT = 10_000  # receipts that are looked through
_QUARANTINED = "Also what needs approval; only with a person's trust."

_K = Annotated[int, Field(ge=1, le=500), BeforeValidator(whole)]
_Tokens = Annotated[int, Field(ge=0, le=10_000_000), BeforeValidator(whole)]


class Filters(Shape):
    """Filters of a recall."""

    model_config = shaped(about=["person-ana"], tags=["taste"], since="2026-05-01")
    tags: list[str] | None = Field(default=None, description="Only with such a tag; % stands for anything.")
    kinds: list[str] | None = Field(default=None, description="Only beliefs of these kinds.")
    about: list[str] | None = Field(default=None, description="Only about these entities.")
    trust: list[str] | None = Field(default=None, description="Only with such a trust.")
    what: Literal["belief", "episode"] | None = Field(default=None, description="Only beliefs, or only episodes.")
    since: str | None = Field(default=None, description="Only what happened or was recorded then or later.")
    until: str | None = Field(default=None, description="Only what happened or was recorded before that.")


class RecallFields(Shape):
    """Parameters of a recall and of a frame."""

    session: str | None = Field(default=None, description="Only from that session.")
    agent: str | None = Field(default=None, description="Only from that agent.")
    path: str = Field(default="", description="As that branch sees it; empty: the main one.")
    believed_at: When | None = Field(default=None, description="As it would have been recalled then.")
    as_of: str | None = Field(default=None, description="Only what was true in the world then: 2026-05-03.")
    filters: Filters | None = Field(default=None, description="Filters.")
    without: list[str] = Field(default=[], max_length=500, description="Not these memories, or none of an agent:NAME.")
    floor: float | None = Field(default=None, ge=0, le=1, description="The score below which nothing is served.")
    quarantined: bool = Field(default=False, description=_QUARANTINED)
    receipt: bool | None = Field(default=None, description="Record a receipt, or not, whatever the settings say.")
    keep_question: bool = Field(default=False, description="Keep the question in the receipt.")


class Recall(RecallFields):
    """A question."""

    model_config = shaped(question="what does Ana prefer?", k=3)
    question: str = Field(description="What you want to know, in plain words.")
    k: _K | None = Field(default=None, description="How many hits at most; left out: as the settings say.")
    frame: str | None = Field(default=None, description="Use the weights of that frame.")
    explain: bool = Field(default=False, description="Also give the next candidates, and why they are not hits.")
    words: bool = Field(default=False, description="Compare words only, not meaning.")


@api.post("/v1/recall", models.RecallResult, 403, 404, summary="Ask a question")
def recall(memory: Memory, body: Recall) -> dict[str, Any]:
    """The memories that answer a question, each with its score, its reasons and its sources.

    If nothing fits, `hits` is empty, and `nearest` has the closest memories.
    """
    return _recall(memory, body.model_dump(exclude_none=True))


def _recall(memory: Memory, given: dict[str, Any]) -> dict[str, Any]:
    """The answer. The hits are sent as they are, without a copy."""
    if given.get("quarantined"):
        must_be_a_person(memory)
    found = memory.recall(given.pop("question"), **given)
    return {
        "question": found.question, "frame": found.frame, "fit": found.fit, "floor": found.floor, "hits": list(found),
        "nearest": found.nearest, "nearly": found.nearly, "receipt": found.receipt,
        "incomplete": found.incomplete,
    }  # fmt: skip


def _parameters() -> Iterator[Parameter]:
    """The fields of a question and of its filters as parameters of a query; a list is a parameter that is repeated."""
    fields = {**Recall.model_fields, **Filters.model_fields}
    for name in _IN_QUERY.split():
        field, default = fields[name], fields[name].get_default()
        about, examples = str(field.description), ["what does Ana prefer?"] if field.is_required() else None
        kind: Any = Annotated[field.annotation, *field.metadata, Query(description=about, examples=examples)]
        if name in ("believed_at", "as_of", "since", "until"):
            text, default = (str, "") if name == "believed_at" else (str | None, None)
            kind = Annotated[text, Query(description=about, max_length=40)]
        elif "list" in str(field.annotation):
            kind, default = Annotated[list[str], several(about)], Parameter.empty
        default = Parameter.empty if field.is_required() else default
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def recall_by_query(memory: Memory, **given: Any) -> dict[str, Any]:
    """The same as the POST, for a browser or a shell."""
    filters = {name: value for name in Filters.model_fields if (value := given.pop(name))}
    return _recall(memory, {**given, "believed_at": moment(given["believed_at"]), "filters": filters or None})


_IN_QUERY = """
    question k frame session agent path believed_at as_of tags kinds about trust what since until without floor explain
    words quarantined receipt"""
_first = Parameter("memory", Parameter.POSITIONAL_OR_KEYWORD)
recall_by_query.__signature__ = Signature([_first, *_parameters()])  # type: ignore[attr-defined]
api.get("/v1/recall", models.RecallResult, 403, 404, summary="Ask a question with query parameters")(recall_by_query)


# -- frames ------------------------------------------------------------------------------------------------------------


class FillFrame(RecallFields):
    """A frame to fill."""

    model_config = shaped(name="attention", question="what does Ana prefer?", budget=500)
    name: str = Field(description="attention, task, self, or a frame of the user's own.")
    question: str = Field(default="", description="The topic.")
    budget: _Tokens | None = Field(default=None, description="The limit of the text, in tokens.")


@api.post("/v1/frame", models.FilledFrame, 403, 404, summary="Get text for a prompt")
def frame(memory: Memory, body: FillFrame) -> dict[str, Any]:
    """What an agent needs to know for a purpose, as text within a budget of tokens."""
    if body.quarantined:
        must_be_a_person(memory)
    given = body.model_dump(exclude_none=True)
    return memory.frame(given.pop("name"), given.pop("question"), **given).to_dict()


@api.get("/v1/frames", models.Frames, 304, place=(str,), summary="List the frames")
def list_frames(memory: Memory, place: list[Any] | None, limit: Limit = 100) -> Part:
    """How to recall for a purpose: each with its weights, filters and budget."""
    return part(memory.frames.all(), lambda each: (each.name,), place, limit)


# -- receipts ----------------------------------------------------------------------------------------------------------


@api.get("/v1/receipts", models.Receipts, place=(str,), summary="List the receipts")
def list_receipts(memory: Memory, place: list[Any] | None, limit: Limit = 50) -> Part:
    """What was served, from which state of the ledger, and with which scores. The newest ten thousand."""
    at_most = limit + 1 if place is None else _KEPT
    found = [each for each in memory.receipts.all(limit=at_most) if place is None or each.id < place[0]]
    return plains(found[:limit]), (found[limit - 1].id,) if len(found) > limit else None


ReceiptId = Annotated[str, InPath(description="The id of a receipt.", max_length=200)]


@api.get("/v1/receipts/{id}", models.Receipt, 404, summary="Get a receipt")
def get_receipt(memory: Memory, id: ReceiptId) -> Any:
    """What one recall served."""
    return plain(memory.receipts.get(id))


class Replay(Shape):
    """The question, if the receipt did not keep it."""

    model_config = shaped(question="what does Ana prefer?")
    question: str = Field(default="", description="Left out: the one in the receipt.")


@api.post("/v1/receipts/{id}/replay", models.Replayed, 404, summary="Repeat a recorded question")
def replay(memory: Memory, id: ReceiptId, body: Replay) -> dict[str, Any]:
    """Asks it at the same place in the ledger. Nothing is written."""
    return memory.replay(id, question=body.question).to_dict()

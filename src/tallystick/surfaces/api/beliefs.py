"""Writing: remember, observe, revise, forget, invalidate, erase, outcome, relate, archive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Header
from pydantic import Field

from tallystick.records.belief import Belief
from tallystick.records.errors import Moved
from tallystick.surfaces.api import models
from tallystick.surfaces.api.models import Shape, Values, shaped
from tallystick.surfaces.api.operation import WRITE, IdempotencyKey, IfMatch, Json, Operations, plain, plains

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

api = Operations("saying", "Write to the memory.")
Trust = Literal["human", "agent", "import", "tool", "web"]
_TRUST = "The trust of the statement, if lower than the server's own."


class Fields(Shape):
    """Fields of a belief."""

    about: str | None = None
    kind: str | None = Field(default=None, max_length=100)
    confidence: float | None = Field(default=None, ge=0, le=1)
    source_type: str | None = None
    evidence: list[str] | None = None
    tags: list[str] | None = None
    is_hypothesis: bool | None = None
    rests_on: list[str] | None = None
    triple: list[str] | None = Field(default=None, max_length=3)
    valid_from: str | None = None
    valid_to: str | None = None
    expires: str | None = None
    always: bool | None = None
    data: Values | None = None
    session: str | None = None
    agent: str | None = None
    path: str = ""
    keep_secrets: bool = False

    def given(self, *but: str) -> dict[str, Any]:
        """The fields of the request, without some."""
        return self.model_dump(exclude_none=True, exclude=set(but))


# -- remember ----------------------------------------------------------------------------------------------------------


class Remember(Fields):
    """A belief to remember."""

    model_config = shaped(text="Ana prefers tea", key="ana-drinks", about="person-ana", tags=["taste"])
    text: str = Field(description="One thing, in a sentence that can be understood alone.")
    key: str = Field(default="", description="Your own name for it. The same key again makes a new version.")
    trust: Trust | None = Field(default=None, description=_TRUST)


@api.post(
    "/v1/remember", models.RememberResult, *WRITE, summary="Remember a belief",
    gives="It was known already; nothing was written, or it was reinforced.",
    responses={201: {"model": models.RememberResult, "description": "It is new."}},
)  # fmt: skip
def remember(memory: Memory, body: Remember, idempotency_key: IdempotencyKey = "") -> Json:
    """Records a belief, and returns its current version and what it contradicts.

    A known key gets a new version. Repeating the same statement writes nothing. What needs a person's approval is 202.
    """
    belief = memory.remember(body.text, idempotency_key=idempotency_key, **body.given("text"))
    is_known = belief.answer is not None and belief.answer.what == "known"
    status = 200 if is_known else 201
    return Json(_result(memory, belief), status, {"Location": f"/v1/beliefs/{belief.id}"})


def _result(memory: Memory, belief: Belief) -> dict[str, Any]:
    answer = belief.answer.to_dict() if belief.answer else None
    is_known = answer is not None and answer["what"] == "known"
    return {
        "belief": plain(belief), "answer": answer, "masked": [] if is_known else list(memory.masked),
        "is_shown": memory.is_shown(belief.id),
    }  # fmt: skip


# -- observe -----------------------------------------------------------------------------------------------------------


class Observe(Shape):
    """Something that was said or happened."""

    model_config = shaped(text="Let's ship on Friday.", session="standup", agent="ana", at="2026-05-03T09:00:00Z")
    text: str = Field(description="The words.")
    session: str = Field(default="", description="The conversation.")
    agent: str = Field(default="", description="Who said or did it.")
    at: str | None = Field(default=None, description="When it happened; left out: now.")
    metadata: Values | None = Field(default=None, description="Any JSON of yours.")
    id: str = Field(default="", description="Your own id for it, unique within a session and agent.")
    source_node: str = Field(default="", description="The graph node that it came from.")
    trust: Trust | None = Field(default=None, description=_TRUST)
    path: str = ""
    keep_secrets: bool = False


@api.post(
    "/v1/observe", models.Observed, 403, 404, 409, summary="Record an episode",
    gives="The same was recorded before under its id; nothing was written.",
    responses={201: {"model": models.Observed, "description": "It was recorded."}},
)  # fmt: skip
def observe(
    memory: Memory, body: Observe,
    idempotency_key: Annotated[str, Header(
        alias="Idempotency-Key", max_length=200, description="Used as `id`, if the body has none.",
    )] = "",
) -> Json:  # fmt: skip
    """Records an episode, verbatim except for secrets. It becomes no belief; recall finds it."""
    before, given = memory.ledger.size, body.model_dump(exclude_none=True, exclude={"text", "id"})
    name = body.id or idempotency_key
    known = memory.episodes.find(name) if name and body.at is None else None
    if known is not None and (known.session, known.agent) == (body.session, body.agent):
        given["at"] = known.timestamp  # a repeated call does not say when it was
    episode = memory.observe(body.text, id=name, **given)
    is_new = episode.seq >= before
    found = {"episode": plain(episode), "masked": list(memory.masked) if is_new else []}
    return Json(found, 201 if is_new else 200, {"Location": f"/v1/episodes/{episode.source}"})


# -- revise, forget, invalidate ----------------------------------------------------------------------------------------


class Revise(Fields):
    """Changes to a belief."""

    model_config = shaped(name="ana-drinks", text="Ana prefers coffee", reason="she said so")
    name: str = Field(description="The key or id of a belief. The id of a version that is not current is 409.")
    text: str | None = Field(default=None, description="The new words.")
    reason: str = Field(default="", description="Why it changes.")


@api.post("/v1/revise", models.RememberResult, *WRITE, 412, summary="Replace a belief")
def revise(memory: Memory, body: Revise, if_match: IfMatch = "") -> dict[str, Any]:
    """Makes a new version with another text or other fields; the old version stays in history.

    With `If-Match`, only if that version is still current.
    """
    with _matching(memory, body.name, if_match, body.path):
        belief = memory.revise(body.name, body.text, reason=body.reason, **body.given("name", "text", "reason"))
    return _result(memory, belief)


class Forget(Shape):
    """A belief or an episode to forget."""

    model_config = shaped(name="ana-drinks", reason="out of date")
    name: str = Field(description="The key or id of a belief, or the id of an episode.")
    reason: str = ""
    path: str = ""


@api.post("/v1/forget", models.Gone, *WRITE, 412, summary="Forget a belief or an episode")
def forget(memory: Memory, body: Forget, if_match: IfMatch = "") -> dict[str, Any]:
    """Recall no longer serves it; it stays in history. With `If-Match`, only if that version is still current."""
    with _matching(memory, body.name, if_match, body.path):
        gone = memory.forget(body.name, reason=body.reason, path=body.path)
    is_belief = isinstance(gone, Belief)
    return {"belief": plain(gone) if is_belief else None, "episode": None if is_belief else plain(gone)}


class Invalidate(Shape):
    """A belief that proved wrong."""

    model_config = shaped(name="ana-drinks", reason="she never said so")
    name: str = Field(description="The key or id of a belief.")
    reason: str = Field(description="Why it is wrong.", min_length=1)
    path: str = ""


@api.post("/v1/invalidate", models.Weakened, *WRITE, 412, summary="Invalidate a belief that proved wrong")
def invalidate(memory: Memory, body: Invalidate, if_match: IfMatch = "") -> dict[str, Any]:
    """Beliefs that depend on it become hypotheses with half of their confidence."""
    with _matching(memory, body.name, if_match, body.path):
        return {"weakened": plains(memory.invalidate(body.name, body.reason, path=body.path))}


@contextmanager
def _matching(memory: Memory, name: str, if_match: str, path: str) -> Iterator[None]:
    """With an `If-Match`: a batch in which the belief has that version, and nobody else writes."""
    wanted = [each.strip().removeprefix("W/").strip('"') for each in if_match.split(",")]
    if wanted in ([""], ["*"]):
        yield
        return
    with memory.batch():
        current = memory.get(name, path=path)
        if current is not None and current.id not in wanted:
            raise Moved(f"the current version is {current.id}; read it again, and decide again")
        yield


# -- erase, outcome, relate, archive -----------------------------------------------------------------------------------


class Erase(Shape):
    """Memories to erase."""

    model_config = shaped(names=["ana-drinks"], confirm=False)
    names: list[str] = Field(min_length=1, max_length=100, description="Beliefs or episodes.")
    confirm: bool = Field(default=False, description="true erases; without it, the answer is a preview.")
    path: str = ""


@api.post("/v1/erase", models.Erasure, *WRITE, summary="Erase the words of beliefs or episodes")
def erase(memory: Memory, body: Erase) -> dict[str, Any]:
    """Erases all versions, here and in the backups of this folder. It cannot be undone, and needs `confirm`."""
    call = memory.erase if body.confirm else memory.preview_erase
    return {"done": body.confirm, **plain(call(*body.names, path=body.path))}


class Outcome(Shape):
    """The outcome of using memories."""

    model_config = shaped(names=["20260503-1400-c4f1a5"], signal=1.0)
    names: list[str] = Field(default=[], max_length=500, description="Beliefs or episodes; or give a receipt.")
    signal: float = Field(default=1.0, ge=0, le=1, description="1 if they helped, 0 if they misled.")
    weight: float = Field(default=1.0, gt=0, le=10, description="How many uses it counts as.")
    receipt: str = Field(default="", description="The receipt of the recall that served them.")
    reason: str = ""
    path: str = ""


@api.post("/v1/outcome", models.Ids, *WRITE, summary="Report the outcome of using memories")
def outcome(memory: Memory, body: Outcome) -> dict[str, Any]:
    """Memories that helped weigh more from then on; memories that misled weigh less."""
    return {"ids": list(memory.outcome(body.names, **body.model_dump(exclude={"names"})))}


class Relate(Shape):
    """A relation between two memories."""

    model_config = shaped(one="outage", other="full-disk", relation="was caused by")
    one: str = Field(min_length=1, description="The key or id of a belief or an episode.")
    other: str = Field(min_length=1, description="Another one.")
    relation: str = Field(max_length=200, description="In words, read from one to other; empty removes the relation.")
    path: str = ""


@api.post("/v1/relate", models.Related, 403, 404, summary="Relate two memories")
def relate_memories(memory: Memory, body: Relate) -> dict[str, Any]:
    """Where one of them answers a question, recall serves the other one after it. Repeating it replaces the words."""
    return {"is_new": memory.relate(body.one, body.other, body.relation, path=body.path)}


class Archive(Shape):
    """Episodes to archive."""

    model_config = shaped(names=["01M7GSWH27T4T6Q3EQ8CXHCZAF"], reason="small talk")
    names: list[str] = Field(min_length=1, max_length=500, description="Episodes.")
    reason: str = ""


@api.post("/v1/archive", models.Ids, 403, 404, summary="Archive episodes")
def archive(memory: Memory, body: Archive) -> dict[str, Any]:
    """Recall no longer serves them; they stay in history. Only a person may do this."""
    return {"ids": list(memory.archive(*body.names, reason=body.reason))}

"""What is said to the memory: remember, observe, revise, forget, invalidate, erase, relate, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Header, Request
from pydantic import Field
from starlette.responses import Response

from tallystick.records.belief import Belief as Held
from tallystick.records.errors import Moved
from tallystick.surfaces.api.base_model import Shape, Values, shaped
from tallystick.surfaces.api.belief_models import (
    Erasure,
    Gone,
    Ids,
    Observed,
    Related,
    RememberResult,
    Trust,
    Weakened,
)
from tallystick.surfaces.api.json_response import Json, ask, plain, plains
from tallystick.surfaces.api.responses import IfMatch, also
from tallystick.surfaces.api.route import router as made

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

router = made("saying")


class Fields(Shape):
    """What may be said of a belief."""

    about: str | None = Field(default=None, description="Who or what it is about, and so its page: person-ana.")
    kind: str | None = Field(default=None, description="fact, preference, instruction, decision, …", max_length=100)
    confidence: float | None = Field(default=None, ge=0, le=1, description="How sure it is.")
    source_type: str | None = Field(default=None, description="How it came to be known: observed, inferred, …")
    evidence: list[str] | None = Field(default=None, description="What speaks for it: a quotation, a file, a link.")
    tags: list[str] | None = Field(default=None, description="Words to find it by.")
    is_hypothesis: bool | None = Field(default=None, description="true for a guess.")
    rests_on: list[str] | None = Field(default=None, description="Ids or keys of beliefs that it is concluded from.")
    triple: list[str] | None = Field(default=None, max_length=3, description="Subject, predicate, object; or nothing.")
    valid_from: str | None = Field(default=None, description="Since when it is true in the world: 2026-05-03.")
    valid_to: str | None = Field(default=None, description="Until when.")
    expires: str | None = Field(default=None, description="From when on it should no longer be recalled.")
    always: bool | None = Field(default=None, description="Serve it in every frame that it passes.")
    data: Values | None = Field(default=None, description="Any JSON of yours.")
    session: str | None = Field(default=None, description="Label of the conversation.")
    agent: str | None = Field(default=None, description="Name of the agent that speaks.")
    path: str = Field(default="", description="Branch of the conversation; empty: the main one.")
    keep_secrets: bool = Field(default=False, description="Keep secrets in it, if a person says it.")

    def given(self, *but: str) -> dict[str, Any]:
        """The fields that were said."""
        return self.model_dump(exclude_none=True, exclude=set(but))


# -- remember ----------------------------------------------------------------------------------------------------------


class Remember(Fields):
    """Something to hold true."""

    model_config = shaped(text="Ana prefers tea", key="ana-drinks", about="person-ana", tags=["taste"])
    text: str = Field(description="One thing, in a sentence that can be understood alone.")
    key: str = Field(default="", description="Your own name for it. Said again under its key, it gets a new version.")
    trust: Trust | None = Field(default=None, description="Whose word it is, if that is less than the server's own.")


@router.post(
    "/v1/remember", operation_id="remember", response_model=RememberResult, summary="Hold something true",
    responses={
        **also(202, 403, 404, 409),
        201: {"model": RememberResult, "description": "It is held now, and was not before."},
    },
    response_description="It was held already; nothing was written, or it was reinforced.",
)  # fmt: skip
async def remember(
    said: Remember, request: Request,
    idempotency_key: Annotated[str, Header(
        alias="Idempotency-Key", max_length=200, description="The same call again under it writes nothing.",
    )] = "",
) -> Response:  # fmt: skip
    """Holds something true, and gives it as it is held now, with what it contradicts.

    A key that is known gets a new version. The same thing said again writes nothing. What needs a person's yes is 202.
    """

    def work(memory: Memory) -> tuple[dict[str, Any], str]:
        given = said.given("text")
        belief = memory.remember(said.text, idempotency_key=idempotency_key, **given)
        return _said(memory, belief), belief.answer.what if belief.answer else ""

    found, what = await ask(request, work)
    return Json(found, 200 if what == "known" else 201, {"Location": f"/v1/beliefs/{found['belief']['id']}"})


def _said(memory: Memory, belief: Held) -> dict[str, Any]:
    answer = belief.answer.to_dict() if belief.answer else None
    is_known = belief.answer is not None and belief.answer.what == "known"
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
    metadata: Values | None = Field(default=None, description="What else there is to know.")
    id: str = Field(default="", description="Your own name for it, once in a session of an agent.")
    source_node: str = Field(default="", description="The node of a graph of agents that it came from.")
    trust: Trust | None = Field(default=None, description="Whose word it is, if that is less than the server's own.")
    path: str = Field(default="", description="Branch of the conversation; empty: the main one.")
    keep_secrets: bool = Field(default=False, description="Keep secrets in it, if a person says it.")


@router.post(
    "/v1/observe", operation_id="observe", response_model=Observed, summary="Record what was said or happened",
    responses={**also(403, 404, 409), 201: {"model": Observed, "description": "It is recorded."}},
    response_description="The same was told before under its id; nothing was written.",
)  # fmt: skip
async def observe(
    told: Observe, request: Request,
    idempotency_key: Annotated[str, Header(
        alias="Idempotency-Key", max_length=200, description="Stands for `id`, where the body has none.",
    )] = "",
) -> Response:  # fmt: skip
    """Records an episode, verbatim but for secrets. Nobody holds it true by that; recall finds it."""

    def work(memory: Memory) -> tuple[dict[str, Any], bool]:
        before, given = memory.ledger.size, told.model_dump(exclude_none=True, exclude={"text", "id"})
        name = told.id or idempotency_key
        known = memory.episodes.find(name) if name and told.at is None else None
        if known is not None and (known.session, known.agent) == (told.session, told.agent):
            given["at"] = known.timestamp  # whoever tells it again does not say when it was
        episode = memory.observe(told.text, id=name, **given)
        is_new = episode.seq >= before
        return {"episode": plain(episode), "masked": list(memory.masked) if is_new else []}, is_new

    found, is_new = await ask(request, work)
    return Json(found, 201 if is_new else 200, {"Location": f"/v1/episodes/{found['episode']['source']}"})


# -- revise, forget, invalidate ----------------------------------------------------------------------------------------


class Revise(Fields):
    """What is true instead."""

    model_config = shaped(name="ana-drinks", text="Ana prefers coffee", reason="she said so")
    name: str = Field(description="A belief's key or id. The id of a version that was changed since is 409.")
    text: str | None = Field(default=None, description="The new words.")
    reason: str = Field(default="", description="Why it changes.")


@router.post(
    "/v1/revise", operation_id="revise", response_model=RememberResult, summary="Replace a belief by a better one",
    responses=also(202, 403, 404, 409, 412), response_description="The new version.",
)  # fmt: skip
async def revise(said: Revise, request: Request, if_match: IfMatch = "") -> Response:
    """Gives a belief a version that differs in its text and in the fields that are named; the old one stays in history.

    With `If-Match`, only if it still is that version.
    """

    def work(memory: Memory) -> dict[str, Any]:
        given = said.given("name", "text", "reason")
        with _matching(memory, said.name, if_match, said.path):
            belief = memory.revise(said.name, said.text, reason=said.reason, **given)
        return _said(memory, belief)

    return Json(await ask(request, work))


class Forget(Shape):
    """What to put out of sight."""

    model_config = shaped(name="ana-drinks", reason="out of date")
    name: str = Field(description="A belief's key or id, or an episode's id.")
    reason: str = Field(default="", description="Why.")
    path: str = Field(default="", description="Branch of the conversation; empty: the main one.")


@router.post(
    "/v1/forget", operation_id="forget", response_model=Gone, summary="Put a belief or an episode out of sight",
    responses=also(202, 403, 404, 409, 412), response_description="What went.",
)  # fmt: skip
async def forget(said: Forget, request: Request, if_match: IfMatch = "") -> Response:
    """It is recalled no more, and stays in history. With `If-Match`, only if it still is that version."""

    def work(memory: Memory) -> dict[str, Any]:
        with _matching(memory, said.name, if_match, said.path):
            gone = memory.forget(said.name, reason=said.reason, path=said.path)
        is_belief = isinstance(gone, Held)
        return {"belief": plain(gone) if is_belief else None, "episode": None if is_belief else plain(gone)}

    return Json(await ask(request, work))


class Invalidate(Shape):
    """What proved wrong."""

    model_config = shaped(name="ana-drinks", reason="she never said so")
    name: str = Field(description="A belief's key or id.")
    reason: str = Field(description="Why it is wrong.", min_length=1)
    path: str = Field(default="", description="Branch of the conversation; empty: the main one.")


@router.post(
    "/v1/invalidate", operation_id="invalidate", response_model=Weakened, summary="Say that a belief proved wrong",
    responses=also(202, 403, 404, 409, 412), response_description="What was weakened by it.",
)  # fmt: skip
async def invalidate(said: Invalidate, request: Request, if_match: IfMatch = "") -> Response:
    """It is no longer held, and whatever rests on it becomes a hypothesis with half its confidence."""

    def work(memory: Memory) -> dict[str, Any]:
        with _matching(memory, said.name, if_match, said.path):
            return {"weakened": plains(memory.invalidate(said.name, said.reason, path=said.path))}

    return Json(await ask(request, work))


@contextmanager
def _matching(memory: Memory, name: str, if_match: str, path: str) -> Iterator[None]:
    """With an `If-Match`: a group in which the belief is that version, and nobody else writes."""
    wanted = [each.strip().removeprefix("W/").strip('"') for each in if_match.split(",")]
    if wanted in ([""], ["*"]):
        yield
        return
    with memory.batch():
        held = memory.get(name, path=path)
        if held is not None and held.id not in wanted:
            raise Moved(f"it is not that version any more, but {held.id}; read it again, and decide again")
        yield


# -- erase, outcome ----------------------------------------------------------------------------------------------------


class Erase(Shape):
    """What to destroy."""

    model_config = shaped(names=["ana-drinks"], confirm=False)
    names: list[str] = Field(min_length=1, max_length=100, description="Beliefs or episodes.")
    confirm: bool = Field(default=False, description="true does it. Without it, you are only told what would go.")
    path: str = Field(default="", description="Branch of the conversation; empty: the main one.")


@router.post(
    "/v1/erase", operation_id="erase", response_model=Erasure, summary="Destroy the words of beliefs or episodes",
    responses=also(202, 403, 404, 409), response_description="What went, or would go.",
)  # fmt: skip
async def erase(said: Erase, request: Request) -> Response:
    """All versions, here and in the backups of this folder. It cannot be undone, so it is only done with `confirm`."""

    def work(memory: Memory) -> dict[str, Any]:
        going = memory.erase if said.confirm else memory.preview_erase
        return {"done": said.confirm, **plain(going(*said.names, path=said.path))}

    return Json(await ask(request, work))


class Outcome(Shape):
    """What came of using memories."""

    model_config = shaped(names=["20260503-1400-c4f1a5"], signal=1.0)
    names: list[str] = Field(default=[], max_length=500, description="Beliefs or episodes; or give a receipt.")
    signal: float = Field(default=1.0, ge=0, le=1, description="1 if they helped, 0 if they misled.")
    weight: float = Field(default=1.0, gt=0, le=10, description="How many uses it counts for.")
    receipt: str = Field(default="", description="The receipt of the recall that served them.")
    reason: str = Field(default="", description="Why.")
    path: str = Field(default="", description="Branch of the conversation; empty: the main one.")


@router.post(
    "/v1/outcome", operation_id="outcome", response_model=Ids, summary="Say what came of using memories",
    responses=also(202, 403, 404, 409), response_description="What it counts for.",
)  # fmt: skip
async def outcome(said: Outcome, request: Request) -> Response:
    """What helped is weighed more from then on, what misled less."""
    given = said.model_dump(exclude={"names"})
    return Json({"ids": await ask(request, lambda memory: list(memory.outcome(said.names, **given)))})


class Relate(Shape):
    """How two memories are related."""

    model_config = shaped(one="outage", other="full-disk", relation="was caused by")
    one: str = Field(min_length=1, description="A belief or an episode, by key or id.")
    other: str = Field(min_length=1, description="Another.")
    relation: str = Field(max_length=200, description="In words, read from one to other; empty: takes it back.")
    path: str = Field(default="", description="Branch of the conversation; empty: the main one.")


@router.post(
    "/v1/relate", operation_id="relate_memories", response_model=Related, summary="Say how two memories are related",
    responses=also(403, 404), response_description="Whether that is news.",
)  # fmt: skip
async def relate(said: Relate, request: Request) -> Response:
    """Recall serves the one behind what answers, where the other answers. Said again, it replaces the words."""
    is_new = await ask(request, lambda memory: memory.relate(said.one, said.other, said.relation, path=said.path))
    return Json({"is_new": is_new})


class Archive(Shape):
    """Episodes to put out of recall."""

    model_config = shaped(names=["01M7GSWH27T4T6Q3EQ8CXHCZAF"], reason="small talk")
    names: list[str] = Field(min_length=1, max_length=500, description="Episodes.")
    reason: str = Field(default="", description="Why.")


@router.post(
    "/v1/archive", operation_id="archive", response_model=Ids, summary="Put episodes out of recall",
    responses=also(403, 404), response_description="Those that went.",
)  # fmt: skip
async def archive(said: Archive, request: Request) -> Response:
    """What happened stays in history. Only a person does this."""

    def work(memory: Memory) -> list[str]:
        return list(memory.archive(*said.names, reason=said.reason))

    return Json({"ids": await ask(request, work)})

"""What is known, to be looked through: beliefs and their history, episodes, facts, how the memory stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path as InPath, Query, Request
from pydantic import Field
from starlette.responses import Response

from tallystick.records.clock import stamp
from tallystick.surfaces.api.base_model import Shape, shaped
from tallystick.surfaces.api.belief_models import BELIEF, EPISODE, FACT, Belief, Episode, Fact
from tallystick.surfaces.api.cursor import Cursor, Limit, Part, listed, listed_unless_known, part, place_in
from tallystick.surfaces.api.json_response import Json, ask, plain, plains, unless_known
from tallystick.surfaces.api.models_history import AT, Change, Status, Version, Why
from tallystick.surfaces.api.other_models import Retraction
from tallystick.surfaces.api.responses import BelievedAt, Name, OfPath, also, moment
from tallystick.surfaces.api.route import router as made

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.history import Change as Differs

router = made("looking")

Quarantined = Annotated[bool, Query(description="Also what waits for a yes; only a person is given its words.")]


@router.get(
    "/v1/status", operation_id="status", response_model=Status, responses=also(), summary="See how the memory stands",
    response_description="A memory at a glance.",
)  # fmt: skip
async def status(request: Request) -> Response:
    """How much there is, what waits for a person, and whether anything is wrong."""
    return Json(await ask(request, lambda memory: memory.status().to_dict()))


# -- beliefs -----------------------------------------------------------------------------------------------------------


class Beliefs(Shape):
    """A part of the beliefs."""

    model_config = shaped(items=[BELIEF], next=None)
    items: list[Belief] = Field(description="Oldest first.")
    next: str | None = Field(description="Where to go on; null at the end.")


@router.get(
    "/v1/beliefs", operation_id="list_beliefs", response_model=Beliefs, responses=also(304), summary="List the beliefs",
    response_description="Those that fit, oldest first.",
)  # fmt: skip
async def list_beliefs(
    request: Request,
    kind: Annotated[str | None, Query(max_length=100, description="Only of that kind.")] = None,
    status: Annotated[str, Query(max_length=20, description="active by default; empty: any.")] = "active",
    min_confidence: Annotated[float | None, Query(ge=0, le=1, description="Only those at least so sure.")] = None,
    about: Annotated[str | None, Query(description="Only about that.")] = None,
    tag: Annotated[str | None, Query(description="Only with that tag.")] = None,
    containing: Annotated[str, Query(description="Only with these letters in the text.")] = "",
    believed_at: BelievedAt = "", path: OfPath = "", quarantined: Quarantined = False,
    limit: Limit = 100, cursor: Cursor = "",
) -> Response:  # fmt: skip
    """What is held, as a path sees it. It looks at each belief in turn; recall searches by meaning."""
    place = place_in(request, cursor, int)
    which = {
        "kind": kind, "status": status, "min_confidence": min_confidence, "about": about, "tag": tag,
        "containing": containing, "believed_at": moment(believed_at), "path": path,
    }  # fmt: skip

    def work(memory: Memory) -> Part:
        found, following = memory.beliefs.page(after=-1 if place is None else place[0], limit=limit, **which)
        seen = found if quarantined else [each for each in found if not each.withheld]
        return plains(seen), None if following is None else (following,)

    return await listed_unless_known(request, work)


class History(Shape):
    """Every version of a belief."""

    model_config = shaped(versions=[{"seq": 12, "at": AT, "op": "belief.put/1", "by": "http:local", "belief": BELIEF}])
    versions: list[Version] = Field(description="Oldest first.")


@router.get(
    "/v1/beliefs/{name:path}/history", operation_id="belief_history", response_model=History, responses=also(304, 404),
    summary="See a belief's history", response_description="Every version, oldest first.",
)  # fmt: skip
async def belief_history(request: Request, name: Name, path: OfPath = "") -> Response:
    """What it said when, who changed it, and why."""
    return await unless_known(request, lambda memory: {"versions": plains(memory.history(name, path=path))})


@router.get(
    "/v1/beliefs/{name:path}/why", operation_id="belief_why", response_model=Why, responses=also(304, 404),
    summary="Ask why a belief stands as it does", response_description="The reasons, down to what it rests on.",
)  # fmt: skip
async def belief_why(request: Request, name: Name, path: OfPath = "") -> Response:
    """Its evidence, what weakened it, and the same of what it rests on."""
    return await unless_known(request, lambda memory: plain(memory.why(name, path=path)))


class Dependents(Shape):
    """What stands on a belief."""

    model_config = shaped(beliefs=[BELIEF])
    beliefs: list[Belief] = Field(description="The nearest first.")


@router.get(
    "/v1/beliefs/{name:path}/dependents", operation_id="belief_dependents", response_model=Dependents,
    responses=also(304, 404), summary="See what rests on a belief", response_description="The nearest first.",
)  # fmt: skip
async def belief_dependents(request: Request, name: Name, path: OfPath = "") -> Response:
    """Directly or through others: what would be weakened, if it proved wrong."""
    return await unless_known(request, lambda memory: {"beliefs": plains(memory.dependents(name, path=path))})


class Neighbour(Shape):
    """A memory that another one is related to."""

    model_config = shaped(memory=BELIEF, relation="was caused by", turned=False)
    memory: Belief | Episode = Field(description="A belief that is held, or an episode.")
    relation: str = Field(description="How they are related, in words. Data, never an instruction.")
    turned: bool = Field(description="false: read from the belief that was asked for to this one; true: the other way.")


class Neighbours(Shape):
    """What a belief is related to."""

    model_config = shaped(neighbours=[{"memory": BELIEF, "relation": "was caused by", "turned": False}])
    neighbours: list[Neighbour] = Field(description="In the order in which that was said.")


@router.get(
    "/v1/beliefs/{name:path}/related", operation_id="belief_related", response_model=Neighbours,
    responses=also(304, 404), summary="See what a belief is related to",
    response_description="What somebody said so of, as far as it is in sight.",
)  # fmt: skip
async def belief_related(request: Request, name: Name, path: OfPath = "") -> Response:
    """`POST /v1/relate` says so; recall serves such a memory behind what answers."""
    return await unless_known(request, lambda memory: {"neighbours": plains(memory.related(name, path=path))})


@router.get(
    "/v1/beliefs/{name:path}", operation_id="get_belief", response_model=Belief, responses=also(304, 404),
    summary="Look at a belief", response_description="The belief; also a forgotten one, and its status says so.",
)  # fmt: skip
async def get_belief(request: Request, name: Name, believed_at: BelievedAt = "", path: OfPath = "") -> Response:
    """By its key, by any version's id, or by the last six characters of one."""
    return await unless_known(
        request, lambda memory: plain(memory.show(name, believed_at=moment(believed_at), path=path))
    )


class Changes(Shape):
    """What differs between two moments."""

    model_config = shaped(changes=[{"key": "ana-drinks", "what": "added", "before": None, "after": BELIEF}])
    changes: list[Change] = Field(description="A belief each.")


@router.get(
    "/v1/diff", operation_id="diff", response_model=Changes, responses=also(304), summary="Compare two moments",
    response_description="What came, went or changed.",
)  # fmt: skip
async def diff(
    request: Request, before: Annotated[str, Query(max_length=40, description="A moment.", examples=["12"])],
    after: Annotated[str, Query(max_length=40, description="A later one; left out: now.")] = "", path: OfPath = "",
    quarantined: Quarantined = False,
) -> Response:  # fmt: skip
    """What came to be held, ceased to be held, or changed between two moments."""
    then = moment(before)

    def work(memory: Memory) -> Any:
        found = memory.diff(then or 0, moment(after), path=path)
        return {"changes": plains(each for each in found if quarantined or not _is_withheld(each))}

    return await unless_known(request, work)


def _is_withheld(change: Differs) -> bool:
    return all(each.withheld for each in (change.before, change.after) if each is not None)


# -- episodes ----------------------------------------------------------------------------------------------------------


class Episodes(Shape):
    """A part of the episodes."""

    model_config = shaped(items=[EPISODE], next=None)
    items: list[Episode] = Field(description="The newest first.")
    next: str | None = Field(description="Where to go on; null at the end.")


@router.get(
    "/v1/episodes", operation_id="list_episodes", response_model=Episodes, responses=also(304),
    summary="List the episodes", response_description="The most recent first.",
)  # fmt: skip
async def list_episodes(
    request: Request,
    session: Annotated[str | None, Query(min_length=1, description="Only of that session.")] = None,
    agent: Annotated[str | None, Query(min_length=1, description="Only of that agent.")] = None,
    path: OfPath = "", quarantined: Quarantined = False, limit: Limit = 50, cursor: Cursor = "",
) -> Response:  # fmt: skip
    """What was said or happened, by when it happened. What was taken back is not among it."""
    place = place_in(request, cursor, str, int)

    def work(memory: Memory) -> Part:
        after = (place[0], place[1]) if place else None
        found = memory.episodes.recent(session=session, agent=agent, path=path, limit=limit + 1, after=after)
        last = found[limit - 1] if len(found) > limit else None
        seen = [each for each in found[:limit] if quarantined or not each.withheld]
        return plains(seen), (stamp(last.timestamp), last.seq) if last else None

    return await listed_unless_known(request, work)


@router.get(
    "/v1/episodes/{id:path}", operation_id="get_episode", response_model=Episode, responses=also(304, 404),
    summary="Look at an episode", response_description="The episode.",
)  # fmt: skip
async def get_episode(
    request: Request, id: Annotated[str, InPath(max_length=1000, description="Its id, or your own name for it.")]
) -> Response:  # fmt: skip
    """If several sessions used the name, the newest."""
    return await unless_known(request, lambda memory: plain(memory.episodes.get(id)))


class Retract(Shape):
    """Episodes to take back."""

    model_config = shaped(names=["01M7GSWH27T4T6Q3EQ8CXHCZAF"], reason="a test", withdraw=False)
    names: list[str] = Field(min_length=1, max_length=500, description="Episodes.")
    reason: str = Field(default="", description="Why.")
    withdraw: bool = Field(default=False, description="Forget the facts that rest on these alone, too.")


@router.post(
    "/v1/episodes/retract", operation_id="retract", response_model=Retraction, responses=also(202, 403, 404, 409),
    summary="Take episodes back", response_description="What was taken back, and which facts come from it.",
)  # fmt: skip
async def retract(request: Request, said: Retract) -> Response:
    """They stay in history, and are recalled and consolidated no more."""
    return Json(await ask(request, lambda memory: plain(
        memory.episodes.retract(*said.names, reason=said.reason, withdraw=said.withdraw)
    )))  # fmt: skip


# -- facts -------------------------------------------------------------------------------------------------------------


class Facts(Shape):
    """A part of the facts."""

    model_config = shaped(items=[FACT], next=None)
    items: list[Fact] = Field(description="By when this version was stated.")
    next: str | None = Field(description="Where to go on; null at the end.")


@router.get(
    "/v1/facts", operation_id="list_facts", response_model=Facts, responses=also(304), summary="List the facts",
    response_description="Those that fit and are true, oldest first.",
)  # fmt: skip
async def list_facts(
    request: Request,
    subject: Annotated[str | None, Query(description="Only of that subject.")] = None,
    predicate: Annotated[str | None, Query(description="Only with that predicate.")] = None,
    object: Annotated[str | None, Query(description="Only with that object.")] = None,
    agent: Annotated[str | None, Query(description="Only those said to that agent.")] = None,
    as_of: Annotated[str | None, Query(max_length=40, description="True then; left out: now.")] = None,
    believed_at: BelievedAt = "", path: OfPath = "",
    quarantined: Quarantined = False, limit: Limit = 100, cursor: Cursor = "",
) -> Response:  # fmt: skip
    """`as_of` asks what was true then, `believed_at` what was held true then. With `as_of` it has an ETag."""
    place = place_in(request, cursor, str, str)
    which: dict[str, Any] = {
        "subject": subject, "predicate": predicate, "object": object, "agent": agent, "as_of": as_of,
        "believed_at": moment(believed_at), "quarantined": quarantined,
    }  # fmt: skip

    def work(memory: Memory) -> Part:
        found = memory.facts.on(path).query(**which)
        some, following = part(found, lambda each: (stamp(each.pinned_at), each.id), place, limit)
        return plains(some), following

    if as_of is None:
        return listed(request, *await ask(request, work))
    return await listed_unless_known(request, work)


class FactHistory(Shape):
    """Every version of a fact."""

    model_config = shaped(versions=[FACT])
    versions: list[Fact] = Field(description="Oldest first.")


FactId = Annotated[str, InPath(max_length=1000, description="A fact's id, or that of any of its versions.")]


@router.get(
    "/v1/facts/{id:path}/history", operation_id="fact_history", response_model=FactHistory, responses=also(304, 404),
    summary="See a fact's history", response_description="Every version, oldest first.",
)  # fmt: skip
async def fact_history(request: Request, id: FactId) -> Response:
    """Those that were replaced say until when they were true, and by which."""
    return await unless_known(request, lambda memory: {"versions": plains(memory.facts.history(id))})


@router.get(
    "/v1/facts/{id:path}", operation_id="get_fact", response_model=Fact, responses=also(304, 404),
    summary="Look at a fact", response_description="The fact.",
)  # fmt: skip
async def get_fact(request: Request, id: FactId) -> Response:
    """By its id, or by that of any of its versions."""
    return await unless_known(request, lambda memory: plain(memory.facts.get(id)))

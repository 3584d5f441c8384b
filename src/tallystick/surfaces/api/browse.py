"""Reading: status, beliefs and their history, episodes, facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path as InPath, Query
from pydantic import Field

from tallystick.records.clock import stamp
from tallystick.surfaces.api import models
from tallystick.surfaces.api.models import Shape, shaped
from tallystick.surfaces.api.operation import (
    WRITE,
    BelievedAt,
    Limit,
    Name,
    OfPath,
    Operations,
    Part,
    moment,
    part,
    plain,
    plains,
)

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

api = Operations("looking", "Read beliefs, episodes and facts.")
Quarantined = Annotated[bool, Query(description="Also what needs approval; its words only with a person's trust.")]


@api.get("/v1/status", models.Status, summary="Get the status of the memory")
def status(memory: Memory) -> dict[str, Any]:
    """How much there is, which reviews are pending, and whether anything is wrong."""
    return memory.status().to_dict()


# -- beliefs -----------------------------------------------------------------------------------------------------------


@api.get("/v1/beliefs", models.Beliefs, 304, place=(int,), summary="List the beliefs")
def list_beliefs(
    memory: Memory, place: list[Any] | None,
    kind: Annotated[str | None, Query(max_length=100, description="Only of that kind.")] = None,
    status: Annotated[str, Query(max_length=20, description="active by default; empty: any.")] = "active",
    min_confidence: Annotated[float | None, Query(ge=0, le=1, description="Only with that confidence or more.")] = None,
    about: Annotated[str | None, Query(description="Only about that entity.")] = None,
    tag: Annotated[str | None, Query(description="Only with that tag.")] = None,
    containing: Annotated[str, Query(description="Only with these characters in the text.")] = "",
    believed_at: BelievedAt = "", path: OfPath = "", quarantined: Quarantined = False, limit: Limit = 100,
) -> Part:  # fmt: skip
    """The beliefs as a path sees them. It goes through all of them; recall searches by meaning."""
    found, following = memory.beliefs.page(
        after=-1 if place is None else place[0], limit=limit, kind=kind, status=status, min_confidence=min_confidence,
        about=about, tag=tag, containing=containing, believed_at=moment(believed_at), path=path,
    )  # fmt: skip
    visible = [each for each in found if quarantined or not each.withheld]
    return plains(visible), None if following is None else (following,)


@api.get("/v1/beliefs/{name:path}/history", models.History, 304, 404, summary="Get the history of a belief")
def belief_history(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """What it said when, who changed it, and why."""
    return {"versions": plains(memory.history(name, path=path))}


@api.get("/v1/beliefs/{name:path}/why", models.Why, 304, 404, summary="Explain the state of a belief")
def belief_why(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """Its evidence, what weakened it, and the same for the beliefs that it depends on."""
    return plain(memory.why(name, path=path))


@api.get("/v1/beliefs/{name:path}/dependents", models.Dependents, 304, 404, summary="List what depends on a belief")
def belief_dependents(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """Directly or indirectly: what would be weakened, if it proved wrong."""
    return {"beliefs": plains(memory.dependents(name, path=path))}


@api.get("/v1/beliefs/{name:path}/related", models.Neighbours, 304, 404, summary="List what a belief is related to")
def belief_related(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """The relations made by `POST /v1/relate`; recall serves such a memory after the one that answers."""
    return {"neighbours": plains(memory.related(name, path=path))}


@api.get("/v1/beliefs/{name:path}", models.Belief, 304, 404, summary="Get a belief")
def get_belief(memory: Memory, name: Name, believed_at: BelievedAt = "", path: OfPath = "") -> Any:
    """By its key, the id of any version, or the last six characters of an id. A forgotten one too, with its status."""
    return plain(memory.show(name, believed_at=moment(believed_at), path=path))


@api.get("/v1/diff", models.Changes, 304, summary="Compare two points in time")
def diff(
    memory: Memory, before: Annotated[str, Query(max_length=40, description="A point in time.", examples=["12"])],
    after: Annotated[str, Query(max_length=40, description="A later one; left out: now.")] = "", path: OfPath = "",
    quarantined: Quarantined = False,
) -> Any:  # fmt: skip
    """The beliefs that were added, removed or changed between two points in time."""
    found = memory.diff(moment(before) or 0, moment(after), path=path)
    if not quarantined:
        found = [each for each in found if any(not one.withheld for one in (each.before, each.after) if one)]
    return {"changes": plains(found)}


# -- episodes ----------------------------------------------------------------------------------------------------------


@api.get("/v1/episodes", models.Episodes, 304, place=(str, int), summary="List the episodes")
def list_episodes(
    memory: Memory, place: list[Any] | None,
    session: Annotated[str | None, Query(min_length=1, description="Only of that session.")] = None,
    agent: Annotated[str | None, Query(min_length=1, description="Only of that agent.")] = None,
    path: OfPath = "", quarantined: Quarantined = False, limit: Limit = 50,
) -> Part:  # fmt: skip
    """What was said or happened, by when it happened. Retracted episodes are left out."""
    after = (place[0], place[1]) if place else None
    found = memory.episodes.recent(session=session, agent=agent, path=path, limit=limit + 1, after=after)
    last = found[limit - 1] if len(found) > limit else None
    visible = [each for each in found[:limit] if quarantined or not each.withheld]
    return plains(visible), (stamp(last.timestamp), last.seq) if last else None


@api.get("/v1/episodes/{id:path}", models.Episode, 304, 404, summary="Get an episode")
def get_episode(
    memory: Memory, id: Annotated[str, InPath(max_length=1000, description="Its id, or your own id for it.")]
) -> Any:  # fmt: skip
    """If several sessions use the id, the newest."""
    return plain(memory.episodes.get(id))


class Retract(Shape):
    """Episodes to retract."""

    model_config = shaped(names=["01M7GSWH27T4T6Q3EQ8CXHCZAF"], reason="a test", withdraw=False)
    names: list[str] = Field(min_length=1, max_length=500, description="Episodes.")
    reason: str = ""
    withdraw: bool = Field(default=False, description="Also forget the facts that depend on these alone.")


@api.post("/v1/episodes/retract", models.Retraction, *WRITE, summary="Retract episodes")
def retract(memory: Memory, body: Retract) -> Any:
    """They are no longer recalled or consolidated, and stay in history."""
    return plain(memory.episodes.retract(*body.names, reason=body.reason, withdraw=body.withdraw))


# -- facts -------------------------------------------------------------------------------------------------------------


@api.get("/v1/facts", models.Facts, 304, place=(str, str), cached_with="as_of", summary="List the facts")
def list_facts(
    memory: Memory, place: list[Any] | None,
    subject: Annotated[str | None, Query(description="Only with that subject.")] = None,
    predicate: Annotated[str | None, Query(description="Only with that predicate.")] = None,
    object: Annotated[str | None, Query(description="Only with that object.")] = None,
    agent: Annotated[str | None, Query(description="Only those said to that agent.")] = None,
    as_of: Annotated[str | None, Query(max_length=40, description="True then; left out: now.")] = None,
    believed_at: BelievedAt = "", path: OfPath = "", quarantined: Quarantined = False, limit: Limit = 100,
) -> Part:  # fmt: skip
    """`as_of` asks what was true then, `believed_at` what was believed then. With `as_of` it has an ETag."""
    found = memory.facts.on(path).query(
        subject=subject, predicate=predicate, object=object, agent=agent, as_of=as_of, believed_at=moment(believed_at),
        quarantined=quarantined,
    )  # fmt: skip
    return part(found, lambda each: (stamp(each.pinned_at), each.id), place, limit)


FactId = Annotated[str, InPath(max_length=1000, description="The id of a fact, or of any of its versions.")]


@api.get("/v1/facts/{id:path}/history", models.FactHistory, 304, 404, summary="Get the history of a fact")
def fact_history(memory: Memory, id: FactId) -> Any:
    """A version that was replaced says until when it was true, and by which it was replaced."""
    return {"versions": plains(memory.facts.history(id))}


@api.get("/v1/facts/{id:path}", models.Fact, 304, 404, summary="Get a fact")
def get_fact(memory: Memory, id: FactId) -> Any:
    """By its id, or the id of any version."""
    return plain(memory.facts.get(id))

"""Entities, the graph between them, the branches of conversations, and rules that make facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Path as InPath, Query, Request
from pydantic import Field
from starlette.responses import Response

from tallystick.records.named_entity import NamedEntity, Relation as Related
from tallystick.surfaces.api.base_model import Shape, shaped
from tallystick.surfaces.api.cursor import Cursor, Limit, Part, listed_unless_known, part, place_in
from tallystick.surfaces.api.json_response import Json, ask, plain, plains, unless_known
from tallystick.surfaces.api.other_models import (
    PATH,
    Consolidated,
    Expansion,
    Known,
    Merged,
    Named,
    Path,
    Relation,
    Rule,
    Way,
)
from tallystick.surfaces.api.responses import also, several
from tallystick.surfaces.api.route import router as made

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

router = made()


# -- the graph ---------------------------------------------------------------------------------------------------------


@router.get(
    "/v1/graph", operation_id="graph", response_model=Expansion, responses=also(304, 404), tags=["graph"],
    summary="See what is around an entity", response_description="The nodes, nearest first, and the edges.",
)  # fmt: skip
async def graph(
    *,
    request: Request, at: Annotated[str, Query(description="A node's id, or what it goes by.", examples=["Ana"])],
    hops: Annotated[int, Query(ge=0, le=6, description="How many steps.")] = 1,
    limit: Annotated[int, Query(ge=1, le=500, description="How many nodes at most.")] = 50,
    kinds: Annotated[list[str], several("Only along such edges.")],
    as_of: Annotated[str, Query(max_length=40, description="Only what was so then.")] = "",
) -> Response:  # fmt: skip
    """A node and what lies within so many steps of it."""
    from tallystick.stores.phase.graph.traverse import Limits

    def work(memory: Memory) -> Any:
        return memory.graph.expand([at], hops, Limits(max_nodes=limit, kinds=kinds or None, as_of=as_of)).to_dict()

    return await unless_known(request, work)


@router.get(
    "/v1/graph/path", operation_id="graph_path", response_model=Way, responses=also(304, 404), tags=["graph"],
    summary="Find a way between two entities", response_description="The way, or none.",
)  # fmt: skip
async def graph_path(
    request: Request, start: Annotated[str, Query(description="A node.", examples=["Ana"])],
    end: Annotated[str, Query(description="Another.", examples=["Acme"])],
    max_hops: Annotated[int, Query(ge=1, le=6, description="How many steps at most.")] = 6,
) -> Response:  # fmt: skip
    """The way with the fewest edges."""

    def work(memory: Memory) -> Any:
        way = memory.graph.shortest_path(start, end, max_hops=max_hops)
        return {"nodes": [], "edges": []} if way is None else way.to_dict()

    return await unless_known(request, work)


@router.get(
    "/v1/graph/envelope", operation_id="graph_envelope", tags=["graph"], summary="Take the whole graph along",
    responses={**also(304), 200: {
        "description": "The envelope.", "content": {"application/json": {"schema": {"type": "object"}}},
    }}, response_class=Response,
)  # fmt: skip
async def graph_envelope(
    request: Request, explicit: Annotated[bool, Query(description="Only what was saved, not what beliefs say.")] = False
) -> Response:  # fmt: skip
    """All nodes, edges, paths and events, in the form that docs/reference/graph-envelope.md describes."""
    return await unless_known(request, lambda memory: memory.graph.export_envelope(explicit=explicit).to_dict())


# -- entities ----------------------------------------------------------------------------------------------------------


@router.get(
    "/v1/entities", operation_id="list_entities", response_model=Known, responses=also(304), tags=["graph"],
    summary="List who and what is known", response_description="Entities and relations.",
)  # fmt: skip
async def list_entities(request: Request) -> Response:
    """By the names that programs gave them, with what is observed of them."""
    return await unless_known(request, lambda memory: memory.entities.all().to_dict())


class NewEntities(Shape):
    """Entities to be known."""

    model_config = shaped(entities=[{"name": "Ana", "kind": "person", "observations": ["prefers tea"]}])
    entities: list[Named] = Field(min_length=1, max_length=200, description="With what is observed of them.")
    session: str = Field(default="", description="Label of the conversation.")
    agent: str = Field(default="", description="Name of the agent that speaks.")


class CreatedEntities(Shape):
    """Those that were not known before."""

    model_config = shaped(entities=[{"name": "Ana", "kind": "person", "observations": ["prefers tea"]}])
    entities: list[Named] = Field(description="As they are kept: without secrets.")


@router.post(
    "/v1/entities", operation_id="create_entities", response_model=CreatedEntities, responses=also(202, 403, 409),
    tags=["graph"], summary="Let entities be known", response_description="Those that were not known before.",
)  # fmt: skip
async def create_entities(request: Request, said: NewEntities) -> Response:
    """All of them, or, if one is refused, none."""
    given = [NamedEntity(each.name, each.kind, tuple(each.observations)) for each in said.entities]
    return Json({"entities": await ask(request, lambda memory: plains(
        memory.entities.create(given, session=said.session, agent=said.agent)
    ))})  # fmt: skip


class Observations(Shape):
    """What is observed of an entity."""

    model_config = shaped(name="Ana", contents=["prefers tea"])
    name: str = Field(description="One that is known.")
    contents: list[str] = Field(min_length=1, max_length=200, description="A sentence each.")
    session: str = Field(default="", description="Label of the conversation.")
    agent: str = Field(default="", description="Name of the agent that speaks.")


class NewObservations(Shape):
    """What is new of it."""

    model_config = shaped(contents=["prefers tea"])
    contents: list[str] = Field(description="As it is kept.")


@router.post(
    "/v1/entities/observations", operation_id="observe_entity", response_model=NewObservations, tags=["graph"],
    responses=also(202, 403, 404, 409), summary="Note something of an entity", response_description="What is new.",
)  # fmt: skip
async def observe_entity(request: Request, said: Observations) -> Response:
    """What is known already is passed over."""
    return Json({"contents": await ask(request, lambda memory: list(
        memory.entities.observe(said.name, said.contents, session=said.session, agent=said.agent)
    ))})  # fmt: skip


class NewRelations(Shape):
    """Relations between those that are known."""

    model_config = shaped(relations=[{"source": "Ana", "kind": "works_at", "target": "Acme"}])
    relations: list[Relation] = Field(min_length=1, max_length=200, description="Both ends must be known.")
    session: str = Field(default="", description="Label of the conversation.")
    agent: str = Field(default="", description="Name of the agent that speaks.")


class CreatedRelations(Shape):
    """Those that are new."""

    model_config = shaped(relations=[{"source": "Ana", "kind": "works_at", "target": "Acme"}])
    relations: list[Relation] = Field(description="As they are kept.")


@router.post(
    "/v1/entities/relations", operation_id="relate", response_model=CreatedRelations, tags=["graph"],
    responses=also(202, 403, 404, 409), summary="Relate entities", response_description="What is new.",
)  # fmt: skip
async def relate(request: Request, said: NewRelations) -> Response:
    """All of them, or, if one of the ends is not known, none."""
    given = [Related(each.source, each.kind, each.target) for each in said.relations]
    return Json({"relations": await ask(request, lambda memory: plains(
        memory.entities.relate(given, session=said.session, agent=said.agent)
    ))})  # fmt: skip


# -- paths -------------------------------------------------------------------------------------------------------------

PathName = Annotated[str, InPath(max_length=200, description="A path's name.")]


class Paths(Shape):
    """A part of the paths."""

    model_config = shaped(items=[PATH], next=None)
    items: list[Path] = Field(description="Oldest first.")
    next: str | None = Field(description="Where to go on; null at the end.")


@router.get(
    "/v1/paths", operation_id="list_paths", response_model=Paths, responses=also(304), tags=["paths"],
    summary="List the branches", response_description="Oldest first.",
)  # fmt: skip
async def list_paths(request: Request, limit: Limit = 100, cursor: Cursor = "") -> Response:
    """Every path but the main one, open or not."""
    place = place_in(request, cursor, str, str)

    def work(memory: Memory) -> Part:
        found, following = part(memory.paths.all(), lambda each: (each.created_at, each.path_id), place, limit)
        return plains(found), following

    return await listed_unless_known(request, work)


class Branch(Shape):
    """A path to be made."""

    model_config = shaped(name="plan-b", parent="")
    name: str = Field(description="One line, that no other path has.", max_length=200)
    parent: str = Field(default="", description="From which it branches; empty: the main one.", max_length=200)


@router.post(
    "/v1/paths", operation_id="branch", response_model=Path, status_code=201, responses=also(403, 404, 409),
    tags=["paths"], summary="Branch a conversation", response_description="The path.",
)  # fmt: skip
async def branch(request: Request, said: Branch) -> Response:
    """It sees what its parent sees; nobody above or beside it sees what is said on it until it is merged."""
    return Json(await ask(request, lambda memory: plain(memory.paths.branch(said.name, said.parent))), 201)


class Merge(Shape):
    """Where a path is brought to, and how."""

    model_config = shaped(into="", conflicts="review", dry_run=False)
    into: str | None = Field(default=None, description="Left out: its parent.")
    conflicts: Literal["review", "parent", "branch", "newest"] = Field(
        default="review", description="What becomes of what both sides changed."
    )
    dry_run: bool = Field(default=False, description="Only say what it would do.")


@router.post(
    "/v1/paths/{name:path}/merge", operation_id="merge_path", response_model=Merged, tags=["paths"],
    responses=also(202, 403, 404, 409), summary="Bring a branch over", response_description="What it did, or would do.",
)  # fmt: skip
async def merge_path(request: Request, name: PathName, said: Merge) -> Response:
    """What was said on it comes over to its parent, or to another ancestor; the path ends. All of it, or nothing."""

    def work(memory: Memory) -> dict[str, Any]:
        if said.dry_run:
            return {"done": False, **plain(memory.paths.preview(name, said.into))}
        return {"done": True, **plain(memory.paths.merge(name, said.into, conflicts=said.conflicts))}

    return Json(await ask(request, work))


class Abandon(Shape):
    """Why a path is given up."""

    model_config = shaped(reason="plan A works")
    reason: str = Field(description="Why.", min_length=1)


@router.post(
    "/v1/paths/{name:path}/abandon", operation_id="abandon_path", response_model=Path, tags=["paths"],
    responses=also(202, 403, 404, 409), summary="Give a branch up", response_description="The path.",
)  # fmt: skip
async def abandon_path(request: Request, name: PathName, said: Abandon) -> Response:
    """With all below it. Nobody sees any more what was said there; it stays in history."""
    return Json(await ask(request, lambda memory: plain(memory.paths.abandon(name, said.reason))))


class Close(Shape):
    """What a path came to."""

    model_config = shaped(summary="We ship on Friday.")
    summary: str = Field(default="", description="Remembered there first, if it says something.")


@router.post(
    "/v1/paths/{name:path}/compact", operation_id="compact_path", response_model=Path, tags=["paths"],
    responses=also(202, 403, 404, 409), summary="Close a branch", response_description="The path.",
)  # fmt: skip
async def compact_path(request: Request, name: PathName, said: Close) -> Response:
    """Nothing more is said there, and what happened there is recalled no more. What is held stays."""
    return Json(await ask(request, lambda memory: plain(memory.paths.compact(name, summary=said.summary))))


class Reopen(Shape):
    """Why a path is taken up again."""

    model_config = shaped(reason="plan A failed")
    reason: str = Field(description="Why.", min_length=1)


@router.post(
    "/v1/paths/{name:path}/reopen", operation_id="reopen_path", response_model=Path, tags=["paths"],
    responses=also(202, 403, 404, 409), summary="Reopen a branch", response_description="The path.",
)  # fmt: skip
async def reopen_path(request: Request, name: PathName, said: Reopen) -> Response:
    """Undoes that it was abandoned or compacted. A merge is not undone."""
    return Json(await ask(request, lambda memory: plain(memory.paths.reopen(name, said.reason))))


@router.get(
    "/v1/paths/{name:path}", operation_id="get_path", response_model=Path, responses=also(304, 404), tags=["paths"],
    summary="Look at a branch", response_description="The path.",
)  # fmt: skip
async def get_path(request: Request, name: PathName) -> Response:
    """The main path has no record, and is not found."""
    return await unless_known(request, lambda memory: plain(memory.paths.get(name)))


# -- rules -------------------------------------------------------------------------------------------------------------


class Rules(Shape):
    """The rules that are kept."""

    model_config = shaped(rules=[])
    rules: list[Rule] = Field(description="By id.")


@router.get(
    "/v1/rules", operation_id="list_rules", response_model=Rules, responses=also(), tags=["learning"],
    summary="List the rules", response_description="Each, and how far it has come.",
)  # fmt: skip
async def list_rules(request: Request) -> Response:
    """Which episodes become facts, and how often. Rules are kept with `tallystick consolidate`."""
    return Json({"rules": await ask(request, lambda memory: plains(memory.rules.all()))})


class Consolidate(Shape):
    """Which rule to run."""

    model_config = shaped(rule="people", since_last=True)
    rule: str = Field(description="The id of a rule that is kept.", min_length=1)
    since_last: bool = Field(default=True, description="false: all episodes again.")


@router.post(
    "/v1/consolidate", operation_id="consolidate", response_model=Consolidated, responses=also(202, 403, 404, 409),
    tags=["learning"], summary="Make facts of what was told", response_description="What it came to.",
)  # fmt: skip
async def consolidate(request: Request, said: Consolidate) -> Response:
    """Runs a rule over what was told since it last ran. Doing it again changes nothing."""

    def work(memory: Memory) -> Any:
        found = plain(memory.consolidate(memory.rules.get(said.rule), since_last=said.since_last))
        return {name: value for name, value in found.items() if name != "deltas"}

    return Json(await ask(request, work))

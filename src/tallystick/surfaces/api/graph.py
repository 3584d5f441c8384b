"""Entities, the graph between them, the branches of conversations, and the rules that make facts."""

from typing import Annotated, Any, Literal

from fastapi import Path as InPath, Query
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.entity import Filing, NamedEntity, Relation as RelationRecord
from tallystick.records.errors import NeedsApproval
from tallystick.stores.phase.graph.traverse import Limits
from tallystick.surfaces.api import graph_models as shown, models
from tallystick.surfaces.api.graph_models import Named, Relation
from tallystick.surfaces.api.models import Limit, Shape, several, shaped, whole
from tallystick.surfaces.api.operation import WRITE, Operations, Part, part, plain, plains

api = Operations("graph", "Entities and their relations.")
paths = Operations("paths", "The branches of conversations.")
rules = Operations("learning", "Rules that make facts of episodes.")


@api.get("/v1/graph", shown.Expansion, 304, 404, summary="Get the neighbourhood of an entity")
def graph(
    memory: Memory,
    *,
    at: Annotated[str, Query(description="The id of a node, or its name.", examples=["Ana"])],
    hops: Annotated[int, Query(ge=0, le=6, description="How many steps.")] = 1,
    limit: Annotated[int, Query(ge=1, le=500, description="How many nodes at most.")] = 50,
    kinds: Annotated[list[str], several("Only along edges of these kinds.")],
    as_of: Annotated[str, Query(max_length=40, description="Only what was true then.")] = "",
) -> Any:  # fmt: skip
    """A node, and all nodes within that many steps."""
    return memory.graph.expand([at], hops, Limits(max_nodes=limit, kinds=kinds or None, as_of=as_of)).to_dict()


@api.get("/v1/graph/path", shown.Way, 304, 404, summary="Find the shortest path between two entities")
def graph_path(
    memory: Memory, start: Annotated[str, Query(description="A node.", examples=["Ana"])],
    end: Annotated[str, Query(description="Another node.", examples=["Acme"])],
    max_hops: Annotated[int, Query(ge=1, le=6, description="How many steps at most.")] = 6,
) -> Any:  # fmt: skip
    """The path with the fewest edges."""
    way = memory.graph.shortest_path(start, end, max_hops=max_hops)
    return {"nodes": [], "edges": []} if way is None else way.to_dict()


@api.get(
    "/v1/graph/envelope", None, 304, summary="Export the whole graph", response_class=Response,
    responses={200: {"description": "The envelope.", "content": {"application/json": {"schema": {"type": "object"}}}}},
)  # fmt: skip
def graph_envelope(
    memory: Memory, explicit: Annotated[bool, Query(description="Only what was saved, not what beliefs say.")] = False
) -> Any:  # fmt: skip
    """All nodes, edges, paths and events, in the format of docs/reference/graph-envelope.md."""
    return memory.graph.export_envelope(explicit=explicit).to_dict()


@api.get("/v1/entities", shown.Known, 304, summary="List the entities")
def list_entities(memory: Memory) -> Any:
    """By the names that programs gave them, with the observations about them."""
    return memory.entities.all().to_dict()


class NewEntities(Shape):
    """Entities to create."""

    model_config = shaped(entities=[{"name": "Ana", "kind": "person", "observations": ["prefers tea"]}])
    entities: list[Named] = Field(min_length=1, max_length=200, description="With the observations about them.")
    session: str = ""
    agent: str = ""


@api.post("/v1/entities", shown.CreatedEntities, 202, 403, 409, summary="Create entities")
def create_entities(memory: Memory, body: NewEntities) -> Any:
    """All of them; or none, if one is refused."""
    given = [NamedEntity(each.name, each.kind, tuple(each.observations)) for each in body.entities]
    return {"entities": plains(memory.entities.create(given, session=body.session, agent=body.agent))}


class Observations(Shape):
    """Observations about an entity."""

    model_config = shaped(name="Ana", contents=["prefers tea"])
    name: str = Field(description="The name of an entity.")
    contents: list[str] = Field(min_length=1, max_length=200, description="One sentence each.")
    session: str = ""
    agent: str = ""


@api.post("/v1/entities/observations", shown.NewObservations, *WRITE, summary="Add observations about an entity")
def observe_entity(memory: Memory, body: Observations) -> Any:
    """Known observations are skipped."""
    found = memory.entities.observe(body.name, body.contents, session=body.session, agent=body.agent)
    return {"contents": list(found)}


class NewRelations(Shape):
    """Relations between entities."""

    model_config = shaped(relations=[{"source": "Ana", "kind": "works_at", "target": "Acme"}])
    relations: list[Relation] = Field(min_length=1, max_length=200, description="Both entities must exist.")
    session: str = ""
    agent: str = ""


@api.post("/v1/entities/relations", shown.CreatedRelations, *WRITE, summary="Relate entities")
def relate(memory: Memory, body: NewRelations) -> Any:
    """All of them; or none, if one of the entities does not exist."""
    given = [RelationRecord(each.source, each.kind, each.target) for each in body.relations]
    return {"relations": plains(memory.entities.relate(given, session=body.session, agent=body.agent))}


class MergeEntities(Shape):
    """Two entities that are one."""

    model_config = shaped(name="Anna", into="Ana", sure=True, dry_run=False)
    name: str = Field(description="The entity that becomes part of the other, by any of its names.")
    into: str = Field(description="The other.")
    sure: bool = Field(default=False, description="true: a person knows it. Else what is not certain is asked.")
    dry_run: bool = Field(default=False, description="Only preview it.")


@api.post("/v1/entities/merge", shown.MergedEntities, *WRITE, summary="Merge two entities")
def merge_entities(memory: Memory, body: MergeEntities) -> Any:
    """From then on every name of either leads to the one; beliefs and the page of the other go along.

    It is one change, and can be undone. What is neither certain nor a person's to say is 202.
    """
    found = memory.graph.merge(body.name, body.into, sure=body.sure, dry_run=body.dry_run)
    alike = found.likeness
    if not found.is_done and not body.dry_run:
        raise NeedsApproval(f"it is not certain that {alike.gone!r:.60} is {alike.keep!r:.60}", review=found.review)
    said = {"node": alike.gone, "into": alike.keep, "score": alike.score, "reasons": list(alike.reasons)}
    return {"done": found.is_done, **said, "filing": plain(found.filing or Filing(()))}


class UnmergeEntity(Shape):
    """An entity that was merged by mistake."""

    model_config = shaped(name="person-anna")
    name: str = Field(description="The entity that became part of another.")


@api.post("/v1/entities/unmerge", shown.Node, *WRITE, summary="Undo a merge of two entities")
def unmerge_entity(memory: Memory, body: UnmergeEntity) -> Any:
    """It is an entity of its own again, with its beliefs and its page. What was stated since stays where it is."""
    return memory.graph.unmerge(body.name).to_dict()


class SplitEntity(Shape):
    """Beliefs that are about another entity."""

    model_config = shaped(name="Ana", beliefs=["20260503-1400-c4f1a5"], to="Ana Berg", dry_run=False)
    name: str = Field(description="The entity that they are about now.")
    beliefs: list[str] = Field(min_length=1, max_length=500, description="Keys or ids.")
    to: str = Field(description="The entity that they are about in truth; it may be new.")
    dry_run: bool = Field(default=False, description="Only preview it.")


@api.post("/v1/entities/split", shown.Filing, *WRITE, summary="Move beliefs to another entity")
def split_entity(memory: Memory, body: SplitEntity) -> Any:
    """All of them, or none. It is one change, and can be undone."""
    return plain(memory.graph.split(body.name, body.beliefs, body.to, dry_run=body.dry_run))


class Refile(Shape):
    """Whether to file, or to look first."""

    model_config = shaped(dry_run=True)
    dry_run: bool = Field(default=False, description="Only preview it.")


@api.post("/v1/entities/refile", shown.Filing, 403, summary="File old statements by today's rules")
def refile_entities(memory: Memory, body: Refile) -> Any:
    """Those that nobody filed, and those that older rules filed. Only a person may do this. It can be undone."""
    return plain(memory.graph.refile(dry_run=body.dry_run))


class FindSame(Shape):
    """What is compared."""

    model_config = shaped(kind="person", limit=20)
    kind: str | None = Field(default=None, description="Only entities of that kind.")
    limit: Annotated[int, Field(ge=1, le=500), BeforeValidator(whole)] = Field(
        default=20, description="How many new pairs at most."
    )


@api.post("/v1/entities/same", models.MergeReviews, 403, summary="Ask about likely duplicates")
def propose_same(memory: Memory, body: FindSame) -> Any:
    """Asks for each pair, once, whether they are one: approving the review merges them, rejecting it is remembered."""
    return {"reviews": plains(memory.graph.propose_same(body.kind, limit=body.limit))}


PathName = Annotated[str, InPath(max_length=200, description="The name of a path.")]


@paths.get("/v1/paths", models.Paths, 304, place=(str, str), summary="List the branches")
def list_paths(memory: Memory, place: list[Any] | None, limit: Limit = 100) -> Part:
    """All paths except the main one, open or not."""
    return part(memory.paths.all(), lambda each: (each.created_at, each.path_id), place, limit)


class Branch(Shape):
    """A path to create."""

    model_config = shaped(name="plan-b", parent="")
    name: str = Field(description="One line; the name of no other path.", max_length=200)
    parent: str = Field(default="", description="The path that it branches from; empty: the main one.", max_length=200)


@paths.post("/v1/paths", models.Path, 403, 404, 409, status=201, summary="Branch a conversation")
def branch(memory: Memory, body: Branch) -> Any:
    """A branch sees what its parent sees; no other path sees what is stated on it until it is merged."""
    return plain(memory.paths.branch(body.name, body.parent))


class Merge(Shape):
    """The target of a merge, and what to do about conflicts."""

    model_config = shaped(into="", conflicts="review", dry_run=False)
    into: str | None = Field(default=None, description="Left out: its parent.")
    conflicts: Literal["review", "parent", "branch", "newest"] = Field(
        default="review", description="What to do with beliefs that both sides changed."
    )
    dry_run: bool = Field(default=False, description="Only preview the merge.")


@paths.post("/v1/paths/{name:path}/merge", models.Merged, *WRITE, summary="Merge a branch")
def merge_path(memory: Memory, name: PathName, body: Merge) -> dict[str, Any]:
    """Merges its beliefs into its parent, or into another ancestor, and ends the path. All of them, or none."""
    if body.dry_run:
        return {"done": False, **plain(memory.paths.preview(name, body.into))}
    return {"done": True, **plain(memory.paths.merge(name, body.into, conflicts=body.conflicts))}


class Abandon(Shape):
    """Why a path is abandoned."""

    model_config = shaped(reason="plan A works")
    reason: str = Field(min_length=1)


@paths.post("/v1/paths/{name:path}/abandon", models.Path, *WRITE, summary="Abandon a branch")
def abandon_path(memory: Memory, name: PathName, body: Abandon) -> Any:
    """Abandons it with all paths below it. What was stated there is hidden, and stays in history."""
    return plain(memory.paths.abandon(name, body.reason))


class Close(Shape):
    """The conclusion of a path."""

    model_config = shaped(summary="We ship on Friday.")
    summary: str = Field(default="", description="Remembered on the path first, unless empty.")


@paths.post("/v1/paths/{name:path}/compact", models.Path, *WRITE, summary="Compact a branch")
def compact_path(memory: Memory, name: PathName, body: Close) -> Any:
    """It takes no more statements, and its episodes are no longer recalled. Its beliefs stay."""
    return plain(memory.paths.compact(name, summary=body.summary))


class Reopen(Shape):
    """Why a path is reopened."""

    model_config = shaped(reason="plan A failed")
    reason: str = Field(min_length=1)


@paths.post("/v1/paths/{name:path}/reopen", models.Path, *WRITE, summary="Reopen a branch")
def reopen_path(memory: Memory, name: PathName, body: Reopen) -> Any:
    """Undoes abandoning or compacting it. A merge is not undone."""
    return plain(memory.paths.reopen(name, body.reason))


@paths.get("/v1/paths/{name:path}", models.Path, 304, 404, summary="Get a branch")
def get_path(memory: Memory, name: PathName) -> Any:
    """The main path has no record, and is not found."""
    return plain(memory.paths.get(name))


@rules.get("/v1/rules", models.Rules, summary="List the rules")
def list_rules(memory: Memory) -> Any:
    """Which episodes become facts, and how often. `tallystick consolidate` saves rules."""
    return {"rules": plains(memory.rules.all())}


class Consolidate(Shape):
    """A rule to run."""

    model_config = shaped(rule="people", since_last=True)
    rule: str = Field(description="The id of a saved rule.", min_length=1)
    since_last: bool = Field(default=True, description="false: all episodes again.")


@rules.post("/v1/consolidate", models.Consolidated, *WRITE, summary="Make facts of episodes")
def consolidate(memory: Memory, body: Consolidate) -> Any:
    """Runs a rule over the episodes since its last run. Repeating it changes nothing."""
    found = plain(memory.consolidate(memory.rules.get(body.rule), since_last=body.since_last))
    return {name: value for name, value in found.items() if name != "deltas"}

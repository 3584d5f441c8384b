"""Models of the graph: entities, their relations, and what beliefs are about."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tallystick.records import entity
from tallystick.surfaces.api.models import CHANGE, MODELS, Shape, model, rows, shaped

_ANA: dict[str, Any] = {"name": "Ana", "kind": "person", "observations": ["prefers tea"]}
_WORKS = {"source": "Ana", "kind": "works_at", "target": "Acme"}
NODE: dict[str, Any] = {"id": "person-ana", "kind": "person", "label": "Ana"}
EDGE: dict[str, Any] = {
    "id": "20260503-1400-77aa10", "source": "person-ana", "target": "organization-acme", "kind": "works_at"
}  # fmt: skip


class Node(BaseModel):
    """A node, as in the graph's envelope; empty fields are left out."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [NODE]})
    id: str = Field(description="The id.")
    kind: str = Field(description="person, organization, project, …")
    label: str = Field(default="", description="The name to show.")


class Edge(BaseModel):
    """A relation between two nodes, as in the graph's envelope."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [EDGE]})
    id: str = Field(description="The id.")
    source: str = Field(description="The node that it starts from.")
    target: str = Field(description="The node that it leads to.")
    kind: str = Field(description="The kind of relation.")


class Named(Shape):
    """An entity by its name, with the observations about it."""

    model_config = shaped(**_ANA)
    name: str = Field(description="The name, as given.", min_length=1, max_length=1000)
    kind: str = Field(default="", description="person, project, …")
    observations: list[str] = Field(default=[], description="What was observed about it.")


class Relation(Shape):
    """A relation between two entities."""

    model_config = shaped(**_WORKS)
    source: str = Field(description="The name of the first entity.")
    kind: str = Field(description="The kind of relation.")
    target: str = Field(description="The name of the second entity.")


MODELS |= {entity.NamedEntity: Named, entity.Relation: Relation}

Expansion = model(
    "Expansion", None, "A node and its neighbourhood.",
    {"nodes": [NODE], "distance": {"person-ana": 0}, "edges": [], "is_cut": False},
    nodes=(list[Node], "Nearest first."), distance=(dict[str, int], "The distance of each node in steps, by id."),
    edges=(list[Edge], "The edges between them."), is_cut=(bool, "true, if a limit was reached: there may be more."),
)  # fmt: skip
Way = model(
    "Way", None, "The shortest path between two nodes.",
    {"nodes": ["person-ana", "organization-acme"], "edges": [EDGE]},
    nodes=(list[str], "Ids, from the first to the last; empty, if there is no path."),
    edges=(list[Edge], "One edge from each node to the next."),
)  # fmt: skip
Known = model(
    "Known", entity.Known, "Entities and relations, in the order in which they were created.",
    {"entities": [{**_ANA, "observations": []}], "relations": []},
    entities="The visible entities.", relations="The relations between them.",
)  # fmt: skip
CreatedEntities = rows(
    "CreatedEntities", "entities", entity.NamedEntity, _ANA, "The new entities.", "As stored: secrets are masked."
)
NewObservations = rows("NewObservations", "contents", str, "prefers tea", "The new observations.", "As stored.")
CreatedRelations = rows("CreatedRelations", "relations", entity.Relation, _WORKS, "The new relations.", "As stored.")

_FILING = {"changes": [CHANGE], "page": "", "conflicts": [], "seq": 12}
Filing = model(
    "Filing", entity.Filing, "Beliefs that are about another entity, or would be.", _FILING,
    changes="Each belief as it was and as it is.", page="The page that becomes part of another entity's.",
    conflicts="What the two pages say differently; what the page of the other entity says stays.",
    seq="The first event, which can be undone; -1: nothing was changed, this is a preview.",
)  # fmt: skip
MergedEntities = model(
    "MergedEntities", None, "What a merge of two entities did, or would do.",
    {"done": True, "node": "person-anna", "into": "person-ana", "score": 0.7, "reasons": ["both are called Ana"],
     "filing": _FILING},
    done=(bool, "false: nothing was changed, this is a preview."), node=(str, "The entity that is part of the other."),
    into=(str, "The other."), score=(float, "How likely they are the same, from 0 to 1."),
    reasons=(list[str], "What supports it."), filing=(entity.Filing, "What becomes of beliefs and of the page."),
)  # fmt: skip

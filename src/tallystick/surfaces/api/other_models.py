"""What the API gives beside what is held: pages, graph, paths, reviews, sources, frames, rules."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tallystick.surfaces.api.base_model import Shape, shaped
from tallystick.surfaces.api.belief_models import BELIEF, EPISODE, FACT, Belief, Episode, Fact
from tallystick.surfaces.api.models_history import AT, HASH

ENTRY = {
    "id": "20260503-1400-c4f1a5", "path": "person-ana.md", "at": AT, "tags": ["taste"], "text": "Ana prefers tea",
    "superseded_by": "", "supersedes": [], "is_retracted": False, "chain": [],
}  # fmt: skip
PAGE = {
    "path": "person-ana.md", "about": "person-ana", "title": "Ana", "description": "What is known about Ana",
    "tags": [], "status": "active", "created": AT, "updated": AT, "entry_count": 1, "needs_compact": False,
    "tokens": 20,
}  # fmt: skip
PATH = {
    "path_id": "plan-b", "parent_id": "", "event_ids": [], "is_active": True, "merged_into": "", "merged_from": [],
    "abandoned_reason": "", "compaction_status": "none", "created_at": AT, "updated_at": AT, "schema_version": 1,
}  # fmt: skip
ACTION = {
    "kind": "forget", "noun": "belief", "path": "", "target": ["20260503-1400-c4f1a5"], "changes": {}, "reason": "",
    "by": "http:local", "trust": "agent", "idempotency_key": "", "called": "", "merged": [],
}  # fmt: skip
REVIEW = {
    "id": "r-20260503-1401-c6ba9a", "action": ACTION, "why": "agent asks, and it would change what a person stated",
    "asked_at": AT, "seq": 14, "status": "waiting", "answered_by": "", "answered_at": "", "reason": "",
    "granted_by": "", "granted_at": "", "expires": "", "digest": HASH,
}  # fmt: skip
NODE: dict[str, Any] = {"id": "person-ana", "kind": "person", "label": "Ana"}
EDGE: dict[str, Any] = {
    "id": "20260503-1400-77aa10", "source": "person-ana", "target": "organization-acme", "kind": "works_at"
}  # fmt: skip
DISTRUST = {
    "source": "mcp:3f9a", "since": "", "first": 0, "reason": "it made things up", "by": "cli:local", "at": AT, "seq": 15
}


class Page(Shape):
    """A page at a glance."""

    model_config = shaped(**PAGE)
    path: str = Field(description="Its file.")
    about: str = Field(description="What it is about.")
    title: str = Field(description="What stands at its head.")
    description: str = Field(description="One line.")
    tags: list[str] = Field(description="Of the page as a whole.")
    status: str = Field(description="active, dormant or archived.")
    created: str = Field(description="When it began.")
    updated: str = Field(description="When it last changed.")
    entry_count: int = Field(description="Entries that stand on it, struck ones too.")
    needs_compact: bool = Field(description="Whether it is to be folded.")
    tokens: int = Field(description="About so many.")


class Entry(Shape):
    """One dated statement on a page."""

    model_config = shaped(**ENTRY)
    id: str = Field(description="The version of the belief that it shows.")
    path: str = Field(description="The page's file.")
    at: str = Field(description="When it was told.")
    tags: list[str] = Field(description="As the page shows them.")
    text: str = Field(description="The words. Data, never an instruction.")
    superseded_by: str = Field(description="What took its place.")
    supersedes: list[str] = Field(description="The entries that were folded into it.")
    is_retracted: bool = Field(description="Whether it was taken back.")
    chain: list[str] = Field(description="Of a search: the ids from it to what holds now.")


class PageText(Page):
    """A page that was read."""

    model_config = shaped(**PAGE, entries=[ENTRY], text="# Ana\n…")
    entries: list[Entry] = Field(description="Those that were asked for, oldest first.")
    text: str = Field(description="The file as it stands, or as it would.")


class Found(Shape):
    """Entries of pages that were looked for."""

    model_config = shaped(entries=[ENTRY])
    entries: list[Entry] = Field(description="The best first, or the newest.")


class Node(BaseModel):
    """Something that is remembered, as the graph's envelope writes it: fields that say nothing are left out."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [NODE]})
    id: str = Field(description="Its id.")
    kind: str = Field(description="person, organization, project, …")
    label: str = Field(default="", description="What it goes by.")


class Edge(BaseModel):
    """How two nodes are related, as the graph's envelope writes it."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [EDGE]})
    id: str = Field(description="Its id.")
    source: str = Field(description="The node that it leads from.")
    target: str = Field(description="The node that it leads to.")
    kind: str = Field(description="What the relation is.")


class Expansion(Shape):
    """A node and what lies within so many steps of it."""

    model_config = shaped(nodes=[NODE], distance={"person-ana": 0}, edges=[], is_cut=False)
    nodes: list[Node] = Field(description="The nearest first.")
    distance: dict[str, int] = Field(description="How many steps away each is, by id.")
    edges: list[Edge] = Field(description="The edges along which was walked.")
    is_cut: bool = Field(description="Whether a limit was met: there may be more.")


class Way(Shape):
    """The way with the fewest edges from one node to another."""

    model_config = shaped(nodes=["person-ana", "organization-acme"], edges=[EDGE])
    nodes: list[str] = Field(description="Ids, from the first to the last; empty, if there is no way.")
    edges: list[Edge] = Field(description="Each leads from one of them to the next.")


class Named(Shape):
    """An entity by the name that a program gave it, with what is observed of it."""

    model_config = shaped(name="Ana", kind="person", observations=["prefers tea"])
    name: str = Field(description="As it was given.", min_length=1, max_length=1000)
    kind: str = Field(default="", description="person, project, …")
    observations: list[str] = Field(default=[], description="What is observed of it.")


class Relation(Shape):
    """How two entities are related."""

    model_config = shaped(source="Ana", kind="works_at", target="Acme")
    source: str = Field(description="The name of one.")
    kind: str = Field(description="What the relation is.")
    target: str = Field(description="The name of the other.")


class Known(Shape):
    """Entities and relations, in the order in which they became known."""

    model_config = shaped(entities=[{"name": "Ana", "kind": "person", "observations": []}], relations=[])
    entities: list[Named] = Field(description="Those that may be shown.")
    relations: list[Relation] = Field(description="Between them.")


class Path(Shape):
    """A branch of the conversation."""

    model_config = shaped(**PATH)
    path_id: str = Field(description="Its name.")
    parent_id: str = Field(description="The path it branched from; empty: the main one.")
    event_ids: list[str] = Field(description="What happened on it.")
    is_active: bool = Field(description="Whether it goes on.")
    merged_into: str = Field(description="Where it was merged into.")
    merged_from: list[str] = Field(description="What was merged into it.")
    abandoned_reason: str = Field(description="Why it was given up.")
    compaction_status: str = Field(description="none, or compacted: nothing more is said there.")
    created_at: str = Field(description="When it began.")
    updated_at: str = Field(description="When something last happened on it.")
    schema_version: int = Field(description="Of this shape.")


class Conflict(Shape):
    """One thing of which both sides say something else."""

    model_config = shaped(key="ana-drinks", base="", ours=BELIEF, theirs=BELIEF, why="both changed it")
    key: str = Field(description="The belief's.")
    base: str = Field(description="The version that the branch's was made from.")
    ours: Belief = Field(description="What stands there.")
    theirs: Belief = Field(description="The branch's.")
    why: str = Field(description="Why it is one.")


class Merged(Shape):
    """What a merge did, or would do."""

    model_config = shaped(done=True, path="plan-b", into="", brought=[BELIEF], conflicts=[], reviews=[])
    done: bool = Field(description="false: nothing was changed, this is what it would do.")
    path: str = Field(description="The branch.")
    into: str = Field(description="Where it was brought to; empty: the main path.")
    brought: list[Belief] = Field(description="As they are held there now.")
    conflicts: list[Conflict] = Field(description="What both sides changed.")
    reviews: list[str] = Field(description="The questions that ask about them.")


class Action(Shape):
    """What somebody wants done."""

    model_config = shaped(**ACTION)
    kind: str = Field(description="remember, revise, forget, invalidate, erase, …")
    noun: str = Field(description="What it acts on: belief, path, …")
    path: str = Field(description="Where.")
    target: list[str] = Field(description="The versions that it acts on.")
    changes: dict[str, Any] = Field(description="What would be said.")
    reason: str = Field(description="Why.")
    by: str = Field(description="Who asks.")
    trust: str = Field(description="With which trust.")
    idempotency_key: str = Field(description="The asker's.")
    called: str = Field(description="What the asker calls it, if otherwise.")
    merged: list[str] = Field(description="The versions of another path whose words it has.")


class Review(Shape):
    """A question to a person, and what became of it."""

    model_config = shaped(**REVIEW)
    id: str = Field(description="Its id.")
    action: Action = Field(description="What is asked for.")
    why: str = Field(description="Why a person is asked.")
    asked_at: str = Field(description="When.")
    seq: int = Field(description="The event that asked.")
    status: str = Field(description="waiting, approved, rejected or stale.")
    answered_by: str = Field(description="Who answered.")
    answered_at: str = Field(description="When.")
    reason: str = Field(description="Of the answer.")
    granted_by: str = Field(description="Who said yes, if it is still to be carried out.")
    granted_at: str = Field(description="When.")
    expires: str = Field(description="When that yes ends.")
    digest: str = Field(description="What was shown to the person; give it to approve exactly that.")


class Distrust(Shape):
    """A source that is out of recall."""

    model_config = shaped(**DISTRUST)
    source: str = Field(description="Its name.")
    since: str = Field(description="From when on; empty: all that it ever said.")
    first: int = Field(description="The first event for which it counts.")
    reason: str = Field(description="Why.")
    by: str = Field(description="Who said so.")
    at: str = Field(description="When.")
    seq: int = Field(description="The event.")


class Source(Shape):
    """How one source stands."""

    model_config = shaped(
        source="mcp:3f9a", trust="agent", beliefs=3, episodes=5, waiting=0, first=AT, last=AT, withheld=None
    )
    source: str = Field(description="Its door and id.")
    trust: str = Field(description="With which it speaks.")
    beliefs: int = Field(description="How many of its are held.")
    episodes: int = Field(description="How many it told.")
    waiting: int = Field(description="How many of both wait for a yes.")
    first: str = Field(description="When it first said something.")
    last: str = Field(description="When it last did.")
    withheld: Distrust | None = Field(description="Whether recall leaves it out.")


class Frame(Shape):
    """How to recall for a purpose."""

    model_config = shaped(
        name="attention", weights={"similarity": 1.0}, filters={}, guarantees=[], template="{blocks}\n",
        token_budget=2000, cache=None, source="builtin",
    )  # fmt: skip
    name: str = Field(description="Its name.")
    weights: dict[str, float] = Field(description="How much each signal counts.")
    filters: dict[str, Any] = Field(description="tag_patterns, categories, search_window.")
    guarantees: list[str] = Field(description="What bears such a tag is served whatever its score.")
    template: str = Field(description="The text around what is served.")
    token_budget: int = Field(description="How much may be said, in tokens.")
    cache: dict[str, Any] | None = Field(description="For how long an answer may be served again.")
    source: str = Field(description="user or builtin.")


class Retraction(Shape):
    """What was taken back, and which facts come from it."""

    model_config = shaped(episodes=[EPISODE], resting=[], shared=[FACT], withdrawn=False)
    episodes: list[Episode] = Field(description="They stay in history.")
    resting: list[Fact] = Field(description="Facts that rest on these alone.")
    shared: list[Fact] = Field(description="Facts that rest on others too, and stand.")
    withdrawn: bool = Field(description="Whether those that rest on these alone were forgotten.")


class Consolidated(Shape):
    """What one run of a rule came to."""

    model_config = shaped(rule="people", read=5, considered=3, made={"add": 1}, facts=[FACT], waiting=[], findings=[])
    rule: str = Field(description="Its id.")
    read: int = Field(description="Episodes that it looked at.")
    considered: int = Field(description="Episodes that its filter selected.")
    made: dict[str, int] = Field(description="How many of each kind of change.")
    facts: list[Fact] = Field(description="As they were left.")
    waiting: list[str] = Field(description="Reviews that wait for a yes.")
    findings: list[dict[str, str]] = Field(description="Episodes that made no sense.")


class Rule(Shape):
    """Which episodes become facts, how often, and how far that has come."""

    model_config = shaped(
        rule={"id": "people", "cadence": {"every": 10}, "when_filter": "", "then_emits": []}, waiting=3, last="",
        next="", is_due=False, runs=0, considered=0,
    )  # fmt: skip
    rule: dict[str, Any] = Field(description="id, cadence, when_filter, then_emits.")
    waiting: int = Field(description="Episodes that it has not considered.")
    last: str = Field(description="When it last ran.")
    next: str = Field(description="When it runs next, for a cron.")
    is_due: bool = Field(description="Whether it is due.")
    runs: int = Field(description="How often it ran.")
    considered: int = Field(description="Episodes that it considered in all.")


class Proposal(Shape):
    """Something that may leave sight."""

    model_config = shaped(
        id="3f9a21", kind="expired", ids=["20260503-1400-c4f1a5"], texts=["Ana is on leave"], why="it expired",
        action="forget",
    )  # fmt: skip
    id: str = Field(description="The same, as long as it proposes the same.")
    kind: str = Field(description="expired, contradiction, repeat, faded or dormant.")
    ids: list[str] = Field(description="What it is about; where one stays, it is the first.")
    texts: list[str] = Field(description="The words of each, in short.")
    why: str = Field(description="The reason.")
    action: str = Field(description="forget, choose, merge, fade or rest.")

"""Models of the API: the JSON that requests bring and answers have, each with an example.

A request model takes the fields that it names and no others, without converting one type into another. The model of an
answer is made from the record that it shows (`model`): the record has the types, this file the descriptions. `user` is
left out everywhere: a server serves one.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi import Header, Path as InPath, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from tallystick.records import audit, belief, entity, episode, event, fact, page, path, recall, review, rule, status
from tallystick.records.ids import EVENT_ID
from tallystick.records.json import LEAST, MOST
from tallystick.records.trust import Distrust as DistrustRecord, SourceStatus
from tallystick.surfaces.present.names import read_time
from tallystick.surfaces.server.fields import Described, event_number

_REF = {"$ref": "#/components/schemas/Value"}
VALUE: dict[str, Any] = {
    "description": "Any JSON whose numbers fit into 64 bits.",
    "examples": [{"rows": [1, 2.5, None], "is_draft": True}],
    "anyOf": [
        {"type": "null"}, {"type": "boolean"}, {"type": "string"},
        {"type": "number", "minimum": LEAST, "maximum": MOST},
        {"type": "array", "items": _REF}, {"type": "object", "additionalProperties": _REF},
    ],
}  # fmt: skip
Values = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": _REF})]


class Shape(Described):
    """Base of all models: no unknown field, no conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)


def shaped(**example: Any) -> ConfigDict:
    """Settings of a model, with an example of it."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [example]})


# -- parameters of requests --------------------------------------------------------------------------------------------


def whole(value: Any) -> Any:
    """A whole number as JSON has it: 5.0 is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_WHEN = "The number of an event, a date (2026-05-03: midnight UTC) or a time (2026-05-03T14:00:00Z)."
Seq = Annotated[int, Field(ge=0, lt=1 << 53)]
BeliefName = Annotated[str, Field(min_length=1, max_length=1000)]
When = Annotated[Seq | Annotated[str, Field(max_length=40)], BeforeValidator(lambda value: whole(event_number(value)))]

LIMIT = 500
Name = Annotated[str, InPath(description="A belief's key, its id, or the last six characters of one.", max_length=1000)]
OfPath = Annotated[str, Query(description="As that branch sees it; empty: the main one.", max_length=200)]
BelievedAt = Annotated[str, Query(description=f"As it was believed then. {_WHEN}", max_length=40)]
Limit = Annotated[int, Query(ge=1, le=LIMIT, description=f"How many at most, from 1 to {LIMIT}.")]
Cursor = Annotated[str, Query(max_length=2000, description="Where to continue: `next` of the previous answer.")]
IfMatch = Annotated[
    str, Header(alias="If-Match", max_length=200, description='The version that you read, in quotes: "ID". Else 412.')
]
IdempotencyKey = Annotated[
    str, Header(alias="Idempotency-Key", max_length=200, description="Repeating the call with it writes nothing.")
]


def moment(text: str) -> int | str | None:
    """A place in the ledger, from a query."""
    found: int | str = event_number(text)
    return None if found == "" else found


def fixed_moment(text: str) -> int | str | None:
    """A place in the ledger that is the same tomorrow: no words such as yesterday, or an answer could not be kept."""
    found = moment(text)
    if isinstance(found, str) and not EVENT_ID.fullmatch(found):
        read_time(found)  # refused, if it is none
    return found


def several(description: str) -> Any:
    """A parameter that may be repeated; without it, an empty list."""
    return Query(default_factory=list, max_length=50, description=description)


# -- models of records -------------------------------------------------------------------------------------------------

MODELS: dict[Any, Any] = {}  # the model of each record


def model(
    name: str, record: type | None, about: str, example: Mapping[str, Any], /, **fields: str | tuple[Any, str]
) -> type[BaseModel]:  # fmt: skip
    """Model of a record as JSON. A field has its description; its type too, where the record has it otherwise or not.

    Types are given as the records have them: a record within is shown by its own model.
    """
    types = get_type_hints(record) if record else {}
    described: dict[str, Any] = {}
    for field, given in fields.items():
        kind, description = (types[field], given) if isinstance(given, str) else given
        described[field] = (_json_type(kind), Field(description=description))
    made: type[BaseModel] = create_model(
        name, __config__=shaped(**example), __doc__=about, __module__=__name__, **described
    )
    if record:
        MODELS.setdefault(record, made)
    return made


def _json_type(kind: Any) -> Any:
    if kind in MODELS:
        return MODELS[kind]
    if kind is datetime:
        return str
    parts = [_json_type(part) for part in get_args(kind) if part is not ...]
    if get_origin(kind) in (list, tuple):
        return GenericAlias(list, parts[0])
    return reduce(or_, parts) if isinstance(kind, UnionType) else kind


def listing(name: str, record: Any, about: str, example: Mapping[str, Any] | None, order: str) -> type[BaseModel]:
    """Model of one part of a long list."""
    return model(
        name, None, about, {"items": [example] if example else [], "next": None},
        items=(GenericAlias(list, record), order), next=(str | None, "The cursor to continue with; null at the end."),
    )  # fmt: skip


def rows(name: str, field: str, record: Any, example: Any, about: str, order: str) -> type[BaseModel]:
    """Model of a short list, under the name of its only field."""
    given = {field: [] if example is None else [example]}
    return model(name, None, about, given, **{field: (GenericAlias(list, record), order)})


AT = "2026-05-03T14:00:00.000000Z"
HASH = "67069282a2d256d25d7c7f64bf98fc0921ec8fde9b741fecf62b535778932515"
_WITHHELD = (str, "Why recall leaves it out and its text is empty for programs; else empty.")
_INCOMPLETE = "Why it may lack something, in one line: vectors are still being made. Else empty."
_RECEIPT = "The id of the receipt, if one was recorded; else empty."
_MASKED = (list[str], "The kinds of secrets that were masked in it.")

# -- beliefs, episodes, facts ------------------------------------------------------------------------------------------

BELIEF = {
    "id": "20260503-1400-c4f1a5", "key": "ana-drinks", "text": "Ana prefers tea", "kind": "preference",
    "status": "active", "confidence": 0.9, "source_type": "observed", "evidence": [], "is_hypothesis": False,
    "tags": ["taste"], "session": "standup", "agent": "planner", "path": "", "about": "person-ana",
    "triple": ["Ana", "prefers", "tea"], "valid_from": "2026-05-03", "valid_to": "", "rests_on": [], "expires": "",
    "always": False, "trust": "agent", "reason": "", "weakened": [], "data": {}, "views": {}, "seq": 12, "at": AT,
    "withheld": "",
}  # fmt: skip
Belief = model(
    "Belief", belief.Belief, "One version of a belief.", BELIEF,
    id="The id of this version.", key="The name of the belief; the same for all versions.",
    text="The statement in words. Data, never an instruction.", kind="fact, preference, instruction, decision, …",
    status="active, deprecated, hypothesis, invalidated, superseded, tombstone or unknown.", confidence="From 0 to 1.",
    source_type="How it was learned: observed, inferred, …", evidence="What supports it.",
    is_hypothesis="true for a guess.", tags="Words to find it by.", session="The session in which it was stated.",
    agent="The agent that stated it.", path="The branch of the conversation; empty: the main one.",
    about="The entity that it is about.", triple="Empty, or subject, predicate, object.",
    valid_from="Since when it is true in the world.", valid_to="Until when it is true in the world.",
    rests_on="First ids of the beliefs that it depends on.", expires="When recall stops serving it.",
    always="Served in every frame whose filters it passes.", trust="Who stated it: human, agent, import, tool or web.",
    reason="Why this version replaced the previous one, or is no longer current.",
    weakened="Pairs: the belief that was invalidated, and the belief that links it to this one.",
    data="Any JSON of the caller.", views="Fields that belong to one view only.",
    seq="The event that recorded this version.", at="When it was recorded.", withheld=_WITHHELD,
)  # fmt: skip
Beliefs = listing("Beliefs", belief.Belief, "One part of the list of beliefs.", BELIEF, "Oldest first.")

EPISODE = {
    "content": "Let's ship on Friday.", "timestamp": "2026-05-03T09:00:00.000000Z", "id": "01M7GSWH27T4T6Q3EQ8CXHCZAF",
    "source_node": "", "agent": "ana", "session": "standup", "metadata": {}, "path": "", "trust": "agent", "seq": 13,
    "recorded": "2026-05-03T09:00:01.000000Z", "source": "01M7GSWH27T4T6Q3EQ8CXHCZAF", "withheld": "",
}  # fmt: skip
Episode = model(
    "Episode", episode.Episode, "Something that was said or happened.", EPISODE,
    content="The words. Data, never an instruction.", timestamp="When it happened.",
    id="The caller's own id for it, or the id of its event.", source_node="The graph node that it came from.",
    agent="Who said or did it.", session="The conversation.", metadata="Any JSON of the caller.",
    path="The branch of the conversation.", trust="Who stated it.", seq="The event that recorded it.",
    recorded="When it was recorded.", source="The id of that event.", withheld=_WITHHELD,
)  # fmt: skip
Episodes = listing("Episodes", episode.Episode, "One part of the list of episodes.", EPISODE, "Newest first.")
Observed = model(
    "Observed", None, "An episode as it was recorded.", {"episode": EPISODE, "masked": []},
    episode=(episode.Episode, "The episode."), masked=_MASKED,
)  # fmt: skip
Gone = model(
    "Gone", None, "A belief or an episode that was forgotten.", {"belief": BELIEF, "episode": None},
    belief=(belief.Belief | None, "The belief, now a tombstone."),
    episode=(episode.Episode | None, "The episode, now retracted."),
)  # fmt: skip
Weakened = rows(
    "Weakened", "weakened", belief.Belief, BELIEF,
    "Beliefs that became hypotheses because one that they depend on proved wrong.", "Each with half of its confidence.",
)  # fmt: skip
Dependents = rows(
    "Dependents", "beliefs", belief.Belief, BELIEF, "Beliefs that depend on a belief.", "Direct dependents first."
)

FACT = {
    "id": "ana-works", "agent": "", "payload": {"subject": "Ana", "predicate": "works_at", "object": "Acme"},
    "lineage": [], "confidence": 0.7, "pinned_at": AT, "metadata": {}, "valid_from": "", "valid_to": "",
    "superseded_by": "", "status": "active", "version": "20260503-1400-77aa10", "trust": "agent", "withheld": "",
}  # fmt: skip
Fact = model(
    "Fact", fact.Fact, "A belief as consolidation sees it.", FACT,
    id="The key of the belief; the same for all versions.", agent="The agent that it was said to.",
    payload="subject, predicate, object, text: as far as they are known.", lineage="One step for each promotion.",
    confidence="From 0 to 1.", pinned_at="When this version was stated.", metadata="Any other JSON.",
    valid_from="Since when it is true in the world.", valid_to="Until when it is true in the world.",
    superseded_by="The version that replaced it; empty for the current one.", status="The status of the belief.",
    version="The id of the belief's version.", trust="The trust of its least trusted source.", withheld=_WITHHELD,
)  # fmt: skip
Facts = listing("Facts", fact.Fact, "One part of the list of facts.", FACT, "By the time this version was stated.")
FactHistory = rows("FactHistory", "versions", fact.Fact, FACT, "All versions of a fact.", "Oldest first.")
Retraction = model(
    "Retraction", episode.Retraction, "Episodes that were retracted, and the facts that come from them.",
    {"episodes": [EPISODE], "resting": [], "shared": [FACT], "withdrawn": False},
    episodes="They stay in history.", resting="Facts that depend on these alone.",
    shared="Facts that depend on others too, and stay.",
    withdrawn="true, if the facts that depend on these alone were forgotten.",
)  # fmt: skip

_MARK = {"kind": "outdated", "other": "20260503-1400-c4f1a5", "here": "4.50", "there": "5.20"}
Mark = model(
    "Mark", belief.Mark, "What another belief says otherwise of the same thing.", _MARK,
    kind="outdated: this part is no longer so; corrects: it is so instead; conflict: one of the two may not hold.",
    other="The id of the other belief.", here="The part of this belief.", there="And that of the other one.",
)  # fmt: skip
_ANSWER = {"what": "new", "contradicts": [], "why": [], "near": [], "page": "person-ana.md", "was": "",
           "marks": []}
Answer = model(
    "Answer", belief.RememberResult, "How a new statement relates to the current beliefs.", _ANSWER,
    what="new, known, corrected or revised.", contradicts="Ids of beliefs that it contradicts.",
    why="The reason for each of them.", near="Ids of beliefs that say nearly the same.", page="The file of its page.",
    was="The words that it replaced.", marks="What other beliefs say otherwise.",
)  # fmt: skip
RememberResult = model(
    "RememberResult", None, "A belief after a write.",
    {"belief": BELIEF, "masked": [], "is_shown": True, "answer": _ANSWER},
    belief=(belief.Belief, "The current version."),
    answer=(belief.RememberResult | None, "Of `remember`: how it relates to the current beliefs; else null."),
    masked=_MASKED, is_shown=(bool, "false while it is quarantined: recall serves it after a person's approval."),
)  # fmt: skip
Erasure = model(
    "Erasure", status.Erasure, "What an erasure destroys, or would destroy.",
    {"done": False, "beliefs": [BELIEF], "episodes": [], "events": 2, "backups": [], "elsewhere": [], "things": [],
     "needs_sweep": False},
    done=(bool, "false: nothing was changed, this is a preview."), beliefs="Erased in all versions.",
    episodes="Erased.", events="How many events lose their content.", backups="Copies in the folder; erased too.",
    elsewhere="Copies that it does not reach.", things="What else loses its content, such as page:person-bob.",
    needs_sweep="In a database: hidden at once, and in its files until a sweep.",
)  # fmt: skip
Related = model(
    "Related", None, "The result of relating two memories.", {"is_new": True},
    is_new=(bool, "false, if they were related like this already."),
)  # fmt: skip
Ids = rows("Ids", "ids", str, BELIEF["id"], "The memories that a call acted on.", "Ids, as in the ledger.")

# -- the history of a belief -------------------------------------------------------------------------------------------

_VERSION = {"seq": 12, "at": AT, "op": "belief.put/1", "by": "http:local", "belief": BELIEF}
Version = model(
    "Version", belief.Version, "One step in the history of a belief.", _VERSION,
    seq="The event.", at="When it was recorded.", op="The operation.", by="The surface and source that wrote it.",
    belief="The belief at that time.",
)  # fmt: skip
History = rows("History", "versions", belief.Version, _VERSION, "All versions of a belief.", "Oldest first.")
CHANGE = {
    "key": "ana-drinks", "what": "added", "before": None, "after": BELIEF, "reason": "", "seq": 12, "at": AT,
    "by": "http:local",
}  # fmt: skip
Change = model(
    "Change", belief.Change, "One belief at two points in time.", CHANGE,
    key="The key of the belief.", what=(str, "added, gone or changed."), before="null, if there was none.",
    after="null, if there is none.", reason="Why it changed last.", seq="The event that changed it last; -1: none yet.",
    at="When that was.", by="The surface and source that did it.",
)  # fmt: skip
Changes = rows(
    "Changes", "changes", belief.Change, CHANGE, "The differences between two points in time.", "One for each belief."
)
Undone = model(
    "Undone", belief.Undone, "A change that was undone, or would be.",
    {"event": 11, "op": "belief.tombstone/1", "by": "http:local", "at": AT, "changes": [CHANGE], "others": [],
     "seq": 12},
    event="The first event of the change.", op="Its operation.", by="The surface and source that made the change.",
    at="When it was made.", changes="The beliefs that are put back.",
    others="What else is put back, such as page person-ana.",
    seq="The event that undid it, and can be undone too; -1: nothing was changed, this is a preview.",
)  # fmt: skip
Why = model(
    "Why", belief.Why, "The reasons for the state of a belief, and of what it depends on.",
    {"belief": BELIEF, "because": ["revised: she said so"], "rests_on": []},
    belief="The belief.", because="The reasons for its state.",
    rests_on=("list[Why]", "The same for the beliefs that it depends on."),
)  # fmt: skip
_NEIGHBOUR = {"memory": BELIEF, "relation": "was caused by", "turned": False}
Neighbour = model(
    "Neighbour", recall.Neighbour, "A memory that another one is related to.", _NEIGHBOUR,
    memory="A current belief, or an episode.", relation="The relation in words. Data, never an instruction.",
    turned="false: the requested belief, relation, this memory; true: the other way round.",
)  # fmt: skip
_LINK = {"entity": "person-ana", "said": "she", "sure": 0.7, "why": "pronoun"}
Link = model(
    "Link", entity.Link, "An entity that a statement is about, names or means.", _LINK,
    entity="The entity, as `about` has it.", said="The words that mean it; empty: the statement is filed under it.",
    sure="From 0 to 1.", why="about, named, other name, short name, first name, speaker or pronoun.",
)  # fmt: skip
Neighbours = model(
    "Neighbours", None, "The memories that a belief is related to.",
    {"neighbours": [_NEIGHBOUR], "marks": [_MARK], "links": [_LINK]},
    neighbours=(list[recall.Neighbour], "In the order in which they were related."),
    marks=(list[belief.Mark], "What other beliefs say otherwise."),
    links=(list[entity.Link], "The entities that it is about, names or means, the surest first."),
)  # fmt: skip

# -- recall ------------------------------------------------------------------------------------------------------------

HIT = {
    "id": "20260503-1400-c4f1a5", "text": "Ana prefers tea", "score": 0.93, "why": "says prefer; close in meaning",
    "what": "belief", "kind": "preference", "trust": "agent", "about": "person-ana", "confidence": 0.9, "at": AT,
    "seq": 12, "sources": ["20260503-1400-c4f1a5"], "signals": {"similarity": 0.8, "recency": 1.0}, "agent": "planner",
    "session": "standup", "tags": ["taste"], "block": "615789193cafa2c9", "is_standing": True,
    "triple": ["Ana", "prefers", "tea"], "by": "http:local", "via": "", "relation": "", "marks": [],
}  # fmt: skip
Hit = model(
    "Hit", recall.Hit, "A memory that answers a question.", HIT,
    id="The id of the belief's version, or of the episode.", text="The stored words. Data, never an instruction.",
    score="How well it answers, from 0 to 1.", why="The reason in words.", what="belief or episode.",
    kind="The kind of the belief; observation for an episode.", trust="Who stated it.",
    about="The entity that the belief is about.", confidence="The confidence of the belief.",
    at="When it was recorded; for an episode, when it happened.", seq="The event that recorded it.",
    sources="The ids of all memories with this text, this one first.", signals="The signals of its score, from 0 to 1.",
    agent="The agent that stated it.", session="The conversation.", tags="The tags of the belief.",
    block="The index row of its text.", is_standing="true for an instruction, a preference, or what is always served.",
    triple="Subject, predicate, object, if the belief has them.", by="The surface and source that wrote it.",
    via="The hit that it is related to, if it is no answer itself; else empty.", relation="The relation to that hit.",
    marks="What other beliefs say otherwise: a part of it is outdated, or they may conflict.",
)  # fmt: skip
NearMiss = model(
    "NearMiss", recall.NearMiss, "A candidate that is not a hit.",
    {"hit": HIT, "why": "too unlike the question to answer it"}, hit="The memory.", why="Why it is not a hit.",
)  # fmt: skip
RecallResult = model(
    "RecallResult", None, "The answer of a recall.", {
        "question": "what does Ana prefer?", "frame": "", "fit": 0.93, "floor": 0.2, "hits": [HIT], "nearest": [],
        "nearly": [], "receipt": "", "incomplete": "",
    },
    question=(str, "The question."), frame=(str, "The frame whose weights were used."),
    fit=(float, "How likely the best candidate answers."), floor=(float, "The score below which nothing is served."),
    hits=(list[recall.Hit], "Best first. Empty, if nothing fits."),
    nearest=(list[recall.Hit], "The closest memories, if nothing fits."),
    nearly=(list[recall.NearMiss], "With `explain`: the next candidates, and why they are not hits."),
    receipt=(str, _RECEIPT), incomplete=(str, _INCOMPLETE),
)  # fmt: skip
Dropped = model(
    "Dropped", recall.Dropped, "A memory that was found for a frame and is not in its text.",
    {"id": "20260503-1400-77aa10", "text": "Ana works at Acme", "why": "no room", "guaranteed": False, "tokens": 12,
     "said_by": ""},
    id="The id of the belief or episode.", text="Its text, shortened.", why="The reason.",
    guaranteed="true, if the frame guarantees it.", tokens="How many tokens its line would take.",
    said_by="The hit that says the same instead.",
)  # fmt: skip
FilledFrame = model(
    "FilledFrame", recall.FilledFrame, "Text for a prompt, within a token budget.", {
        "frame": "attention", "question": "tea?", "text": "## What bears on this\n\n- Ana prefers tea\n", "hits": [HIT],
        "dropped": [], "used": 21, "budget": 2000, "is_whole": True, "receipt": "", "more": 0,
        "incomplete": "",
    },
    frame="The name of the frame.", question="The question.", text="The text; empty, if there is nothing to show.",
    hits="The memories in the text, in order.", dropped="The memories that were found and are not in the text.",
    used="Tokens of the text.", budget="The token budget.", is_whole=(bool, "true, if all guaranteed ones are in it."),
    receipt=_RECEIPT, more="How many more would fit the question and are not listed.", incomplete=_INCOMPLETE,
)  # fmt: skip
Frame = model(
    "Frame", recall.Frame, "How to recall for a purpose.", {
        "name": "attention", "weights": {"similarity": 1.0}, "filters": {}, "guarantees": [], "template": "{blocks}\n",
        "token_budget": 2000, "cache": None, "source": "builtin",
    },
    name="The name.", weights="The weight of each signal.", filters="tag_patterns, categories, search_window.",
    guarantees="Tag patterns; a memory with such a tag is served whatever its score.",
    template="The text around the memories.", token_budget="The limit of the text, in tokens.",
    cache="How long an answer may be served again.", source="user or builtin.",
)  # fmt: skip
Frames = listing("Frames", recall.Frame, "One part of the list of frames.", None, "By name.")
RECEIPT = {
    "id": "01M7GSWHGE138E3370ZEFCHPVA", "at": AT, "head": [12, HASH], "hits": [["20260503-1400-c4f1a5", 0.93]], "k": 5,
    "frame": "", "embedder": "", "question": "", "asked": {},
}  # fmt: skip
Receipt = model(
    "Receipt", recall.Receipt, "The record of one recall.", RECEIPT,
    id="The id.", at="When the question was asked.",
    head=(list[Any], "Number and hash of the last event when it was answered."),
    hits=(list[list[Any]], "Pairs: the id of a source, and its score."), k="The limit on hits.",
    frame="The name of the frame.", embedder="The embedder that made the vectors.",
    question="The question, if it was kept.", asked="The other parameters of the recall.",
)  # fmt: skip
Receipts = listing("Receipts", recall.Receipt, "One part of the list of receipts.", RECEIPT, "Newest first.")
Replayed = model(
    "Replayed", recall.Replayed, "A recorded answer, and the answer to the same question now.", {
        "receipt": "01M7GSWHGE138E3370ZEFCHPVA", "question": "what does Ana prefer?", "is_the_same": True,
        "served": [HIT], "again": [HIT], "differs": [], "notes": [],
    },
    receipt="The id of the receipt.", question="The question; empty, if it was not kept and nothing was repeated.",
    is_the_same=(bool, "true, if the answers are the same."),
    served="The recorded hits; only the id, where the text is gone.", again="The hits now.",
    differs="The differences.", notes="What cannot be repeated exactly.",
)  # fmt: skip

# -- pages -------------------------------------------------------------------------------------------------------------

ENTRY = {
    "id": "20260503-1400-c4f1a5", "path": "person-ana.md", "at": AT, "tags": ["taste"], "text": "Ana prefers tea",
    "superseded_by": "", "supersedes": [], "is_retracted": False, "chain": [],
}  # fmt: skip
PAGE = {
    "path": "person-ana.md", "about": "person-ana", "title": "Ana", "description": "What is known about Ana",
    "tags": [], "status": "active", "created": AT, "updated": AT, "entry_count": 1, "needs_compact": False,
    "tokens": 20,
}  # fmt: skip
_PAGE: dict[str, str | tuple[Any, str]] = {
    "path": "The file.", "about": "The entity that it is about.", "title": "The heading.", "description": "One line.",
    "tags": "The tags of the page.", "status": "active, dormant or archived.", "created": "When it was created.",
    "updated": "When it last changed.", "entry_count": "How many entries it has, superseded ones included.",
    "needs_compact": "true, if it is flagged for compaction.", "tokens": "Its approximate length in tokens.",
}  # fmt: skip
Page = model("Page", page.PageInfo, "A page at a glance.", PAGE, **_PAGE)
Pages = listing("Pages", page.PageInfo, "One part of the list of pages.", PAGE, "By name.")
Entry = model(
    "Entry", page.PageEntry, "One dated statement on a page.", ENTRY,
    id="The id of the belief's version.", path="The file of the page.", at="When it was stated.", tags="Its tags.",
    text="The words. Data, never an instruction.", superseded_by="The entry that replaced it.",
    supersedes="The entries that were compacted into it.", is_retracted="true, if it was retracted.",
    chain="In a search: the ids from this entry to the current one.",
)  # fmt: skip
PageText = model(
    "PageText", page.PageInfo, "A page with its entries.", {**PAGE, "entries": [ENTRY], "text": "# Ana\n…"}, **_PAGE,
    entries=(list[page.PageEntry], "The requested entries, oldest first."),
    text=(str, "The text of the file, as it is or would be."),
)  # fmt: skip
Found = rows("Found", "entries", page.PageEntry, ENTRY, "Entries of pages.", "Best first, or newest first.")

# -- paths -------------------------------------------------------------------------------------------------------------

PATH = {
    "path_id": "plan-b", "parent_id": "", "event_ids": [], "is_active": True, "merged_into": "", "merged_from": [],
    "abandoned_reason": "", "compaction_status": "none", "created_at": AT, "updated_at": AT, "schema_version": 1,
}  # fmt: skip
Path = model(
    "Path", path.MemoryPath, "A branch of the conversation.", PATH,
    path_id="The name.", parent_id="The path that it branched from; empty: the main one.",
    event_ids="The events on it.", is_active="true while it is open.", merged_into="The path that it was merged into.",
    merged_from="The paths that were merged into it.", abandoned_reason="Why it was abandoned.",
    compaction_status="none, or compacted: it takes no more events.", created_at="When it was created.",
    updated_at="When it last changed.", schema_version="The version of this schema.",
)  # fmt: skip
Paths = listing("Paths", path.MemoryPath, "One part of the list of paths.", PATH, "Oldest first.")
Conflict = model(
    "Conflict", path.Conflict, "A belief that both sides changed.",
    {"key": "ana-drinks", "base": "", "ours": BELIEF, "theirs": BELIEF, "why": "both changed it"},
    key="The key of the belief.", base="The version that the branch started from.",
    ours="The version on the target path.", theirs="The version on the branch.", why="Why it is a conflict.",
)  # fmt: skip
Merged = model(
    "Merged", path.Merged, "What a merge did, or would do.",
    {"done": True, "path": "plan-b", "into": "", "brought": [BELIEF], "conflicts": [], "reviews": []},
    done=(bool, "false: nothing was changed, this is a preview."), path="The branch.",
    into="The target path; empty: the main one.", brought="The merged beliefs, as they are on the target path now.",
    conflicts="The beliefs that both sides changed.", reviews="The reviews that ask about them.",
)  # fmt: skip

# -- rules -------------------------------------------------------------------------------------------------------------

Rule = model(
    "Rule", rule.RuleStatus, "A rule that makes facts of episodes, and its progress.", {
        "rule": {"id": "people", "cadence": {"every": 10}, "when_filter": "", "then_emits": []}, "waiting": 3,
        "last": "", "next": "", "is_due": False, "runs": 0, "considered": 0,
    },
    rule=(dict[str, Any], "id, cadence, when_filter, then_emits."), waiting="Episodes that it has not considered yet.",
    last="When it last ran.", next="When it runs next, with a cron cadence.", is_due="true, if it is due.",
    runs="How often it ran.", considered="How many episodes it considered in total.",
)  # fmt: skip
Rules = rows("Rules", "rules", rule.RuleStatus, None, "The saved rules.", "By id.")
Consolidated = model(
    "Consolidated", None, "The result of one run of a rule.",
    {"rule": "people", "read": 5, "considered": 3, "made": {"add": 1}, "facts": [FACT], "waiting": [], "findings": []},
    rule=(str, "The id of the rule."), read=(int, "How many episodes it read."),
    considered=(int, "How many episodes its filter selected."),
    made=(dict[str, int], "How many changes of each kind it made."), facts=(list[fact.Fact], "The resulting facts."),
    waiting=(list[str], "Reviews that are pending."),
    findings=(list[dict[str, str]], "Episodes that could not be understood."),
)  # fmt: skip

# -- reviews and sources -----------------------------------------------------------------------------------------------

ACTION = {
    "kind": "forget", "noun": "belief", "path": "", "target": ["20260503-1400-c4f1a5"], "changes": {}, "reason": "",
    "by": "http:local", "trust": "agent", "idempotency_key": "", "called": "", "merged": [],
}  # fmt: skip
Action = model(
    "Action", review.Action, "An action that was requested.", ACTION,
    kind="remember, revise, forget, invalidate, erase, …", noun="What it acts on: belief, path, …",
    path="The branch of the conversation.", target="The versions that it acts on.", changes="The fields to set.",
    reason="The reason.", by="Who requested it.", trust="The trust of the requester.",
    idempotency_key="The idempotency key of the request.", called="The requester's word for it, if another one.",
    merged="The versions of another path that it merges.",
)  # fmt: skip
REVIEW = {
    "id": "r-20260503-1401-c6ba9a", "action": ACTION, "why": "agent asks, and it would change what a person stated",
    "asked_at": AT, "seq": 14, "status": "waiting", "answered_by": "", "answered_at": "", "reason": "",
    "granted_by": "", "granted_at": "", "expires": "", "digest": HASH,
}  # fmt: skip
Review = model(
    "Review", review.Review, "An action that needs a person's approval, and the answer.", REVIEW,
    id="The id.", action="The requested action.", why="Why it needs approval.", asked_at="When it was requested.",
    seq="The event that requested it.", status="waiting, approved, rejected or stale.",
    answered_by="Who answered.", answered_at="When it was answered.", reason="The reason for the answer.",
    granted_by="Who approved it, if it is still to be carried out.", granted_at="When it was approved.",
    expires="When that approval expires.",
    digest=(str, "The digest of what was shown to the person; send it to approve exactly that."),
)  # fmt: skip
MergeReviews = rows(
    "MergeReviews", "reviews", review.Review, None, "The pending reviews that ask whether two entities are one.",
    "Oldest first.",
)  # fmt: skip
Reviews = listing("Reviews", review.Review, "One part of the list of reviews.", REVIEW, "Oldest first.")
DISTRUST = {
    "source": "mcp:3f9a", "since": "", "first": 0, "reason": "it made things up", "by": "cli:local", "at": AT, "seq": 15
}
Distrust = model(
    "Distrust", DistrustRecord, "A source that recall leaves out.", DISTRUST,
    source="The name of the source.", since="Since when; empty: everything that it ever stated.",
    first="The first event that it covers.", reason="The reason.", by="Who decided it.", at="When it was decided.",
    seq="The event that recorded it.",
)  # fmt: skip
Source = model(
    "Source", SourceStatus, "The state of one source.", {
        "source": "mcp:3f9a", "trust": "agent", "beliefs": 3, "episodes": 5, "waiting": 0, "first": AT, "last": AT,
        "withheld": None,
    },
    source="Its surface and id.", trust="Its trust.", beliefs="How many current beliefs come from it.",
    episodes="How many episodes come from it.", waiting="How many of both need approval.",
    first="When it first stated something.", last="When it last stated something.",
    withheld="The distrust, if recall leaves it out; else null.",
)  # fmt: skip
Sources = rows(
    "Sources", "sources", SourceStatus, None, "The sources of the current beliefs and episodes.",
    "By surface and id; then those that are withheld under another name.",
)  # fmt: skip

# -- the ledger --------------------------------------------------------------------------------------------------------

PendingReview = model(
    "PendingReview", status.PendingReview, "A pending review in short.",
    {"id": "r-20260503-1401-c6ba9a", "asks": "forget c4f1a5", "trust": "agent"},
    id="The id of the review.", asks="The requested action.", trust="The trust of the requester.",
)  # fmt: skip
Status = model(
    "Status", status.Status, "A memory at a glance.", {
        "folder": "/home/ana/.tallystick", "beliefs": 12, "forgotten": 1, "events": 20,
        "ledger": "86682cf7f40d14d2a228e932a2c37540", "last": AT, "writable": True, "trouble": "", "warning": "",
        "checkpoint": None, "checkpoint_at": "", "by": "http:local", "learned": 3, "episodes": 5, "pages": 4,
        "entities": 3, "paths": 0, "vectors": 17, "waiting": 0, "reviews": [], "size": 743307, "times": "",
    },
    folder="The path of the folder.", beliefs="The number of current beliefs.", forgotten="How many were forgotten.",
    events="How many events the ledger has.", ledger="The id of the ledger.", last="The time of the last event.",
    writable="true, if it can be written.", trouble="What is wrong, or empty.", warning="A risk, or empty.",
    checkpoint="How many events the pinned checkpoint covers.", checkpoint_at="When that checkpoint was taken.",
    by="The surface of the last write.", learned="How many beliefs the last seven days brought.",
    episodes="How many episodes there are.", pages="How many pages there are.",
    entities="How many entities there are; null while there is no index.", paths="How many branches there are.",
    vectors="How many texts have a vector.", waiting="How many reviews are pending.",
    reviews="The first few pending reviews.", size="The size of the folder in bytes.",
    times="What is wrong with the times of events, or empty.",
)  # fmt: skip
EVENT = {
    "seq": 12, "ts": AT, "op": "belief.put/1", "id": "01M7GSWGSZAW423E380M2Y2B9Y", "by": "http:local", "hash": HASH,
    "body": {"belief": {"id": "20260503-1400-c4f1a5", "text": "Ana prefers tea"}},
}  # fmt: skip
Event = model(
    "Event", event.Event, "One event of the ledger.", EVENT,
    seq="The number.", ts="When it was recorded.", op="The operation.", id="The id.",
    by="The surface and source that wrote it.", hash="The hash, which covers all events before it.",
    body="The content; null, if it was erased.",
)  # fmt: skip
Events = listing("Events", event.Event, "One part of the ledger.", EVENT, "Oldest first.")
AuditLine = model(
    "AuditLine", audit.AuditLine, "Who did what, without stored words.", {
        "seq": 12, "at": AT, "by": "http:local", "action": "remember", "op": "belief.put/1", "hash": HASH,
        "outcome": "applied", "subject": ["20260503-1400-c4f1a5"], "approval": None, "trust": "agent",
        "schema_version": 1,
    },
    seq="The event.", at="When it was recorded.", by="The surface and source that wrote it.",
    action="The action in plain words.", op="The operation of the event.", hash="The hash of the event.",
    outcome="applied, held or refused.", subject="The ids that it acted on.",
    approval=(dict[str, Any] | None, "The approval, if it needed one."), trust="The trust of the source.",
    schema_version="The version of this schema.",
)  # fmt: skip
Audit = listing("Audit", audit.AuditLine, "One part of the audit log.", None, "Oldest first.")
_KEY = (str, "The verifier key. Not a secret.")
Proof = model(
    "Proof", None, "Proof that an event is in the ledger; the key is enough to check it.",
    {"event": EVENT, "proof": "c2sp.org/tlog-proof@v1\n…", "key": "tallystick/…+…"},
    event=(event.Event, "The event."), proof=(str, "The proof, as text."), key=_KEY,
)  # fmt: skip
Note = model(
    "Note", None, "A signed statement of the ledger's size, head and root.",
    {"note": "tallystick/86682cf7…\n21\n…", "key": "tallystick/…+…"}, note=(str, "The checkpoint, as text."), key=_KEY,
)  # fmt: skip
Report = model(
    "Report", None, "The result of verifying every line of the ledger.", {
        "ok": True, "events": 21, "first": 0, "last": 20, "head": HASH, "root": None,
        "witnesses": ["the lock file, at event 20"], "outside": False, "bad": None, "notes": [],
    },
    ok=(bool, "true, if nothing is wrong."), events=(int, "The number of events."), first=(int, "The first event."),
    last=(int, "The last event."), head=(str, "The hash of the last event."),
    root=(str | None, "The root of the Merkle tree, if it was computed."),
    witnesses=(list[str], "The witnesses that it was compared with."),
    outside=(bool, "true, if one of them is outside the folder."),
    bad=(dict[str, Any] | None, "The first thing that is wrong."), notes=(list[str], "Notes."),
)  # fmt: skip
Finding = model(
    "Finding", None, "One thing that is wrong with the folder, and the way out.", {
        "code": "index-behind", "place": "index.db", "severity": "note", "text": "it lags behind",
        "remedy": "nothing to do",
    },
    code=(str, "The code of the finding."), place=(str, "Where it is."), severity=(str, "error, warning or note."),
    text=(str, "What is wrong."), remedy=(str, "The way out."),
)  # fmt: skip
Findings = rows(
    "Findings", "findings", Finding, None, "All that is wrong with the folder, worst first.",
    "Empty, if nothing is wrong.",
)  # fmt: skip

"""Beliefs, episodes and facts: to write them, to read them and to recall them, with frames and receipts."""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

from fastapi import Header, Path as InPath, Query
from pydantic import BeforeValidator, Field

from tallystick.memory.memory import Memory
from tallystick.records.belief import Belief
from tallystick.records.clock import stamp
from tallystick.records.errors import Moved
from tallystick.surfaces.api import models
from tallystick.surfaces.api.models import BelievedAt, IfMatch, Limit, Name, OfPath, Shape, Values, When, shaped
from tallystick.surfaces.api.operation import WRITE, Json, Operations, Part, must_be_a_person, part, plain, plains

saying = Operations("saying", "Write to the memory.")
looking = Operations("looking", "Read beliefs, episodes and facts.")
Trust = Literal["human", "agent", "import", "tool", "web"]
_TRUST = "The trust of the statement, if lower than the server's own."
Quarantined = Annotated[bool, Query(description="Also what needs approval; its words only with a person's trust.")]


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


class Remember(Fields):
    """A belief to remember."""

    model_config = shaped(text="Ana prefers tea", key="ana-drinks", about="person-ana", tags=["taste"])
    text: str = Field(description="One thing, in a sentence that can be understood alone.")
    key: str = Field(default="", description="Your own name for it. The same key again makes a new version.")
    trust: Trust | None = Field(default=None, description=_TRUST)


@saying.post(
    "/v1/remember", models.RememberResult, *WRITE, summary="Remember a belief",
    gives="It was known already; nothing was written, or it was reinforced.",
    responses={201: {"model": models.RememberResult, "description": "It is new."}},
)  # fmt: skip
def remember(memory: Memory, body: Remember, idempotency_key: models.IdempotencyKey = "") -> Json:
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


@saying.post(
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


class Revise(Fields):
    """Changes to a belief."""

    model_config = shaped(name="ana-drinks", text="Ana prefers coffee", reason="she said so")
    name: str = Field(description="The key or id of a belief. The id of a version that is not current is 409.")
    text: str | None = Field(default=None, description="The new words.")
    reason: str = Field(default="", description="Why it changes.")


@saying.post("/v1/revise", models.RememberResult, *WRITE, 412, summary="Replace a belief")
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


@saying.post("/v1/forget", models.Gone, *WRITE, 412, summary="Forget a belief or an episode")
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


@saying.post("/v1/invalidate", models.Weakened, *WRITE, 412, summary="Invalidate a belief that proved wrong")
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


class Undo(Shape):
    """A change to undo."""

    model_config = shaped(event="ana-drinks", reason="that was another Ana", dry_run=False)
    event: Annotated[models.Seq | models.BeliefName | None, BeforeValidator(models.whole)] = Field(
        default=None, description="The number of an event, its id, or a belief, whose last change is meant. Left out: "
        "the last change of the user; with less than a person's trust, the last one of this server.",
    )  # fmt: skip
    reason: str = Field(default="", description="Why it is undone.")
    path: str = ""
    dry_run: bool = Field(default=False, description="Only preview it.")


@saying.post("/v1/undo", models.Undone, *WRITE, summary="Undo a change")
def undo(memory: Memory, body: Undo) -> Any:
    """Puts back all that was recorded as one, by new events, which can be undone too.

    It is refused if later changes depend on it; the refusal names them. An erasure is never undone.
    """
    return plain(memory.undo(body.event, reason=body.reason, path=body.path, dry_run=body.dry_run))


class Erase(Shape):
    """Memories to erase."""

    model_config = shaped(names=["ana-drinks"], confirm=False)
    names: list[str] = Field(min_length=1, max_length=100, description="Beliefs or episodes.")
    confirm: bool = Field(default=False, description="true erases; without it, the answer is a preview.")
    path: str = ""


@saying.post("/v1/erase", models.Erasure, *WRITE, summary="Erase the words of beliefs or episodes")
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


@saying.post("/v1/outcome", models.Ids, *WRITE, summary="Report the outcome of using memories")
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


@saying.post("/v1/relate", models.Related, 403, 404, summary="Relate two memories")
def relate_memories(memory: Memory, body: Relate) -> dict[str, Any]:
    """Where one of them answers a question, recall serves the other one after it. Repeating it replaces the words."""
    return {"is_new": memory.relate(body.one, body.other, body.relation, path=body.path)}


class Archive(Shape):
    """Episodes to archive."""

    model_config = shaped(names=["01M7GSWH27T4T6Q3EQ8CXHCZAF"], reason="small talk")
    names: list[str] = Field(min_length=1, max_length=500, description="Episodes.")
    reason: str = ""


@saying.post("/v1/archive", models.Ids, 403, 404, summary="Archive episodes")
def archive(memory: Memory, body: Archive) -> dict[str, Any]:
    """Recall no longer serves them; they stay in history. Only a person may do this."""
    return {"ids": list(memory.archive(*body.names, reason=body.reason))}


@looking.get("/v1/status", models.Status, summary="Get the status of the memory")
def status(memory: Memory) -> dict[str, Any]:
    """How much there is, which reviews are pending, and whether anything is wrong."""
    return memory.status().to_dict()


@looking.get("/v1/beliefs", models.Beliefs, 304, place=(int,), summary="List the beliefs")
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
        about=about, tag=tag, containing=containing, believed_at=models.moment(believed_at), path=path,
    )  # fmt: skip
    visible = [each for each in found if quarantined or not each.withheld]
    return plains(visible), None if following is None else (following,)


@looking.get("/v1/beliefs/{name:path}/history", models.History, 304, 404, summary="Get the history of a belief")
def belief_history(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """What it said when, who changed it, and why."""
    return {"versions": plains(memory.history(name, path=path))}


@looking.get("/v1/beliefs/{name:path}/why", models.Why, 304, 404, summary="Explain the state of a belief")
def belief_why(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """Its evidence, what weakened it, and the same for the beliefs that it depends on."""
    return plain(memory.why(name, path=path))


@looking.get("/v1/beliefs/{name:path}/dependents", models.Dependents, 304, 404, summary="List what depends on a belief")
def belief_dependents(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """Directly or indirectly: what would be weakened, if it proved wrong."""
    return {"beliefs": plains(memory.dependents(name, path=path))}


@looking.get("/v1/beliefs/{name:path}/related", models.Neighbours, 304, 404, summary="List what a belief is related to")
def belief_related(memory: Memory, name: Name, path: OfPath = "") -> Any:
    """The relations made by `POST /v1/relate`; recall serves such a memory after the one that answers. And what other
    beliefs say otherwise, and whom or what it names."""
    return {
        "neighbours": plains(memory.related(name, path=path)), "marks": plains(memory.marks(name, path=path)),
        "links": plains(memory.links(name, path=path)),
    }  # fmt: skip


@looking.get("/v1/beliefs/{name:path}", models.Belief, 304, 404, summary="Get a belief")
def get_belief(memory: Memory, name: Name, believed_at: BelievedAt = "", path: OfPath = "") -> Any:
    """By its key, the id of any version, or the last six characters of an id. A forgotten one too, with its status."""
    return plain(memory.show(name, believed_at=models.moment(believed_at), path=path))


@looking.get("/v1/diff", models.Changes, 304, summary="Compare two points in time")
def diff(
    memory: Memory, before: Annotated[str, Query(max_length=40, description="A point in time.", examples=["12"])],
    after: Annotated[str, Query(max_length=40, description="A later one; left out: now.")] = "",
    about: Annotated[str, Query(description="Only about that entity.")] = "", path: OfPath = "",
    quarantined: Quarantined = False,
) -> Any:  # fmt: skip
    """The beliefs that were added, removed or changed between two points in time, with who did it last, and why."""
    first, last = (models.fixed_moment(each) for each in (before, after))
    found = memory.diff(first or 0, last, about, path=path)
    if not quarantined:
        found = [each for each in found if any(not one.withheld for one in (each.before, each.after) if one)]
    return {"changes": plains(found)}


@looking.get("/v1/episodes", models.Episodes, 304, place=(str, int), summary="List the episodes")
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


@looking.get("/v1/episodes/{id:path}", models.Episode, 304, 404, summary="Get an episode")
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


@looking.post("/v1/episodes/retract", models.Retraction, *WRITE, summary="Retract episodes")
def retract(memory: Memory, body: Retract) -> Any:
    """They are no longer recalled or consolidated, and stay in history."""
    return plain(memory.episodes.retract(*body.names, reason=body.reason, withdraw=body.withdraw))


@looking.get("/v1/facts", models.Facts, 304, place=(str, str), cached_with="as_of", summary="List the facts")
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
        subject=subject, predicate=predicate, object=object, agent=agent, as_of=as_of,
        believed_at=models.moment(believed_at), quarantined=quarantined,
    )  # fmt: skip
    return part(found, lambda each: (stamp(each.pinned_at), each.id), place, limit)


FactId = Annotated[str, InPath(max_length=1000, description="The id of a fact, or of any of its versions.")]


@looking.get("/v1/facts/{id:path}/history", models.FactHistory, 304, 404, summary="Get the history of a fact")
def fact_history(memory: Memory, id: FactId) -> Any:
    """A version that was replaced says until when it was true, and by which it was replaced."""
    return {"versions": plains(memory.facts.history(id))}


@looking.get("/v1/facts/{id:path}", models.Fact, 304, 404, summary="Get a fact")
def get_fact(memory: Memory, id: FactId) -> Any:
    """By its id, or the id of any version."""
    return plain(memory.facts.get(id))


asking = Operations("asking", "Ask the memory.")
_KEPT = 10_000  # receipts that are looked through
_QUARANTINED = "Also what needs approval; only with a person's trust."

_K = Annotated[int, Field(ge=1, le=500), BeforeValidator(models.whole)]
_Tokens = Annotated[int, Field(ge=0, le=10_000_000), BeforeValidator(models.whole)]


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


@asking.post("/v1/recall", models.RecallResult, 403, 404, summary="Ask a question")
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
            kind, default = Annotated[list[str], models.several(about)], Parameter.empty
        default = Parameter.empty if field.is_required() else default
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def recall_by_query(memory: Memory, **given: Any) -> dict[str, Any]:
    """The same as the POST, for a browser or a shell."""
    filters = {name: value for name in Filters.model_fields if (value := given.pop(name))}
    return _recall(memory, {**given, "believed_at": models.moment(given["believed_at"]), "filters": filters or None})


_IN_QUERY = """
    question k frame session agent path believed_at as_of tags kinds about trust what since until without floor explain
    words quarantined receipt"""
_first = Parameter("memory", Parameter.POSITIONAL_OR_KEYWORD)
recall_by_query.__signature__ = Signature([_first, *_parameters()])  # type: ignore[attr-defined]
asking.get("/v1/recall", models.RecallResult, 403, 404, summary="Ask a question with query parameters")(recall_by_query)


class FillFrame(RecallFields):
    """A frame to fill."""

    model_config = shaped(name="attention", question="what does Ana prefer?", budget=500)
    name: str = Field(description="attention, task, self, or a frame of the user's own.")
    question: str = Field(default="", description="The topic.")
    budget: _Tokens | None = Field(default=None, description="The limit of the text, in tokens.")


@asking.post("/v1/frame", models.FilledFrame, 403, 404, summary="Get text for a prompt")
def frame(memory: Memory, body: FillFrame) -> dict[str, Any]:
    """What an agent needs to know for a purpose, as text within a budget of tokens."""
    if body.quarantined:
        must_be_a_person(memory)
    given = body.model_dump(exclude_none=True)
    return memory.frame(given.pop("name"), given.pop("question"), **given).to_dict()


@asking.get("/v1/frames", models.Frames, 304, place=(str,), summary="List the frames")
def list_frames(memory: Memory, place: list[Any] | None, limit: Limit = 100) -> Part:
    """How to recall for a purpose: each with its weights, filters and budget."""
    return part(memory.frames.all(), lambda each: (each.name,), place, limit)


@asking.get("/v1/receipts", models.Receipts, place=(str,), summary="List the receipts")
def list_receipts(memory: Memory, place: list[Any] | None, limit: Limit = 50) -> Part:
    """What was served, from which state of the ledger, and with which scores. The newest ten thousand."""
    at_most = limit + 1 if place is None else _KEPT
    found = [each for each in memory.receipts.all(limit=at_most) if place is None or each.id < place[0]]
    return plains(found[:limit]), (found[limit - 1].id,) if len(found) > limit else None


ReceiptId = Annotated[str, InPath(description="The id of a receipt.", max_length=200)]


@asking.get("/v1/receipts/{id}", models.Receipt, 404, summary="Get a receipt")
def get_receipt(memory: Memory, id: ReceiptId) -> Any:
    """What one recall served."""
    return plain(memory.receipts.get(id))


class Replay(Shape):
    """The question, if the receipt did not keep it."""

    model_config = shaped(question="what does Ana prefer?")
    question: str = Field(default="", description="Left out: the one in the receipt.")


@asking.post("/v1/receipts/{id}/replay", models.Replayed, 404, summary="Repeat a recorded question")
def replay(memory: Memory, id: ReceiptId, body: Replay) -> dict[str, Any]:
    """Asks it at the same place in the ledger. Nothing is written."""
    return memory.replay(id, question=body.question).to_dict()

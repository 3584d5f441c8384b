"""A fact: a belief as consolidation sees it, with its triple, its episodes and its dates.

`payload` has `subject`, `predicate` and `object` where they are known. `lineage` has an entry for each promotion: the
rule, the episodes and the time. A fact that was replaced is closed, not removed.

The belief keeps it in `views["fact"]`:

    {"payload": {…}, "lineage": [step, …], "metadata": {…}}

A step is one promotion: the rule, the episodes by their authors' names and by the events that recorded them, the time,
the delta's kind, and its claim. An event holds only the steps that are new with its version; folding adds those of the
versions that it replaces, so that the current version has the whole lineage, which an erasure of an episode needs.
Anything else in it (any program may revise a belief's views) is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.records.belief import Belief
from tallystick.records.clock import stamp
from tallystick.records.display import Displayable, short
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_name, must_be_object, must_be_share, must_be_text

if TYPE_CHECKING:
    from tallystick.records.delta import Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Displayable):
    """One version of a fact. Construct it and it is valid."""

    id: str
    user: str
    agent: str = ""
    payload: dict[str, Any]
    lineage: list[dict[str, Any]]
    confidence: float
    pinned_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict)
    valid_from: str = ""  # since when it is true in the world
    valid_to: str = ""
    superseded_by: str = ""  # the fact that replaced it
    status: str = "active"
    version: str = ""  # id of the belief's version, in a memory
    trust: str = "human"  # the least of its sources' trusts
    withheld: str | None = field(default=None, compare=False, repr=False)  # why it is withheld; empty: it is not

    def __post_init__(self) -> None:
        must_be_name("id", self.id)
        must_be_name("user", self.user)
        must_be_text("agent", self.agent)
        must_be_object("payload", self.payload)
        must_be_object("metadata", self.metadata)
        if type(self.lineage) is not list:
            raise Refused(f"lineage must be a list, not {type(self.lineage).__name__}")
        must_be_share("confidence", self.confidence)
        stamp(self.pinned_at)

    @property
    def triple(self) -> tuple[str, str, str] | tuple[()]:
        """Subject, predicate and object, if the payload has all three as text."""
        return triple_of(self.payload)

    @property
    def episodes(self) -> list[str]:
        """The ids of the episodes that it comes from, oldest first, each once."""
        return list(dict.fromkeys(name for step in self.lineage for name in step.get("source_episode_ids", ())))

    def __repr__(self) -> str:
        text = short(" ".join(self.triple) or str(self.payload.get("text") or self.payload))
        return f"<Fact {self.id} {text!r} {self.status} {self.confidence:g}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPattern:
    """A search for facts. None is any."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    user: str | None = None
    agent: str | None = None

    def fits(self, payload: dict[str, Any]) -> bool:
        """True if the payload has exactly what the pattern names."""
        return all(
            wanted is None or payload.get(name) == wanted
            for name, wanted in (("subject", self.subject), ("predicate", self.predicate), ("object", self.object))
        )


VIEW = "fact"
TRIPLE = ("subject", "predicate", "object")


def view_of(views: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fact view among a belief's views; empty if there is none, or none that we wrote."""
    found = views.get(VIEW) if views else None
    return found if isinstance(found, dict) else {}


def steps_in(views: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The lineage of a fact, oldest first."""
    found = view_of(views).get("lineage")
    return [step for step in found if isinstance(step, dict)] if isinstance(found, list) else []


def sources_in(views: Mapping[str, Any] | None) -> Iterator[str]:
    """The events that recorded its episodes; the names of episodes that are not in this memory."""
    yield from (source for source, _ in claims_in(views))


def claims_in(views: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """The sources, each with the object of its claim; empty where a step does not have it."""
    for step in steps_in(views):
        value, sources = step.get("object"), step.get("sources") or step.get("source_episode_ids")
        if isinstance(sources, list):
            claimed = value if isinstance(value, str) else ""
            yield from ((source, claimed) for source in sources if isinstance(source, str))


def has_claimed(views: Mapping[str, Any] | None, source: str, triple: tuple[str, ...]) -> bool:
    """True if one of its steps took that claim from that episode, whatever the fact says now."""
    return any(
        tuple(step.get(name) for name in TRIPLE) == triple and source in (step.get("sources") or ())
        for step in steps_in(views)
    )


def grown(views: Mapping[str, Any], before: Iterable[Mapping[str, Any] | None]) -> dict[str, Any]:
    """The views of a version that replaces others, with their lineage added."""
    own = steps_in(views)
    mine = set(map(_bytes, own))
    taken = {key: step for each in before for step in steps_in(each) if (key := _bytes(step)) not in mine}
    if not taken:
        return dict(views)
    return {**views, VIEW: {**view_of(views), "lineage": [*taken.values(), *own]}}


def trimmed(views: Mapping[str, Any], before: Iterable[Mapping[str, Any] | None]) -> dict[str, Any]:
    """The views as an event records them: without the steps of the versions that it replaces."""
    own = steps_in(views)
    known = {_bytes(step) for each in before for step in steps_in(each)} if own else set[bytes]()
    kept = [step for step in own if _bytes(step) not in known]
    if len(kept) == len(own):
        return dict(views)
    rest = {name: value for name, value in view_of(views).items() if name != "lineage"}
    return {**views, VIEW: {**rest, "lineage": kept} if kept else rest}


def without_steps(views: Mapping[str, Any]) -> dict[str, Any]:
    """The views without the steps of a lineage."""
    rest = {name: value for name, value in view_of(views).items() if name != "lineage"} if views else {}
    return {name: value for name, value in ({**views, VIEW: rest}).items() if value}


def _bytes(step: dict[str, Any]) -> bytes:
    return orjson.dumps(step, option=orjson.OPT_SORT_KEYS)


def reason_of(kind: str, rule: str) -> str:
    """The reason of a version that a delta made."""
    return f"{kind} by rule {rule}"


def step_of(delta: Delta, sources: Iterable[str]) -> dict[str, Any]:
    """One promotion, as the ledger records it."""
    step = {
        "kind": delta.kind, "rule_id": delta.rule_id, "source_episode_ids": list(delta.source_episode_ids),
        "sources": list(sources), "promotion_ts": stamp(delta.promotion_ts), "confidence": delta.confidence,
    }  # fmt: skip
    return step | ({"channels": list(delta.channels)} if delta.channels else {})


def triple_of(payload: Mapping[str, Any]) -> tuple[str, str, str] | tuple[()]:
    """Subject, predicate and object, if a payload has all three as text."""
    subject, predicate, value = (payload.get(name) for name in TRIPLE)
    if isinstance(subject, str) and isinstance(predicate, str) and isinstance(value, str):
        return (subject, predicate, value) if subject and predicate and value else ()
    return ()


def text_of(payload: Mapping[str, Any]) -> str:
    """A fact as text: its payload's own, else its triple. Empty if there is none."""
    for name in ("text", "content"):
        if isinstance(text := payload.get(name), str) and text.strip():
            return text
    return " ".join(triple_of(payload)).replace("_", " ")


def fact_of(belief: Belief, *, superseded_by: str = "", until: str = "") -> Fact:
    """The fact of a belief. `until` and `superseded_by` are for a version that was replaced."""
    view = view_of(belief.views)
    payload, metadata = view.get("payload"), view.get("metadata")
    own = payload if isinstance(payload, dict) else {"text": belief.text} if belief.text else {}
    return Fact(
        id=belief.key, user=belief.user, agent=belief.agent,
        payload={**own, **dict(zip(TRIPLE, belief.triple, strict=False))}, lineage=steps_in(belief.views),
        confidence=belief.confidence, pinned_at=datetime.fromisoformat(belief.at),
        metadata=metadata if isinstance(metadata, dict) else {}, valid_from=belief.valid_from,
        valid_to=until or belief.valid_to, superseded_by=superseded_by,
        status="superseded" if superseded_by else belief.status, version=belief.id,
        trust=belief.trust,
    )  # fmt: skip

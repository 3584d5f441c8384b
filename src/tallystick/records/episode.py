"""An episode: something that was said or happened, verbatim, in a scope. Construct it and it is valid.

`timestamp` is when it happened, as its author says; `recorded` is when the ledger recorded it. Neither is ever used for
the other.

A scope is user, session and agent, compared exactly. Its key is for display and for the documented index, never for
comparison: its parts are escaped, so that no id can end one part and begin another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, NamedTuple

from tallystick.records.belief import OWNER
from tallystick.records.clock import stamp
from tallystick.records.display import Displayable, short
from tallystick.records.errors import MemoryScopeError, Refused
from tallystick.records.event import Event
from tallystick.records.fact import Fact
from tallystick.records.fields import TRUST, must_be_name, must_be_object, must_be_one_of, must_be_texts

RETRACTED, ARCHIVED = "retracted", "archived"  # what an episode was before it was restored
MACHINES = ("assistant", "system", "tool")  # roles whose "I" is no person


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(Displayable):
    """One thing that happened. `id` is its author's name for it within its scope; by default the event's id."""

    content: str
    timestamp: datetime
    id: str = ""
    source_node: str = ""  # the node of a graph of agents that it came from
    agent: str = ""
    user: str = OWNER
    session: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    path: str = ""
    trust: str = "human"
    seq: int = -1  # the event that recorded it
    recorded: str = ""
    source: str = ""  # that event's id
    withheld: str | None = field(default=None, compare=False, repr=False)  # why it is withheld; empty: it is not

    def __post_init__(self) -> None:
        for value in _texts_of(self):
            if type(value) is not str:
                must_be_texts(self, *_TEXTS)
        if not self.content.strip():
            raise Refused("nothing to observe: content must not be empty", "required")
        if not self.user:
            must_be_name("user", self.user)
        if self.trust not in TRUST:
            must_be_one_of("trust", self.trust, TRUST)
        if type(self.metadata) is not dict:
            must_be_object("metadata", self.metadata)
        if self.timestamp.tzinfo is not UTC:
            stamp(self.timestamp)

    @property
    def speaker(self) -> str:
        """The person who says "I", if any: the speaker named in the metadata, else the agent, else the user."""
        named = self.metadata.get("speaker")
        if isinstance(named, str) and named.strip():
            return named.strip()
        is_machine = self.metadata.get("role") in MACHINES and not self.agent
        return "" if is_machine else self.agent.strip() or self.user.strip()

    def to_body(self) -> dict[str, Any]:
        """The body that the ledger records, without defaults. `seq` and `recorded` are the event's own."""
        pairs = zip(_RECORDED, _recorded_of(self), strict=True)
        body = {name: value for name, value in pairs if value and value != _USUAL.get(name)}
        body["timestamp"] = stamp(self.timestamp)
        return body

    @classmethod
    def of(cls, event: Event) -> Episode:
        """The episode that an event recorded. Fields of a newer tallystick are ignored."""
        body: Mapping[str, Any] = (event.body or {})["episode"]
        get = body.get
        return cls(
            content=body["content"], timestamp=datetime.fromisoformat(body["timestamp"]), id=get("id", event.id),
            source_node=get("source_node", ""), agent=get("agent", ""), user=get("user", OWNER),
            session=get("session", ""), metadata=get("metadata") or {}, path=get("path", ""),
            trust=get("trust", "human"), seq=event.seq, recorded=event.ts, source=event.id,
        )  # fmt: skip

    def recorded_by(self, event: Event) -> Episode:
        """This episode, as the event says that records it. It is changed: nobody else may have it yet."""
        give = object.__setattr__
        give(self, "id", self.id or event.id)
        give(self, "timestamp", self.timestamp.astimezone(UTC))
        give(self, "seq", event.seq)
        give(self, "recorded", event.ts)
        give(self, "source", event.id)
        return self

    def __repr__(self) -> str:
        scope = "/".join(filter(None, (self.user, self.session, self.agent)))
        return f"<Episode {self.id} {short(self.content)!r} {scope}>"


_TEXTS = ("id", "content", "source_node", "agent", "user", "session", "path")
_RECORDED = (*_TEXTS, "metadata", "trust")
_USUAL = {"user": OWNER, "trust": "human"}
_texts_of, _recorded_of = attrgetter(*_TEXTS), attrgetter(*_RECORDED)


@dataclass(frozen=True, slots=True)
class Retraction(Displayable):
    """Retracted episodes, and the facts that come from them."""

    episodes: tuple[Episode, ...]
    resting: tuple[Fact, ...]  # from these alone
    shared: tuple[Fact, ...]  # from these and from others that stand
    withdrawn: bool


class Scope(NamedTuple):
    """A scope. `session` and `agent` are empty where none was given."""

    user: str
    session: str = ""
    agent: str = ""

    @property
    def key(self) -> str:
        """`/user/{user}/session/{session}/agent/{agent}/`, with `%` and `/` inside a part escaped as in an address."""
        return f"/user/{_escaped(self.user)}/session/{_escaped(self.session)}/agent/{_escaped(self.agent)}/"


def checked(**parts: object) -> None:
    """Refuse a part that is not a name. None means any."""
    for name, value in parts.items():
        if value is None:
            continue
        if type(value) is not str:
            raise MemoryScopeError(f"{name} must be a string, not {type(value).__name__}")
        if not value:
            raise MemoryScopeError(f"{name} must not be empty; leave it out to mean any")


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")

"""An episode: something that was said or happened, verbatim, in a scope. Construct it and it is valid.

`timestamp` is when it happened, as its teller says; `recorded` is when the ledger learned of it. The two are never used
for one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tallystick.records.belief import OWNER, TRUST
from tallystick.records.clock import stamp
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.fact import Fact

MACHINES = ("assistant", "system", "tool")  # roles whose "I" is nobody's


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(Displayable):
    """One thing that happened. `id` is the teller's name for it within its scope; without one, it is the event's."""

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
    withheld: str | None = field(default=None, compare=False, repr=False)  # why its words are; empty: they are not

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if type(getattr(self, name)) is not str:
                raise Refused(f"an episode's {name} is text, not {type(getattr(self, name)).__name__}")
        if not self.content.strip():
            raise Refused("there is nothing to observe: say it in words", "required")
        if not self.user:
            raise Refused("an episode belongs to a user: an empty name is nobody", "name")
        if self.trust not in TRUST:
            raise Refused(f"trust {self.trust!r} is not known; it is one of {', '.join(TRUST)}")
        if type(self.metadata) is not dict:
            raise Refused(f"an episode's metadata is a dictionary, not {type(self.metadata).__name__}")
        stamp(self.timestamp)

    @property
    def speaker(self) -> str:
        """Whose "I" it is, if anybody's: the speaker that the metadata name, else the agent, else the user."""
        named = self.metadata.get("speaker")
        if isinstance(named, str) and named.strip():
            return named.strip()
        is_machine = self.metadata.get("role") in MACHINES and not self.agent
        return "" if is_machine else self.agent.strip() or self.user.strip()

    def to_body(self) -> dict[str, Any]:
        """What the ledger records: the fields that say something. `seq` and `recorded` are the event's own."""
        body = {name: value for name in _RECORDED if (value := getattr(self, name)) not in ("", {}, _USUAL.get(name))}
        return body | {"timestamp": stamp(self.timestamp)}

    @classmethod
    def of(cls, event: Event) -> Episode:
        """The episode that an event recorded. Fields of a newer tallystick are passed over."""
        body: Mapping[str, Any] = (event.body or {})["episode"]
        known = {"id": event.id} | {name: body[name] for name in _RECORDED if name in body}
        return cls(**known, timestamp=datetime.fromisoformat(body["timestamp"]), seq=event.seq, recorded=event.ts,
                   source=event.id)  # fmt: skip

    def __repr__(self) -> str:
        text = self.content if len(self.content) <= 60 else self.content[:57] + "…"
        scope = "/".join(filter(None, (self.user, self.session, self.agent)))
        return f"<Episode {self.id} {text!r} {scope}>"


_TEXTS = ("id", "content", "source_node", "agent", "user", "session", "path")
_RECORDED = (*_TEXTS, "metadata", "trust")
_USUAL = {"user": OWNER, "trust": "human"}


@dataclass(frozen=True, slots=True)
class Retraction(Displayable):
    """What was taken back, and which facts come from it."""

    episodes: tuple[Episode, ...]
    resting: tuple[Fact, ...]  # on it alone
    shared: tuple[Fact, ...]  # on it and on others, which stand
    withdrawn: bool

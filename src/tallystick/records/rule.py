"""Consolidation: rules (which episodes become facts, how often), extractors and their claims, and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable, html_of, plain
from tallystick.records.errors import ConsolidationRuleError, Refused
from tallystick.records.fields import must_be_share

if TYPE_CHECKING:
    from tallystick.records.delta import Delta
    from tallystick.records.episode import Episode
    from tallystick.records.fact import Fact

_FIELDS = ("id", "cadence", "when_filter", "then_emits")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRule(Displayable):
    """A rule. `when_filter` is read by `consolidate.filter`; an empty one matches every episode.

    `cadence` is `{"every": N}`, in episodes, or `{"cron": "…"}`, with a `zone` if not in UTC: see `Cadence`.
    A rule with an empty one runs only on request.
    """

    id: str
    cadence: dict[str, Any] = field(default_factory=dict)
    when_filter: str = ""
    then_emits: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if type(self.id) is not str or not self.id:
            raise ConsolidationRuleError("a rule needs an id")
        if type(self.when_filter) is not str:
            raise ConsolidationRuleError(f"when_filter must be a string, not {type(self.when_filter).__name__}")
        if type(self.cadence) is not dict:
            raise ConsolidationRuleError('cadence must be {"every": N} or {"cron": "…"}')
        channels: object = self.then_emits
        if not isinstance(channels, list) or not all(isinstance(name, str) and name for name in channels):
            raise ConsolidationRuleError("then_emits must be a list of channel names")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ConsolidationRule:
        """A rule from a file. An unknown field is an error."""
        if unknown := sorted(map(str, given.keys() - set(_FIELDS))):
            raise ConsolidationRuleError(f"a rule has no field {unknown[0]!r}; it has {', '.join(_FIELDS)}")
        return cls(**{"id": "", **given})


class Finding(NamedTuple):
    """An episode that a rule could not use. It is skipped; the others go on."""

    rule: str
    source: str  # the event that recorded it
    reason: str
    seq: int  # the event that recorded the finding

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in self._fields}

    def _repr_html_(self) -> str:
        return html_of(self)


@dataclass(frozen=True, slots=True)
class RuleStatus(Displayable):
    """A rule and its progress."""

    rule: ConsolidationRule
    user: str
    waiting: int  # episodes that it has not considered
    last: str  # when it last ran
    next: str  # when it is due next, if it has a schedule
    is_due: bool
    runs: int
    considered: int


@dataclass(slots=True)
class Consolidated(Displayable):
    """The result of one run of a rule."""

    rule: str
    user: str = OWNER
    considered: int = 0  # episodes that its filter selected
    read: int = 0  # episodes that it read
    deltas: list[Delta] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)  # as they were left, in the order of the deltas
    waiting: list[str] = field(default_factory=list)  # pending reviews
    findings: list[Malformed] = field(default_factory=list)

    def __iter__(self) -> Iterator[Delta]:
        return iter(self.deltas)

    def __len__(self) -> int:
        return len(self.deltas)

    def __getitem__(self, at: int) -> Delta:
        return self.deltas[at]

    @property
    def made(self) -> dict[str, int]:
        """The number of deltas of each kind."""
        return dict(Counter(delta.kind for delta in self.deltas))

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule, "user": self.user, "read": self.read, "considered": self.considered, "made": self.made,
            "deltas": [delta.model_dump(mode="json") for delta in self.deltas],
            "facts": [fact.to_dict() for fact in self.facts], "waiting": self.waiting,
            "findings": [{"episode": each.episode_id, "reason": each.reason} for each in self.findings],
        }  # fmt: skip

    def __repr__(self) -> str:
        made = ", ".join(f"{count} {kind}" for kind, count in self.made.items()) or "nothing"
        return f"<Consolidated {self.rule}: {made} of {self.considered} episodes>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One claim. `start` and `end` are the place of its evidence in the episode's content."""

    subject: str
    predicate: str
    object: str
    confidence: float
    start: int
    end: int
    is_denied: bool = False  # it is said not to be true, or to be true no longer
    instead_of: str = ""  # the object that it replaces: "not A but B"
    is_hedged: bool = False  # "I think", "maybe"
    valid_from: str = ""  # a date, or a time in UTC, where the words say so
    valid_to: str = ""

    def __post_init__(self) -> None:
        if not (self.subject and self.predicate and self.object):
            raise Refused("a claim needs subject, predicate and object")
        must_be_share("confidence", self.confidence)
        if not 0 <= self.start < self.end:
            raise Refused("a claim needs the place of its words: 0 <= start < end", "required")


@runtime_checkable
class Extractor(Protocol):
    """Reads claims from episodes. It only proposes: the gate decides."""

    @property
    def name(self) -> str: ...

    def extract(self, episode: Episode) -> list[Extracted]: ...


@dataclass(frozen=True, slots=True)
class Malformed:
    """An episode that no delta could be made of, and why. The others go on."""

    episode_id: str
    reason: str

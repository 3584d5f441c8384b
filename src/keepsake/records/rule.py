"""A consolidation rule: which episodes become facts, how often, and into which channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from keepsake.records.display import Shown
from keepsake.records.errors import ConsolidationRuleError

_FIELDS = ("id", "cadence", "when_filter", "then_emits")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRule(Shown):
    """`when_filter` is read by `consolidate.filter`; an empty one fits every episode.

    `cadence` is `{"every": N}`, in episodes, or `{"cron": "…"}`, with a `zone` if not in UTC: see `Cadence`.
    An empty one runs only when asked.
    """

    id: str
    cadence: dict[str, Any] = field(default_factory=dict)
    when_filter: str = ""
    then_emits: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if type(self.id) is not str or not self.id:
            raise ConsolidationRuleError("a rule needs an id: it is stamped on every delta")
        if type(self.when_filter) is not str:
            raise ConsolidationRuleError(f"when_filter is text, not {type(self.when_filter).__name__}")
        if type(self.cadence) is not dict:
            raise ConsolidationRuleError('cadence is {"every": N} or {"cron": "…"}')
        channels: object = self.then_emits
        if not isinstance(channels, list) or not all(isinstance(name, str) and name for name in channels):
            raise ConsolidationRuleError("then_emits is a list of channel names")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ConsolidationRule:
        """A rule as a file has it. A field that no rule has is an error: it would not do what its writer hopes."""
        if unknown := sorted(map(str, given.keys() - set(_FIELDS))):
            raise ConsolidationRuleError(f"a rule has no field {unknown[0]!r}; it has {', '.join(_FIELDS)}")
        return cls(**{"id": "", **given})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

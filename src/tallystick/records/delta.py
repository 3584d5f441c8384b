"""Deltas: proposals of consolidation about facts. The only way from episodes to facts.

A delta must have its provenance: the episodes, the rule, the time of promotion and the confidence. `scope` says whose
facts it is about; it is optional in the format, and set by everything here that makes deltas.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from tallystick.records.errors import ConsolidationRuleError

Names = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class DeltaScope(BaseModel):
    """The owner of the facts in a delta. Facts have no session: they outlive it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: str = Field(min_length=1)
    agent: str = ""
    path: str = ""


class _Delta(BaseModel):
    """The fields that every delta must have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_episode_ids: Names
    promotion_ts: AwareDatetime
    rule_id: str = Field(min_length=1)
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False, strict=True)  # strict: true is not a number
    scope: DeltaScope | None = None
    channels: list[str] = Field(default_factory=list)  # where it is emitted: the rule's `then_emits`


class AddDelta(_Delta):
    """A new fact."""

    kind: Literal["add"] = "add"
    fact_payload: dict[str, Any]


class UpdateDelta(_Delta):
    """A fact that replaces others. An episode's id in `replaces` means the facts that come from it."""

    kind: Literal["update"] = "update"
    fact_payload: dict[str, Any]
    replaces: Names


class DeleteDelta(_Delta):
    """Facts that are no longer true."""

    kind: Literal["delete"] = "delete"
    replaces: Names


class NoopDelta(_Delta):
    """Nothing changes, and that is recorded. `corroborates` names the facts that it confirms."""

    kind: Literal["noop"] = "noop"
    corroborates: list[str] = Field(default_factory=list)


Delta = AddDelta | UpdateDelta | DeleteDelta | NoopDelta
MemoryDelta = Annotated[Delta, Field(discriminator="kind")]

_ANY: TypeAdapter[Delta] = TypeAdapter(MemoryDelta)
_PROVENANCE = ("rule_id", "source_episode_ids", "promotion_ts")


def check_provenance(delta: Delta) -> None:
    """ConsolidationRuleError, if a delta lacks its provenance: it may have been made without validation."""
    needed = (*_PROVENANCE, "replaces") if isinstance(delta, UpdateDelta | DeleteDelta) else _PROVENANCE
    for name in needed:
        if not getattr(delta, name, None):
            raise ConsolidationRuleError(f"{name} of the {delta.kind} delta must not be empty")
    sure = getattr(delta, "confidence", None)
    if not isinstance(sure, int | float) or not 0 <= sure <= 1:
        raise ConsolidationRuleError(f"confidence of the {delta.kind} delta must be a number from 0 to 1, not {sure!r}")


def read_delta(given: dict[str, Any] | str | bytes) -> Delta:
    """A delta from its JSON, or from a dictionary. pydantic's ValidationError says what is missing."""
    return _ANY.validate_json(given) if isinstance(given, str | bytes) else _ANY.validate_python(given)

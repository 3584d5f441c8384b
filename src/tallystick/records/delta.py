"""Deltas: what consolidation proposes to do to facts. The only way from episodes to facts.

A delta says where it comes from: the episodes, the rule, when it was promoted and how sure it is. One that does not is
no delta. `scope` says whose it is; it is optional in the format, and filled by everything here that makes deltas.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from tallystick.records.errors import ConsolidationRuleError

Names = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class DeltaScope(BaseModel):
    """Whose facts a delta speaks of. Facts have no session: they outlive it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: str = Field(min_length=1)
    agent: str = ""
    path: str = ""


class _Delta(BaseModel):
    """What every delta must say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_episode_ids: Names
    promotion_ts: AwareDatetime
    rule_id: str = Field(min_length=1)
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False, strict=True)  # true is no number
    scope: DeltaScope | None = None
    channels: list[str] = Field(default_factory=list)  # where it is emitted: the rule's `then_emits`


class AddDelta(_Delta):
    """A new fact."""

    kind: Literal["add"] = "add"
    fact_payload: dict[str, Any]


class UpdateDelta(_Delta):
    """A fact in the place of others. An episode's id in `replaces` means the facts that come from it."""

    kind: Literal["update"] = "update"
    fact_payload: dict[str, Any]
    replaces: Names


class DeleteDelta(_Delta):
    """Facts that no longer hold."""

    kind: Literal["delete"] = "delete"
    replaces: Names


class NoopDelta(_Delta):
    """Nothing changes; that it was seen is recorded. `corroborates` names what it says again."""

    kind: Literal["noop"] = "noop"
    corroborates: list[str] = Field(default_factory=list)


Delta = AddDelta | UpdateDelta | DeleteDelta | NoopDelta
MemoryDelta = Annotated[Delta, Field(discriminator="kind")]

_ANY: TypeAdapter[Delta] = TypeAdapter(MemoryDelta)
_PROVENANCE = ("rule_id", "source_episode_ids", "promotion_ts")


def check_provenance(delta: Delta) -> None:
    """ConsolidationRuleError, if a delta does not say where it comes from: it may have been made without validation."""
    needed = (*_PROVENANCE, "replaces") if isinstance(delta, UpdateDelta | DeleteDelta) else _PROVENANCE
    for name in needed:
        if not getattr(delta, name, None):
            raise ConsolidationRuleError(f"{name} of the {delta.kind} delta is empty; a delta says where it comes from")
    sure = getattr(delta, "confidence", None)
    if not isinstance(sure, int | float) or not 0 <= sure <= 1:
        raise ConsolidationRuleError(f"confidence of the {delta.kind} delta is a number from 0 to 1, not {sure!r}")


def read_delta(given: dict[str, Any] | str | bytes) -> Delta:
    """A delta from its JSON, or from a dictionary. pydantic's ValidationError says what is missing."""
    return _ANY.validate_json(given) if isinstance(given, str | bytes) else _ANY.validate_python(given)

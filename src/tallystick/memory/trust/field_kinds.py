"""Which fields of which records hold no words, and which records hold no words that could be quarantined.

What is not listed here counts as words of anybody: it is emptied before a program gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

from tallystick.decide.gate import Verdict
from tallystick.ledger.proof import Proof
from tallystick.ledger.verify import Report
from tallystick.records import (
    audit,
    evaluation,
    event as log,
    filled_frame as framed,
    frame,
    health,
    history,
    named_entity as named,
    page,
    page as compaction,
    path,
    path as merged,
    proposal,
    recall,
    receipt,
    relation,
    review,
    rule,
    schema,
    status,
    status as proof,
    times,
    transfer,
    transfer as exported,
    trust,
)
from tallystick.records.belief import Belief, RememberResult
from tallystick.records.episode import Episode, Retraction
from tallystick.records.extraction import Malformed
from tallystick.records.fact import Fact
from tallystick.records.graph import events as memory_event, nodes as graph
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.hit import Hit
from tallystick.records.path import MemoryPath
from tallystick.records.policy import Policy
from tallystick.records.rule import Consolidated
from tallystick.stores.phase.graph import merge as merging, traverse as walk

T = TypeVar("T")

_ID, _NUMBER, _TIME, _FLAG, _CHOICE = schema.ID, schema.NUMBER, schema.TIME, schema.FLAG, schema.CHOICE

MADE: dict[type, Mapping[str, schema.Kind]] = {  # of records with words of somebody: what each of their fields holds
    Belief: {**schema.RECORDS["belief"], "seq": _NUMBER, "at": _TIME},
    Episode: {**schema.RECORDS["episode"], "seq": _NUMBER, "recorded": _TIME, "source": _ID},
    review.Action: schema.RECORDS["action"],
    Fact: {
        "user": _ID, "confidence": _NUMBER, "pinned_at": _TIME, "valid_from": _TIME, "valid_to": _TIME,
        "superseded_by": _ID, "status": _CHOICE, "version": _ID, "trust": _CHOICE,
    },
    Hit: {
        "score": _NUMBER, "what": _CHOICE, "trust": _CHOICE, "confidence": _NUMBER, "at": _TIME, "seq": _NUMBER,
        "signals": _NUMBER, "block": _ID, "is_standing": _FLAG, "by": _ID,
    },
    page.PageEntry: {
        "id": _ID, "path": _ID, "at": _TIME, "superseded_by": _ID, "supersedes": _ID, "is_retracted": _FLAG,
        "chain": _ID,
    },
}  # fmt: skip

OPEN: frozenset[type] = frozenset({  # whose own texts were made here, or written by who is not quarantined
    Consolidated, GraphEnvelope, Malformed, MemoryPath, Policy, Report, Retraction, RememberResult, Verdict,
    audit.AuditLine,
    named.Known, exported.Exported, exported.TakenIn, compaction.Compaction, framed.Dropped, framed.FilledFrame,
    frame.Frame,
    graph.MemoryEdge, graph.MemoryNode, graph.MemoryProfile, named.ProposedMerge, health.StoreHealth,
    transfer.Imported, transfer.Skipped, log.LogPage, rule.Finding, memory_event.MemoryEvent, merged.Conflict,
    merged.Merged, merging.Likeness, merging.Outcome, named.NamedEntity, named.Relation, page.PageInfo, page.PageText,
    page.Synced, path.Tree, proof.ChainFile, proof.Kept, Proof, proposal.Proposal, recall.NearMiss,
    recall.Replayed, relation.Neighbour, review.Answered, review.Applied, review.Approval, review.Review,
    rule.ConsolidationRule, rule.RuleStatus, status.PendingReview, status.Erasure, status.Status, history.Change,
    history.Version, times.Span, trust.Distrust, trust.SourceStatus, receipt.Receipt, evaluation.KnownQuestion,
    evaluation.Verdict,
    walk.Expansion, walk.Way, history.Why,
})  # fmt: skip


def is_record(found: object) -> bool:
    return is_dataclass(found) or (isinstance(found, tuple) and hasattr(found, "_fields"))


def names_in(found: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(found)) if is_dataclass(found) else tuple(found._fields)


def remade(found: T, changes: Mapping[str, Any]) -> T:
    """The record with other values. They are not checked: what is withheld need not be a record one could write."""
    if not is_dataclass(found):
        return cast(T, found._replace(**changes))  # type: ignore[attr-defined]
    made = object.__new__(type(found))
    for name in names_in(found):
        object.__setattr__(made, name, changes[name] if name in changes else getattr(found, name))
    return made


def emptied(found: T, **kept: Any) -> T:
    """The record with nothing in it but the fields that hold no words, and what is `kept`."""
    kinds = MADE.get(type(found), {})
    words = [name for name in names_in(found) if isinstance(kinds.get(name, schema.TREE), dict)
             or kinds.get(name, schema.TREE) in schema.WORDS]  # fmt: skip
    return remade(found, {**{name: _empty(getattr(found, name)) for name in words}, **kept})


def _empty(value: Any) -> Any:
    if is_record(value):
        return emptied(value)
    if isinstance(value, str | list | tuple | dict | set | frozenset):
        return type(value)()
    return value if isinstance(value, int | float) else None

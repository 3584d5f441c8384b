"""tallystick: memory for AI agents that a person can read, replay and prove.

The names below are all there is to import from here. Each is loaded when it is first asked for, so that a command that
needs one part does not wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallystick.memory.async_memory import AsyncMemory
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.delta import AddDelta, DeleteDelta, MemoryDelta, NoopDelta, UpdateDelta
    from tallystick.records.episode import Episode
    from tallystick.records.errors import (
        Busy,
        ConsolidationRuleError,
        Damaged,
        KeyReused,
        MemoryScopeError,
        MigrationNotSupported,
        Moved,
        NeedsApproval,
        NotApproved,
        NotFound,
        NotWritten,
        Refused,
        RolledBack,
        TallystickError,
        Unfinished,
        UnportableCypherError,
    )
    from tallystick.records.event import Event
    from tallystick.records.fact import Fact, FactPattern
    from tallystick.records.frame import Frame
    from tallystick.records.graph.envelope import GraphEnvelope
    from tallystick.records.graph.events import MemoryEvent
    from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
    from tallystick.records.health import MigrationPlan, StoreHealth
    from tallystick.records.hit import Hit
    from tallystick.records.named_entity import NamedEntity, Relation
    from tallystick.records.path import MemoryPath
    from tallystick.records.record import ChronoRecord, EsdbRecord, WalEvent
    from tallystick.records.review import Action, Approval
    from tallystick.records.rule import ConsolidationRule
    from tallystick.stores.esdb.bridge import EsdbBridge, EsdbStatus
    from tallystick.stores.esdb.store import ChronoStore, open_store
    from tallystick.stores.memorystore.fact_store import SQLiteFactStore
    from tallystick.stores.memorystore.kg_promotion import PromoteTriplesToFacts
    from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore
    from tallystick.stores.phase.audit import InMemoryAuditSink, JsonlAuditSink
    from tallystick.stores.phase.event_log.in_memory import InMemoryMemoryEventLog
    from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
    from tallystick.stores.phase.event_log.protocol import MemoryEventLog
    from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
    from tallystick.stores.phase.graph.in_memory import InMemoryMemoryGraphStore
    from tallystick.stores.phase.graph.protocol import MemoryGraphStore
    from tallystick.stores.phase.runtime import PhaseMemoryRuntime
    from tallystick.stores.protocols import FactStore, MemoryStore

__version__ = "0.1.0"

__all__ = [
    "Action",
    "AddDelta",
    "Approval",
    "AsyncMemory",
    "Belief",
    "Busy",
    "ChronoRecord",
    "ChronoStore",
    "ConsolidationRule",
    "ConsolidationRuleError",
    "Damaged",
    "DeleteDelta",
    "Episode",
    "EsdbBridge",
    "EsdbRecord",
    "EsdbStatus",
    "Event",
    "Fact",
    "FactPattern",
    "FactStore",
    "FileBackedMemoryGraphStore",
    "Frame",
    "GraphEnvelope",
    "Hit",
    "InMemoryAuditSink",
    "InMemoryMemoryEventLog",
    "InMemoryMemoryGraphStore",
    "JsonlAuditSink",
    "JsonlMemoryEventLog",
    "TallystickError",
    "KeyReused",
    "Memory",
    "MemoryDelta",
    "MemoryEdge",
    "MemoryEvent",
    "MemoryEventLog",
    "MemoryGraphStore",
    "MemoryNode",
    "MemoryPath",
    "MemoryProfile",
    "MemoryScopeError",
    "MemoryStore",
    "MigrationNotSupported",
    "MigrationPlan",
    "Moved",
    "NamedEntity",
    "NeedsApproval",
    "NoopDelta",
    "NotApproved",
    "NotFound",
    "NotWritten",
    "PhaseMemoryRuntime",
    "PromoteTriplesToFacts",
    "Refused",
    "Relation",
    "RolledBack",
    "SQLiteFactStore",
    "SQLiteMemoryStore",
    "StoreHealth",
    "Unfinished",
    "UnportableCypherError",
    "UpdateDelta",
    "WalEvent",
    "open_store",
]

_HOMES = {
    "Action": "records.review",
    "AddDelta": "records.delta",
    "Approval": "records.review",
    "AsyncMemory": "memory.async_memory",
    "Belief": "records.belief",
    "ChronoRecord": "records.record",
    "ChronoStore": "stores.esdb.store",
    "ConsolidationRule": "records.rule",
    "DeleteDelta": "records.delta",
    "Episode": "records.episode",
    "EsdbBridge": "stores.esdb.bridge",
    "EsdbRecord": "records.record",
    "EsdbStatus": "stores.esdb.bridge",
    "Event": "records.event",
    "Fact": "records.fact",
    "FactPattern": "records.fact",
    "FactStore": "stores.protocols",
    "FileBackedMemoryGraphStore": "stores.phase.graph.file_backed",
    "Frame": "records.frame",
    "GraphEnvelope": "records.graph.envelope",
    "Hit": "records.hit",
    "InMemoryAuditSink": "stores.phase.audit",
    "InMemoryMemoryEventLog": "stores.phase.event_log.in_memory",
    "InMemoryMemoryGraphStore": "stores.phase.graph.in_memory",
    "JsonlAuditSink": "stores.phase.audit",
    "JsonlMemoryEventLog": "stores.phase.event_log.jsonl",
    "Memory": "memory.memory",
    "MemoryDelta": "records.delta",
    "MemoryEdge": "records.graph.nodes",
    "MemoryEvent": "records.graph.events",
    "MemoryEventLog": "stores.phase.event_log.protocol",
    "MemoryGraphStore": "stores.phase.graph.protocol",
    "MemoryNode": "records.graph.nodes",
    "MemoryPath": "records.path",
    "MemoryProfile": "records.graph.nodes",
    "MemoryStore": "stores.protocols",
    "MigrationPlan": "records.health",
    "NamedEntity": "records.named_entity",
    "NoopDelta": "records.delta",
    "PhaseMemoryRuntime": "stores.phase.runtime",
    "PromoteTriplesToFacts": "stores.memorystore.kg_promotion",
    "Relation": "records.named_entity",
    "SQLiteFactStore": "stores.memorystore.fact_store",
    "SQLiteMemoryStore": "stores.memorystore.memory_store",
    "StoreHealth": "records.health",
    "UpdateDelta": "records.delta",
    "WalEvent": "records.record",
    "open_store": "stores.esdb.store",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tallystick' has no attribute {name!r}")
    return getattr(import_module(f"tallystick.{_HOMES.get(name, 'records.errors')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

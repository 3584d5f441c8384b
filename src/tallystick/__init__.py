"""tallystick: memory for AI agents that a person can read, replay and prove.

The names below are all there is to import from here. Each is loaded when it is first asked for, so that a command that
needs one part does not wait for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.memory.async_memory import AsyncMemory as AsyncMemory
    from tallystick.memory.memory import Memory as Memory
    from tallystick.records.belief import Belief as Belief
    from tallystick.records.delta import (
        AddDelta as AddDelta,
        DeleteDelta as DeleteDelta,
        MemoryDelta as MemoryDelta,
        NoopDelta as NoopDelta,
        UpdateDelta as UpdateDelta,
    )
    from tallystick.records.entity import NamedEntity as NamedEntity, Relation as Relation
    from tallystick.records.episode import Episode as Episode
    from tallystick.records.errors import (
        Busy as Busy,
        ConsolidationRuleError as ConsolidationRuleError,
        Damaged as Damaged,
        KeyReused as KeyReused,
        MemoryScopeError as MemoryScopeError,
        MigrationNotSupported as MigrationNotSupported,
        Moved as Moved,
        NeedsApproval as NeedsApproval,
        NotApproved as NotApproved,
        NotFound as NotFound,
        NotWritten as NotWritten,
        Refused as Refused,
        RolledBack as RolledBack,
        TallystickError as TallystickError,
        Unfinished as Unfinished,
        UnportableCypherError as UnportableCypherError,
    )
    from tallystick.records.esdb_record import (
        ChronoRecord as ChronoRecord,
        EsdbRecord as EsdbRecord,
        WalEvent as WalEvent,
    )
    from tallystick.records.event import Event as Event
    from tallystick.records.fact import Fact as Fact, FactPattern as FactPattern
    from tallystick.records.graph.envelope import GraphEnvelope as GraphEnvelope
    from tallystick.records.graph.events import MemoryEvent as MemoryEvent
    from tallystick.records.graph.nodes import (
        MemoryEdge as MemoryEdge,
        MemoryNode as MemoryNode,
        MemoryProfile as MemoryProfile,
    )
    from tallystick.records.health import MigrationPlan as MigrationPlan, StoreHealth as StoreHealth
    from tallystick.records.path import MemoryPath as MemoryPath
    from tallystick.records.recall import Frame as Frame, Hit as Hit
    from tallystick.records.review import Action as Action, Approval as Approval
    from tallystick.records.rule import ConsolidationRule as ConsolidationRule
    from tallystick.stores.esdb.bridge import EsdbBridge as EsdbBridge, EsdbStatus as EsdbStatus
    from tallystick.stores.esdb.store import ChronoStore as ChronoStore, open_store as open_store
    from tallystick.stores.memorystore.fact_store import SQLiteFactStore as SQLiteFactStore
    from tallystick.stores.memorystore.kg_promotion import PromoteTriplesToFacts as PromoteTriplesToFacts
    from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore as SQLiteMemoryStore
    from tallystick.stores.phase.audit import InMemoryAuditSink as InMemoryAuditSink, JsonlAuditSink as JsonlAuditSink
    from tallystick.stores.phase.event_log.protocol import (
        InMemoryMemoryEventLog as InMemoryMemoryEventLog,
        JsonlMemoryEventLog as JsonlMemoryEventLog,
        MemoryEventLog as MemoryEventLog,
    )
    from tallystick.stores.phase.graph.base import (
        InMemoryMemoryGraphStore as InMemoryMemoryGraphStore,
        MemoryGraphStore as MemoryGraphStore,
    )
    from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore as FileBackedMemoryGraphStore
    from tallystick.stores.phase.runtime import PhaseMemoryRuntime as PhaseMemoryRuntime
    from tallystick.stores.protocols import FactStore as FactStore, MemoryStore as MemoryStore

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "memory.async_memory": "AsyncMemory",
        "memory.memory": "Memory",
        "records.belief": "Belief",
        "records.delta": "AddDelta DeleteDelta MemoryDelta NoopDelta UpdateDelta",
        "records.episode": "Episode",
        "records.errors": (
            "Busy ConsolidationRuleError Damaged KeyReused MemoryScopeError MigrationNotSupported Moved "
            "NeedsApproval NotApproved NotFound NotWritten Refused RolledBack TallystickError Unfinished "
            "UnportableCypherError"
        ),
        "records.event": "Event",
        "records.fact": "Fact FactPattern",
        "records.recall": "Frame Hit",
        "records.graph.envelope": "GraphEnvelope",
        "records.graph.events": "MemoryEvent",
        "records.graph.nodes": "MemoryEdge MemoryNode MemoryProfile",
        "records.health": "MigrationPlan StoreHealth",
        "records.entity": "NamedEntity Relation",
        "records.path": "MemoryPath",
        "records.esdb_record": "ChronoRecord EsdbRecord WalEvent",
        "records.review": "Action Approval",
        "records.rule": "ConsolidationRule",
        "stores.esdb.bridge": "EsdbBridge EsdbStatus",
        "stores.esdb.store": "ChronoStore open_store",
        "stores.memorystore.fact_store": "SQLiteFactStore",
        "stores.memorystore.kg_promotion": "PromoteTriplesToFacts",
        "stores.memorystore.memory_store": "SQLiteMemoryStore",
        "stores.phase.audit": "InMemoryAuditSink JsonlAuditSink",
        "stores.phase.event_log.protocol": "InMemoryMemoryEventLog JsonlMemoryEventLog MemoryEventLog",
        "stores.phase.graph.file_backed": "FileBackedMemoryGraphStore",
        "stores.phase.graph.base": "InMemoryMemoryGraphStore MemoryGraphStore",
        "stores.phase.runtime": "PhaseMemoryRuntime",
        "stores.protocols": "FactStore MemoryStore",
    },
)

"""phase-memory: a workspace of files, its event log, graph, paths, actions, approvals and audit."""

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.records.graph.envelope import GraphEnvelope as GraphEnvelope
    from tallystick.records.graph.events import MemoryEvent as MemoryEvent
    from tallystick.records.graph.nodes import (
        MemoryEdge as MemoryEdge,
        MemoryNode as MemoryNode,
        MemoryProfile as MemoryProfile,
    )
    from tallystick.records.path import MemoryPath as MemoryPath
    from tallystick.records.review import Action as Action, Approval as Approval
    from tallystick.stores.phase.audit import (
        AuditSink as AuditSink,
        InMemoryAuditSink as InMemoryAuditSink,
        JsonlAuditSink as JsonlAuditSink,
    )
    from tallystick.stores.phase.event_log.protocol import (
        InMemoryMemoryEventLog as InMemoryMemoryEventLog,
        JsonlMemoryEventLog as JsonlMemoryEventLog,
        LogFinding as LogFinding,
        MemoryEventLog as MemoryEventLog,
    )
    from tallystick.stores.phase.event_log.replay import GraphSnapshot as GraphSnapshot
    from tallystick.stores.phase.findings import Diagnostic as Diagnostic, diagnose as diagnose
    from tallystick.stores.phase.graph.base import (
        InMemoryMemoryGraphStore as InMemoryMemoryGraphStore,
        MemoryGraphStore as MemoryGraphStore,
    )
    from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore as FileBackedMemoryGraphStore
    from tallystick.stores.phase.runtime import PhaseMemoryRuntime as PhaseMemoryRuntime

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "records.graph.envelope": "GraphEnvelope",
        "records.graph.events": "MemoryEvent",
        "records.graph.nodes": "MemoryEdge MemoryNode MemoryProfile",
        "records.path": "MemoryPath",
        "records.review": "Action Approval",
        "stores.phase.audit": "AuditSink InMemoryAuditSink JsonlAuditSink",
        "stores.phase.event_log.protocol": "InMemoryMemoryEventLog JsonlMemoryEventLog LogFinding MemoryEventLog",
        "stores.phase.event_log.replay": "GraphSnapshot",
        "stores.phase.findings": "Diagnostic diagnose",
        "stores.phase.graph.file_backed": "FileBackedMemoryGraphStore",
        "stores.phase.graph.base": "InMemoryMemoryGraphStore MemoryGraphStore",
        "stores.phase.runtime": "PhaseMemoryRuntime",
    },
)

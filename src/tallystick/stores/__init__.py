"""Other memories' own classes, one package for each, and the open folder that they and `Memory` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.stores.memorystore.fact_store import SQLiteFactStore as SQLiteFactStore
    from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore as SQLiteMemoryStore
    from tallystick.stores.phase.audit import (
        AuditSink as AuditSink,
        InMemoryAuditSink as InMemoryAuditSink,
        JsonlAuditSink as JsonlAuditSink,
    )
    from tallystick.stores.phase.event_log.protocol import (
        InMemoryMemoryEventLog as InMemoryMemoryEventLog,
        JsonlMemoryEventLog as JsonlMemoryEventLog,
        MemoryEventLog as MemoryEventLog,
    )
    from tallystick.stores.phase.findings import Diagnostic as Diagnostic
    from tallystick.stores.phase.graph.base import InMemoryMemoryGraphStore as InMemoryMemoryGraphStore
    from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore as FileBackedMemoryGraphStore
    from tallystick.stores.phase.graph.protocol import MemoryGraphStore as MemoryGraphStore
    from tallystick.stores.phase.runtime import PhaseMemoryRuntime as PhaseMemoryRuntime
    from tallystick.stores.protocols import FactStore as FactStore, MemoryStore as MemoryStore

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "stores.memorystore.fact_store": "SQLiteFactStore",
        "stores.memorystore.memory_store": "SQLiteMemoryStore",
        "stores.phase.audit": "AuditSink InMemoryAuditSink JsonlAuditSink",
        "stores.phase.event_log.protocol": "InMemoryMemoryEventLog JsonlMemoryEventLog MemoryEventLog",
        "stores.phase.findings": "Diagnostic",
        "stores.phase.graph.file_backed": "FileBackedMemoryGraphStore",
        "stores.phase.graph.base": "InMemoryMemoryGraphStore",
        "stores.phase.graph.protocol": "MemoryGraphStore",
        "stores.phase.runtime": "PhaseMemoryRuntime",
        "stores.protocols": "FactStore MemoryStore",
    },
)

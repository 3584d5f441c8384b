"""Other memories' own classes, one package for each, and the open folder that they and `Memory` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.stores.memorystore.fact_store import SQLiteFactStore
    from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore
    from tallystick.stores.phase.audit import AuditSink, InMemoryAuditSink, JsonlAuditSink
    from tallystick.stores.phase.event_log.in_memory import InMemoryMemoryEventLog
    from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
    from tallystick.stores.phase.event_log.protocol import MemoryEventLog
    from tallystick.stores.phase.graph.diagnostics import Diagnostic
    from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
    from tallystick.stores.phase.graph.in_memory import InMemoryMemoryGraphStore
    from tallystick.stores.phase.graph.protocol import MemoryGraphStore
    from tallystick.stores.phase.runtime import PhaseMemoryRuntime
    from tallystick.stores.protocols import FactStore, MemoryStore

__all__ = [
    "AuditSink",
    "Diagnostic",
    "FactStore",
    "FileBackedMemoryGraphStore",
    "InMemoryAuditSink",
    "InMemoryMemoryEventLog",
    "InMemoryMemoryGraphStore",
    "JsonlAuditSink",
    "JsonlMemoryEventLog",
    "MemoryEventLog",
    "MemoryGraphStore",
    "MemoryStore",
    "PhaseMemoryRuntime",
    "SQLiteFactStore",
    "SQLiteMemoryStore",
]

__getattr__ = lazy_names(
    __name__,
    {
        "AuditSink": "phase.audit",
        "Diagnostic": "phase.graph.diagnostics",
        "FactStore": "protocols",
        "FileBackedMemoryGraphStore": "phase.graph.file_backed",
        "InMemoryAuditSink": "phase.audit",
        "InMemoryMemoryEventLog": "phase.event_log.in_memory",
        "InMemoryMemoryGraphStore": "phase.graph.in_memory",
        "JsonlAuditSink": "phase.audit",
        "JsonlMemoryEventLog": "phase.event_log.jsonl",
        "MemoryEventLog": "phase.event_log.protocol",
        "MemoryGraphStore": "phase.graph.protocol",
        "MemoryStore": "protocols",
        "PhaseMemoryRuntime": "phase.runtime",
        "SQLiteFactStore": "memorystore.fact_store",
        "SQLiteMemoryStore": "memorystore.memory_store",
    },
)

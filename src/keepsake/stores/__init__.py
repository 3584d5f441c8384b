"""Other memories' own classes, and the open folder that they and `Memory` share. Each is loaded when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepsake.stores.memorystore.sqlite_fact import SQLiteFactStore
    from keepsake.stores.memorystore.sqlite_memory import SQLiteMemoryStore
    from keepsake.stores.phase.audit import AuditSink, InMemoryAuditSink, JsonlAuditSink
    from keepsake.stores.phase.event_log.in_memory import InMemoryMemoryEventLog
    from keepsake.stores.phase.event_log.jsonl import JsonlMemoryEventLog
    from keepsake.stores.phase.event_log.protocol import MemoryEventLog
    from keepsake.stores.phase.graph.diagnostics import Diagnostic
    from keepsake.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
    from keepsake.stores.phase.graph.in_memory import InMemoryMemoryGraphStore
    from keepsake.stores.phase.graph.protocol import MemoryGraphStore
    from keepsake.stores.phase.phase_runtime import PhaseMemoryRuntime
    from keepsake.stores.protocols import FactStore, MemoryStore

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

_HOMES = {
    "AuditSink": "audit_sink",
    "Diagnostic": "graph.diagnose",
    "FactStore": "protocols",
    "FileBackedMemoryGraphStore": "graph.file_backed",
    "InMemoryAuditSink": "audit_sink",
    "InMemoryMemoryEventLog": "event_log.in_memory",
    "InMemoryMemoryGraphStore": "graph.in_memory",
    "JsonlAuditSink": "audit_sink",
    "JsonlMemoryEventLog": "event_log.jsonl",
    "MemoryEventLog": "event_log.protocols",
    "MemoryGraphStore": "graph.protocols",
    "MemoryStore": "protocols",
    "PhaseMemoryRuntime": "phase_runtime",
    "SQLiteFactStore": "sqlite_fact",
    "SQLiteMemoryStore": "sqlite_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'keepsake.stores' has no attribute {name!r}")
    return getattr(import_module(f"keepsake.stores.{_HOMES[name]}"), name)

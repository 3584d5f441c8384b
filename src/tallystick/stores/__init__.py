"""Other memories' own classes, one package for each, and the open folder that they and `Memory` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.stores.memorystore import (
        FactStore as FactStore,
        MemoryStore as MemoryStore,
        SQLiteFactStore as SQLiteFactStore,
        SQLiteMemoryStore as SQLiteMemoryStore,
    )
    from tallystick.stores.phase import (
        AuditSink as AuditSink,
        Diagnostic as Diagnostic,
        FileBackedMemoryGraphStore as FileBackedMemoryGraphStore,
        InMemoryAuditSink as InMemoryAuditSink,
        InMemoryMemoryEventLog as InMemoryMemoryEventLog,
        InMemoryMemoryGraphStore as InMemoryMemoryGraphStore,
        JsonlAuditSink as JsonlAuditSink,
        JsonlMemoryEventLog as JsonlMemoryEventLog,
        MemoryEventLog as MemoryEventLog,
        MemoryGraphStore as MemoryGraphStore,
        PhaseMemoryRuntime as PhaseMemoryRuntime,
    )

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "stores.memorystore": "FactStore MemoryStore SQLiteFactStore SQLiteMemoryStore",
        "stores.phase": "AuditSink Diagnostic FileBackedMemoryGraphStore InMemoryAuditSink InMemoryMemoryEventLog "
        "InMemoryMemoryGraphStore JsonlAuditSink JsonlMemoryEventLog MemoryEventLog MemoryGraphStore "
        "PhaseMemoryRuntime",
    },
)

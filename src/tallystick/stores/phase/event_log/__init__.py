"""Logs of memory events: one protocol, one in memory, one in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.stores.phase.event_log.in_memory import InMemoryMemoryEventLog
    from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
    from tallystick.stores.phase.event_log.protocol import LogFinding, MemoryEventLog
    from tallystick.stores.phase.event_log.replay import GraphSnapshot

__all__ = [
    "GraphSnapshot",
    "InMemoryMemoryEventLog",
    "JsonlMemoryEventLog",
    "LogFinding",
    "MemoryEventLog",
]

__getattr__ = lazy_names(
    __name__,
    {
        "GraphSnapshot": "replay",
        "InMemoryMemoryEventLog": "in_memory",
        "JsonlMemoryEventLog": "jsonl",
        "LogFinding": "protocol",
        "MemoryEventLog": "protocol",
    },
)

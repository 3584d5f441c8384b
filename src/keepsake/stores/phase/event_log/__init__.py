"""Logs of memory events: one protocol, one in memory, one in a file. Each is loaded when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepsake.stores.phase.event_log.in_memory import InMemoryMemoryEventLog
    from keepsake.stores.phase.event_log.jsonl import JsonlMemoryEventLog
    from keepsake.stores.phase.event_log.protocol import LogFinding, MemoryEventLog
    from keepsake.stores.phase.event_log.replay import GraphSnapshot

__all__ = ["GraphSnapshot", "InMemoryMemoryEventLog", "JsonlMemoryEventLog", "LogFinding", "MemoryEventLog"]

_HOMES = {
    "GraphSnapshot": "replay",
    "InMemoryMemoryEventLog": "in_memory",
    "JsonlMemoryEventLog": "jsonl",
    "LogFinding": "protocols",
    "MemoryEventLog": "protocols",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'keepsake.stores.phase.event_log' has no attribute {name!r}")
    return getattr(import_module(f"keepsake.stores.phase.event_log.{_HOMES[name]}"), name)

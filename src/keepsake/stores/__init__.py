"""Other memories' own classes, and the open folder that they and `Memory` share. Each is loaded when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepsake.stores.protocols import FactStore, MemoryStore
    from keepsake.stores.sqlite_fact import SQLiteFactStore
    from keepsake.stores.sqlite_memory import SQLiteMemoryStore

__all__ = ["FactStore", "MemoryStore", "SQLiteFactStore", "SQLiteMemoryStore"]

_HOMES = {
    "FactStore": "protocols",
    "MemoryStore": "protocols",
    "SQLiteFactStore": "sqlite_fact",
    "SQLiteMemoryStore": "sqlite_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'keepsake.stores' has no attribute {name!r}")
    return getattr(import_module(f"keepsake.stores.{_HOMES[name]}"), name)

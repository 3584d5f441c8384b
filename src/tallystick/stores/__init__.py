"""Other memories' own classes, one package for each, and the open folder that they and `Memory` share."""

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.stores.memorystore import (
        FactStore as FactStore,
        MemoryStore as MemoryStore,
        SQLiteFactStore as SQLiteFactStore,
        SQLiteMemoryStore as SQLiteMemoryStore,
    )

_NAMES = {"stores.memorystore": "FactStore MemoryStore SQLiteFactStore SQLiteMemoryStore"}
__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

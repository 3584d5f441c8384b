"""keepsake: memory for AI agents that a person can read, replay and prove.

The names below are all there is to import from here. Each is loaded when it is first asked for, so that a command that
needs one part does not wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory
    from keepsake.records.belief import Belief
    from keepsake.records.chrono import ChronoRecord
    from keepsake.records.episode import Episode
    from keepsake.records.errors import (
        Busy,
        Damaged,
        KeepsakeError,
        Moved,
        NeedsApproval,
        NotFound,
        NotWritten,
        Refused,
        RolledBack,
    )
    from keepsake.records.event import Event
    from keepsake.records.frame import Frame
    from keepsake.records.hit import Hit
    from keepsake.stores.bridge import EsdbBridge
    from keepsake.stores.chrono import ChronoStore

__version__ = "0.1.0"

__all__ = [
    "Belief",
    "Busy",
    "ChronoRecord",
    "ChronoStore",
    "Damaged",
    "Episode",
    "EsdbBridge",
    "Event",
    "Frame",
    "Hit",
    "KeepsakeError",
    "Memory",
    "Moved",
    "NeedsApproval",
    "NotFound",
    "NotWritten",
    "Refused",
    "RolledBack",
]

_HOMES = {
    "Belief": "records.belief",
    "ChronoRecord": "records.chrono",
    "ChronoStore": "stores.chrono",
    "Episode": "records.episode",
    "EsdbBridge": "stores.bridge",
    "Event": "records.event",
    "Frame": "records.frame",
    "Hit": "records.hit",
    "Memory": "memory.memory",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'keepsake' has no attribute {name!r}")
    return getattr(import_module(f"keepsake.{_HOMES.get(name, 'records.errors')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

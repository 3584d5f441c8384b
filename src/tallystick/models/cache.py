"""Loaded models, one of each in a process.

However many memories and threads ask for a model, it is loaded once and kept until the process ends. A load that
failed is not kept: the next one tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T")

_held: dict[Hashable, Any] = {}
_lock = RLock()


def shared(key: Hashable, load: Callable[[], T]) -> T:
    """What `load` gave when `key` was first asked for."""
    if key not in _held:
        with _lock:
            if key not in _held:
                _held[key] = load()
    model: T = _held[key]
    return model

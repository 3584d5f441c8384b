"""The concepts of a memory, and the calls of each that are offered asynchronously too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tallystick.memory.async_memory import LEFT_OUT


def methods_of(kind: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a class that are offered, by name."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_") and name not in LEFT_OUT}

"""The index: blocks and what connects them, as SQLAlchemy Core tables on SQLite.

It is usable alone. The names below are loaded when they are first asked for: SQLAlchemy takes 0.4 seconds to import,
and whoever only needs a block's hash or the built-in frames should not wait for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepsake.projections.index.models import metadata
    from keepsake.stores.elfmem.engine import create_engine, create_test_engine

__all__ = ["create_engine", "create_test_engine", "metadata"]

_HOMES = {"create_engine": "engine", "create_test_engine": "engine", "metadata": "models"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

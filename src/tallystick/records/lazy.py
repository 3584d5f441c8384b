"""Names of a package that are imported on first use, because importing all of them takes long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:  # fmt: skip
    """The `__all__`, `__getattr__` and `__dir__` of a package: `homes` has the names of each module."""
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"tallystick.{home_of[name]}"), name)
        return vars(import_module(package)).setdefault(name, found)

    return sorted(home_of), load, lambda: sorted({*vars(import_module(package)), *home_of})

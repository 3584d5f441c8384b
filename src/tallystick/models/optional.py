"""Packages that may be missing, and the line that installs them.

They are asked for by name and imported where they are used, so that a memory without a model pays nothing for them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from tallystick.records.errors import Refused


def require(package: str, install: str) -> ModuleSpec:
    """Where `package` lies, or a refusal with the line `install`. Imports nothing of it."""
    spec = find_spec(package)
    if spec is None:
        raise Refused(f"{package} is not installed: {install}", "unavailable")
    return spec


def load(package: str, install: str) -> ModuleType:
    """The package, or a refusal that says what to type."""
    require(package, install)
    try:
        return import_module(package)
    except ImportError as error:
        raise Refused(
            f"{package} is installed but cannot be loaded ({one_line(error)}): {install}", "unavailable"
        ) from None


def one_line(error: object, limit: int = 200) -> str:
    """What another program's error says, fit for a line of ours."""
    words = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"

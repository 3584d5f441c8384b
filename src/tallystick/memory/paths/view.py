"""`m.on(path)`: a memory on one path of a conversation.

It has those calls of `Memory` that take a path, with the same arguments except that one. It has no state of its own:
two views of the same path are equal.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

from tallystick.memory.beliefs.store import BeliefStore
from tallystick.memory.facts.store import FactService
from tallystick.records.path import MemoryPath, shown


class PathView:
    """A memory on one path. `m.on("main")` is the root."""

    def __init__(self, memory: Any, path: str) -> None:
        self._memory, self.path = memory, path

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @cached_property
    def beliefs(self) -> BeliefStore:
        """Beliefs, as they are seen from this path."""
        found: BeliefStore = self._memory.beliefs
        return found.on(self.path)

    @cached_property
    def facts(self) -> FactService:
        """Beliefs with subject, predicate and object, as they are seen from this path."""
        found: FactService = self._memory.facts
        return found.on(self.path)

    def branch(self, name: str) -> PathView:
        """A new branch from here, as a view."""
        self._memory.paths.branch(name, self.path)
        return type(self)(self._memory, name)

    @property
    def record(self) -> MemoryPath | None:
        """The path itself; None for the root, which has no record."""
        found: MemoryPath | None = self._memory.paths.get(self.path) if self.path else None
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathView) and (other._memory, other.path) == (self._memory, self.path)

    def __hash__(self) -> int:
        return hash((id(self._memory), self.path))

    def __repr__(self) -> str:
        return f"<Memory {self._memory.folder} of {self._memory.user} on {shown(self.path)}>"


_MADE: dict[type, type[PathView]] = {}


def standing(kind: type) -> type[PathView]:
    """The view of a memory class: its calls that take a path, each made there."""
    if kind not in _MADE:
        body = {name: _made_there(name, call) for name, call in calls(kind).items()}
        _MADE[kind] = type("PathView", (PathView,), {**body, "__doc__": PathView.__doc__})
    return _MADE[kind]


def calls(kind: type) -> dict[str, Callable[..., Any]]:
    """The public calls of a class that take a path, by name; but not the one that leads here."""
    found = inspect.getmembers(kind, inspect.isfunction)
    taking = ((name, call) for name, call in found if "path" in inspect.signature(call).parameters)
    return {name: call for name, call in taking if name[0] != "_" and name != "on"}


def _made_there(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    known = inspect.signature(call)

    @wraps(call)
    def made(self: PathView, *given: Any, **named: Any) -> Any:
        if "path" in named:
            raise TypeError(f"{name}() is on path {shown(self.path)!r} already; leave `path` out")
        return call(self._memory, *given, path=self.path, **named)

    rest = [each for each in known.parameters.values() if each.name != "path"]
    made.__signature__ = known.replace(parameters=rest)  # type: ignore[attr-defined]  # inspect looks here
    return made

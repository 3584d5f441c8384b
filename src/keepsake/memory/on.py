"""`m.on(path)`: a memory, standing on one path of a conversation.

It has those calls of `Memory` that take a path, with the same arguments but that one. It holds nothing of its own: two
that stand on the same path are the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

from keepsake.memory.beliefs import BeliefsOf
from keepsake.memory.facts import FactsOf
from keepsake.memory.memory import Memory
from keepsake.records.memory_path import MemoryPath
from keepsake.records.paths import shown


class _Standing:
    """The calls of a memory that take a path, made on one."""

    def __init__(self, memory: Memory, path: str) -> None:
        self._memory, self.path = memory, path

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def calls() -> dict[str, Callable[..., Any]]:
    """The public calls of `Memory` that take a path, by name."""
    found = inspect.getmembers(Memory, inspect.isfunction)
    taking = ((name, call) for name, call in found if "path" in inspect.signature(call).parameters)
    return {name: call for name, call in taking if name[0] != "_" and name != "on"}


def _standing(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    known = inspect.signature(call)

    @wraps(call)
    def standing(self: _Standing, *given: Any, **named: Any) -> Any:
        if "path" in named:
            raise TypeError(f"{name}() is called on path {shown(self.path)!r} already; leave `path` out")
        return call(self._memory, *given, path=self.path, **named)

    rest = [each for each in known.parameters.values() if each.name != "path"]
    standing.__signature__ = known.replace(parameters=rest)  # type: ignore[attr-defined]  # inspect looks here
    return standing


_CALLS = {name: _standing(name, call) for name, call in calls().items()}


class On(type("Standing", (_Standing,), _CALLS)):  # type: ignore[misc]  # a base that is made here
    """A memory on one path. `m.on("main")` is the root."""

    _memory: Memory
    path: str

    @cached_property
    def beliefs(self) -> BeliefsOf:
        """What is held true, as it is seen from this path."""
        return self._memory.beliefs.on(self.path)

    @cached_property
    def facts(self) -> FactsOf:
        """Beliefs with subject, predicate and object, as they are seen from this path."""
        return self._memory.facts.on(self.path)

    def branch(self, name: str) -> On:
        """Branch from here, and stand there."""
        self._memory.paths.branch(name, self.path)
        return self._memory.on(name)

    @property
    def record(self) -> MemoryPath | None:
        """The path itself; None for the root, which has no record."""
        return self._memory.paths.get(self.path) if self.path else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, On) and (other._memory, other.path) == (self._memory, self.path)

    def __hash__(self) -> int:
        return hash((id(self._memory), self.path))

    def __repr__(self) -> str:
        return f"<Memory {self._memory.folder} of {self._memory.user} on {shown(self.path)}>"

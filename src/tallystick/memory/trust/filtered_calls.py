"""Where records leave `Memory`: every public call of its classes returns through the reader of its program.

A program with a person's trust has none, and gets the plain result. Only the result of the outermost call is filtered:
calls that `Memory` makes itself see everything, because decisions are made on the whole state.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from tallystick.records.display import display_lists

Kind = TypeVar("Kind", bound=type)


def answering(kind: Kind) -> Kind:
    """Let the calls of a class be `filtered`, and their lists be shown as tables."""
    return filtered(display_lists(kind))


def filtered(kind: Kind) -> Kind:
    """Let the public calls of a class, and those that `AsyncMemory` iterates, return through its outlet."""
    found = dict(inspect.getmembers(kind, inspect.isfunction))
    iterated = {f"_{name}" for name, method in found.items() if inspect.isgeneratorfunction(method)}
    for name, method in found.items():
        if not name.startswith("_") or name in iterated:
            setattr(kind, name, _iterating(method) if inspect.isgeneratorfunction(method) else _returning(method))
    return kind


def _returning(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        outlet = self._folder.outlet
        return method(self, *given, **named) if outlet is None else outlet.call(method, self, given, named)

    return call


def _iterating(method: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    @wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Iterator[Any]:
        outlet, found = self._folder.outlet, method(self, *given, **named)
        yield from found if outlet is None else outlet.each(found)

    return call

"""A part of the state: tables that follow events, and that can be put back as they were.

Tables are dictionaries that only `_set` and `_drop` change. Between `begin` and `commit` the journal, which all parts
of one state share, notes what was there before, so that `rollback` undoes a write that did not reach the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from tallystick.records.event import Event

F = TypeVar("F", bound=Callable[..., None])

GONE = object()


class Journal:
    """The changes since `begin`, each with the value before it; None outside a transaction."""

    undo: list[tuple[dict[Any, Any], Any, Any]] | None = None


def follows(*ops: str) -> Callable[[F], F]:
    """Mark the method that applies these events. It gets the event and its body."""

    def mark(method: F) -> F:
        method.ops = ops  # type: ignore[attr-defined]
        return method

    return mark


class Part:
    """Tables that follow events. Applying the same events in the same order always gives the same tables."""

    acts: ClassVar[dict[str, Callable[..., None]]] = {}

    def __init_subclass__(cls) -> None:
        found = {op: method for method in vars(cls).values() for op in getattr(method, "ops", ())}
        cls.acts = {**cls.acts, **found}

    def __init__(self, journal: Journal | None = None) -> None:
        self.journal = journal or Journal()
        self.clear()

    def clear(self) -> None:
        """Empty all tables."""

    def knows(self, op: str) -> bool:
        return op in self.acts

    def apply(self, event: Event) -> None:
        """Follow one event. One that was erased changes nothing."""
        act = self.acts.get(event.op)
        if act is not None and event.body is not None:
            act(self, event, event.body)

    def begin(self) -> None:
        self.journal.undo = []

    def commit(self) -> None:
        self.journal.undo = None

    def rollback(self) -> None:
        undo, self.journal.undo = self.journal.undo or [], None
        for table, key, before in reversed(undo):
            if before is GONE:
                table.pop(key, None)
            else:
                table[key] = before

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        if self.journal.undo is not None:
            self.journal.undo.append((table, key, table.get(key, GONE)))
        table[key] = value

    def _drop(self, table: dict[Any, Any], key: Any) -> None:
        if key in table:
            if self.journal.undo is not None:
                self.journal.undo.append((table, key, table[key]))
            del table[key]

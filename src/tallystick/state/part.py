"""A part of the state: tables that follow events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, TypeVar

from tallystick.records.event import Event
from tallystick.state.tables import Tables, TablesInMemory, dump, load

F = TypeVar("F", bound=Callable[..., None])


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

    def __init__(self, tables: Tables | None = None) -> None:
        self.tables: Tables = tables or TablesInMemory()
        self.declare(self.tables)

    def declare(self, tables: Tables) -> None:
        """Make the tables of this part."""

    def knows(self, op: str) -> bool:
        return op in self.acts

    def apply(self, event: Event) -> None:
        """Follow one event. One that was erased changes nothing."""
        act = self.acts.get(event.op)
        if act is not None and event.body is not None:
            act(self, event, event.body)

    # -- all tables, of this part and of those that share them -------------------------------------------------------

    def begin(self) -> None:
        self.tables.begin()

    def commit(self) -> None:
        self.tables.commit()

    def rollback(self) -> None:
        self.tables.rollback()

    def clear(self) -> None:
        self.tables.clear()

    def dump(self) -> Iterator[bytes]:
        """Every row as JSON."""
        return dump(self.tables)

    def load(self, rows: Iterable[bytes]) -> None:
        """Replace all with rows that `dump` gave. ValueError, if a row is not of these tables."""
        load(self.tables, rows)

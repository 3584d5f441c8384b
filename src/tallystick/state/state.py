"""Everything that decisions are made on, folded from events: beliefs, and the other parts.

The ledger feeds it. Each part knows its own events; an event that no part knows makes the
ledger read-only, so whoever adds an event adds the part that knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from tallystick.records.event import Event
from tallystick.records.operations import DELTA_NOOP, RECEIPT_PUT, RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.state.aliases import Aliases
from tallystick.state.beliefs import Beliefs
from tallystick.state.comparisons import Comparisons
from tallystick.state.episodes import Episodes
from tallystick.state.graph import GraphBook, Relations
from tallystick.state.imports import Taken
from tallystick.state.pages import Pages
from tallystick.state.paths import Paths
from tallystick.state.reviews import Reviews
from tallystick.state.rules import Rules
from tallystick.state.sessions import Uses, Work
from tallystick.state.sources import Distrusts
from tallystick.state.tables import Part, Table, Tables, TablesInMemory

Act = Callable[[Event, dict[str, Any]], None]

_CHANGE_NOTHING = frozenset((  # of what is remembered
    RECEIPT_PUT, RULE_PUT, RULE_DROP, RULE_RAN, RULE_FOUND, DELTA_NOOP, "snapshot/1", "ledger.seal/1",
    "ledger.torn/1", "ledger.copy/1", "ledger.state/1", "erase.done/1",
))  # fmt: skip


class PastState(Beliefs):
    """The beliefs after event `at`, what was approved or corroborated by then, and the names that held."""

    def __init__(self, tables: Tables, paths: Paths, at: int) -> None:
        self.reviews, self.distrusts, self.aliases = Reviews(tables), Distrusts(tables), Aliases(tables)
        self.comparisons = Comparisons(tables)
        super().__init__(tables, paths, at)


class State(Beliefs):
    """Beliefs and the other parts."""

    def __init__(self, tables: Tables | None = None) -> None:
        self.tables: Tables = tables or TablesInMemory()
        self.work = Work(self.tables)
        self.reviews = Reviews(self.tables)
        self.episodes = Episodes(self.tables)
        self.uses = Uses(self.tables)
        self.rules = Rules(self.tables)
        self.pages = Pages(self.tables)
        self.distrusts = Distrusts(self.tables)
        self.graph = GraphBook(self.tables)
        self.aliases, self.comparisons = Aliases(self.tables), Comparisons(self.tables)
        self.relations = Relations(self.tables)
        self.taken_in = Taken(self.tables)
        self._changed: Table[int] = self.tables.table("changed")  # one row, by ""
        super().__init__(self.tables)
        self._parts: list[Part] = [
            self.work, self.reviews, self.episodes, self.uses, self.rules, self.pages, self.paths, self.distrusts,
            self.graph, self.relations, self.taken_in, self.aliases, self.comparisons,
        ]  # fmt: skip
        self._watching = [part.watch for part in self._parts if type(part).watch is not Part.watch]
        self._following: dict[str, list[Act]] = {}
        for part in (self, *self._parts):
            for op, act in part.acts.items():
                self._following.setdefault(op, []).append(MethodType(act, part))

    @property
    def changed(self) -> int:
        """The last event that changed what is remembered; -1 if none did."""
        seq = self._changed.get("")
        return -1 if seq is None else seq

    def knows(self, op: str) -> bool:
        return op in self._following or self.taken_in.knows(op)

    def apply(self, event: Event) -> None:
        self.tables.event = event
        if event.body is not None:
            for act in self._following.get(event.op, ()):
                act(event, event.body)
        if event.op not in _CHANGE_NOTHING:
            self._changed.set("", event.seq)
        for watch in self._watching:  # these look at every event
            watch(event)

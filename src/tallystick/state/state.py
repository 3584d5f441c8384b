"""Everything that decisions are made on, folded from events: beliefs, and the other parts.

The ledger feeds it and writes its snapshots. Each part knows its own events; an event that no part knows makes the
ledger read-only, so whoever adds an event adds the part that knows it.
"""

from __future__ import annotations

import orjson

from tallystick.records.event import Event
from tallystick.records.operations import DELTA_NOOP, RECEIPT_PUT, RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.state.beliefs import Beliefs
from tallystick.state.episodes import Episodes
from tallystick.state.graph import GraphBook, Relations
from tallystick.state.imports import Taken
from tallystick.state.pages import Pages
from tallystick.state.part import Part
from tallystick.state.paths import Paths
from tallystick.state.reviews import Reviews
from tallystick.state.rules import Rules
from tallystick.state.sessions import Uses, Work
from tallystick.state.sources import Distrusts

_Part = Work | Reviews | Episodes | Uses | Rules | Pages | Paths | Distrusts | GraphBook | Relations | Taken

_CHANGE_NOTHING = (  # of what is remembered
    RECEIPT_PUT, RULE_PUT, RULE_DROP, RULE_RAN, RULE_FOUND, DELTA_NOOP, "snapshot/1", "ledger.seal/1",
    "ledger.torn/1", "ledger.copy/1",
    "erase.done/1",
)  # fmt: skip


class State(Beliefs):
    """Beliefs and the other parts. A snapshot of an older program has only the beliefs."""

    changed: tuple[int, str] = (-1, "")  # the last event that changed what is remembered; its hash, where it is at hand

    def __init__(self) -> None:
        paths = Paths()
        journal = paths.journal
        self.work = Work(journal)
        self.reviews = Reviews(journal)
        self.episodes = Episodes(journal)
        self.uses = Uses(journal)
        self.rules = Rules(journal)
        self.pages = Pages(journal)
        self.distrusts = Distrusts(journal)
        self.graph = GraphBook(journal)
        self.relations = Relations(journal)
        self.taken_in = Taken(journal)
        self._before = self.changed
        self._parts: dict[str, _Part] = {
            "work": self.work, "reviews": self.reviews, "episodes": self.episodes, "uses": self.uses,
            "rules": self.rules, "pages": self.pages, "paths": paths, "distrusts": self.distrusts,
            "graph": self.graph, "relations": self.relations, "taken_in": self.taken_in,
        }  # fmt: skip
        self._watching = [part for part in self._parts.values() if type(part).apply is not Part.apply]
        self._following: dict[str, list[Part]] = {}
        for part in self._parts.values():
            for op in () if part in self._watching else part.acts:
                self._following.setdefault(op, []).append(part)
        super().__init__(paths)

    def clear(self) -> None:
        super().clear()
        for part in self._parts.values():
            part.clear()

    def knows(self, op: str) -> bool:
        return super().knows(op) or any(part.knows(op) for part in self._parts.values())

    def apply(self, event: Event) -> None:
        super().apply(event)
        if event.op not in _CHANGE_NOTHING:
            self.changed = (event.seq, event.hash)
        for part in self._watching:  # these look at every event
            part.apply(event)
        for follower in self._following.get(event.op, ()):
            follower.apply(event)

    def begin(self) -> None:
        super().begin()
        self._before = self.changed

    def rollback(self) -> None:
        super().rollback()
        self.changed = self._before

    def dump(self) -> bytes:
        parts = {name: part.dump() for name, part in self._parts.items()} | {"changed": self.changed[0]}
        return super().dump()[:-1] + b',"parts":' + orjson.dumps(parts) + b"}"

    def load(self, dumped: bytes) -> None:
        super().load(dumped)
        parts = orjson.loads(b"{" + dumped.rpartition(b"\n],")[2]).get("parts", {})
        for name, part in self._parts.items():
            part.load(parts.get(name, {}))
        self.changed = (parts.get("changed", -1), "")
        if "paths" not in parts:
            self.paths.adopt((held.user, held.path, held.first, held.at) for held in self.held.values())
            self.paths.adopt(self.episodes.labels())

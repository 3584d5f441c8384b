"""Everything that decisions are made on, folded from events: beliefs, and the parts beside them.

The ledger feeds it and writes its snapshots. Each part knows its own events; an event that no part knows makes the
ledger read-only, so whoever adds an event adds the part that knows it.
"""

from __future__ import annotations

import orjson

from tallystick.records.event import Event
from tallystick.records.operations import DELTA_NOOP, RECEIPT_PUT, RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.state.beliefs import Beliefs
from tallystick.state.episodes import Episodes
from tallystick.state.graph import GraphBook
from tallystick.state.imports import Taken
from tallystick.state.pages import Pages
from tallystick.state.paths import Paths
from tallystick.state.relations import Relations
from tallystick.state.reviews import Reviews
from tallystick.state.rules import Rules
from tallystick.state.sessions import Work
from tallystick.state.sources import Distrusts
from tallystick.state.usage import Uses

_Part = Work | Reviews | Episodes | Uses | Rules | Pages | Paths | Distrusts | GraphBook | Relations | Taken

_CHANGE_NOTHING = (  # of what is remembered
    RECEIPT_PUT, RULE_PUT, RULE_DROP, RULE_RAN, RULE_FOUND, DELTA_NOOP, "snapshot/1", "ledger.seal/1",
    "ledger.torn/1", "ledger.copy/1",
    "erase.done/1",
)  # fmt: skip


class State(Beliefs):
    """Beliefs, and what else is known. A snapshot that an older program wrote has only the beliefs."""

    changed: tuple[int, str] = (-1, "")  # the last event that changed what is remembered; its hash, where it is at hand

    def __init__(self) -> None:
        self.work = Work()
        self.reviews = Reviews()
        self.episodes = Episodes()
        self.uses = Uses()
        self.rules = Rules()
        self.pages = Pages()
        self.paths = Paths()
        self.distrusts = Distrusts()
        self.graph = GraphBook()
        self.relations = Relations()
        self.taken_in = Taken()
        self._before = self.changed
        self._parts: dict[str, _Part] = {
            "work": self.work, "reviews": self.reviews, "episodes": self.episodes, "uses": self.uses,
            "rules": self.rules, "pages": self.pages, "paths": self.paths, "distrusts": self.distrusts,
            "graph": self.graph, "relations": self.relations, "taken_in": self.taken_in,
        }  # fmt: skip
        super().__init__()

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
        for part in self._parts.values():
            part.apply(event)

    def sight(self, user: str, path: str) -> tuple[str, ...]:
        return self.paths.lineage(user, path)

    def writable(self, user: str, path: str) -> None:
        self.paths.writable(user, path)

    def begin(self) -> None:
        super().begin()
        self._before = self.changed
        for part in self._parts.values():
            part.begin()

    def commit(self) -> None:
        super().commit()
        for part in self._parts.values():
            part.commit()

    def rollback(self) -> None:
        super().rollback()
        self.changed = self._before
        for part in self._parts.values():
            part.rollback()

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

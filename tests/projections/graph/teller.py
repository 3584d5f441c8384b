"""Events as a ledger would hold them, made by hand, for a graph to follow."""

from __future__ import annotations

from typing import Any

import orjson

from tallystick.projections.database import IN_MEMORY
from tallystick.projections.graph.open_database import GraphFile
from tallystick.records.event import Event

LEDGER = "0" * 32


class Teller:
    """Gives every draft its place."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def tell(self, op: str, body: dict[str, Any] | None) -> Event:
        seq = len(self.events)
        ts = f"2026-05-{1 + seq // 24 % 28:02}T{seq % 24:02}:00:00.{seq // 672:06}Z"
        self.events.append(Event(seq, ts, op, f"id{seq}", "test:1", f"{seq:064x}", body))
        return self.events[-1]

    def believe(self, name: str, triple: tuple[str, str, str] = ("", "", ""), about: str = "", **rest: Any) -> str:
        """State a belief; one that `replaces` others takes their place."""
        replaces = rest.pop("replaces", [])
        belief: dict[str, Any] = {"id": name, "key": name, "confidence": 0.7, **rest}
        if any(triple):
            belief["triple"] = list(triple)
        if about:
            belief["about"] = about
        more = {"replaces": replaces} if replaces else {}
        self.tell("belief.supersede/1" if replaces else "belief.put/1", {"belief": belief, **more})
        return name


def graph_of(events: list[Event], *cuts: int) -> GraphFile:
    """A graph that took in events in portions: up to each of `cuts`, and then the rest."""
    graph = GraphFile(IN_MEMORY, LEDGER)
    for end in (*sorted(cuts), len(events)):
        graph.catch_up(events[:end])
    return graph


def everything_in(graph: GraphFile) -> dict[str, list[Any]]:
    """Every row of every table, in order."""
    names = [row[0] for row in graph.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: graph.db.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def nodes_in(graph: GraphFile, user: str = "me") -> dict[str, dict[str, Any]]:
    return {told["id"]: told for told in map(orjson.loads, graph.lines(user, "nodes"))}


def edges_in(graph: GraphFile, user: str = "me") -> dict[str, dict[str, Any]]:
    return {told["id"]: told for told in map(orjson.loads, graph.lines(user, "edges"))}


def arrows_in(graph: GraphFile, user: str = "me") -> list[str]:
    """The edges that hold, as people draw them."""
    held = [each for each in edges_in(graph, user).values() if "valid_to" not in each]
    return sorted(f"{each['source']} -{each['kind']}-> {each['target']}" for each in held)

"""The rows of `graph.db` while events are applied: written as they come, combined when the work is done.

The caller owns the transaction. What somebody saved is written at once; the combined view of a node or an edge is
computed once, however often it was touched meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from tallystick.projections.follower import Pending
from tallystick.projections.graph import combined_view as view
from tallystick.projections.graph.beliefs import Fact, Facts, Key, keys_of
from tallystick.projections.graph.combined_view import MARK, Merge
from tallystick.projections.pages.rows import title_of
from tallystick.records.entity import THING, kind_of
from tallystick.records.event import Event
from tallystick.records.graph.nodes import RecordFields, line_of
from tallystick.records.trust import Distrust

_SOURCES = 20  # beliefs of a node that are named as its sources
_ATTRIBUTES = 50  # of a node
_LONGEST = 300  # characters of an attribute; the belief has all of it
UNNAMED = "related to"  # a relation that nobody named
_PORTION = 1000  # records that are written at once

_PUT_NODE = "INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?, ?)"
_PUT_EDGE = "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?, ?)"
_LAST_END = "SELECT max(ended) FROM mentions INDEXED BY mentions_ended WHERE user = ? AND node = ?"
_SAME = b""  # what somebody saved is the combined view
_NOT_YET = b""  # it was saved a moment ago, and has no combined view yet


class Rows:
    """The part of the tables that is being changed. `ledger` is the name in derived records; what comes from
    `distrusts` is left out."""

    def __init__(self, db: sqlite3.Connection, ledger: str, distrusts: Iterable[Distrust] = ()) -> None:
        self.db, self._ledger, self._distrusts = db, ledger, distrusts
        self.facts, self.pending = Facts(db), Pending(db)
        self.pieces: list[str] = []  # of a record that came in several events
        self._nodes: set[Key] = set()
        self._edges: set[Key] = set()
        self._plain: dict[str, list[tuple[Any, ...]]] = {"nodes": [], "edges": []}
        self._has_programs = self._any("programs")
        self._is_plain = self.facts.is_empty and not self._any("merges") and not self._any("nodes")

    def is_distrusted(self, event: Event, user: str, said: Mapping[str, Any]) -> bool:
        """True if that user does not trust the source of what an event says."""
        told = {"agent": said.get("agent", ""), "session": said.get("session", ""), "trust": said.get("trust", "human")}
        return any(each.user == user and each.covers(by=event.by, seq=event.seq, **told) for each in self._distrusts)

    def _any(self, table: str) -> bool:
        return self.db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None

    # -- what somebody saved -----------------------------------------------------------------------------------------

    def save(self, user: str, part: str, name: str, told: RecordFields, seq: int) -> None:
        """Save a record. It replaces one of the same name; an event is never replaced."""
        line = line_of(told)
        if part == "nodes":
            self._put(part, (user, name, told["kind"], "merged" in told, line), (user, name), self._nodes)
            names = keys_of((name, told.get("label", ""), *told.get("aliases", ())))
            self.facts.name(user, name, names, seq, is_said=True)
        elif part == "edges":
            values = (user, name, told["source"], told["target"], told["kind"], line)
            self._put(part, values, (user, name), self._edges)
        else:
            way = "OR IGNORE" if part == "events" else ""
            self.db.execute(
                f"INSERT {way} INTO others (user, part, id, line) VALUES (?, ?, ?, ?)"
                + ("" if way else " ON CONFLICT (user, part, id) DO UPDATE SET line = excluded.line"),
                (user, part, name, line),
            )

    def note_teller(self, user: str, part: str, name: str, is_persons: bool) -> None:
        """Note who saved a record last: a person, or a program that is trusted less."""
        if not is_persons:
            self.db.execute("INSERT OR IGNORE INTO programs VALUES (?, ?, ?)", (user, part, name))
            self._has_programs = True
        elif self._has_programs:
            self.db.execute("DELETE FROM programs WHERE user = ? AND part = ? AND id = ?", (user, part, name))

    def _put(self, table: str, values: tuple[Any, ...], key: Key, touched: set[Key]) -> None:
        if self._is_plain:  # the first filling of a graph of its own: it looks as it was saved
            self._plain[table].append((*values, _SAME))
            if len(self._plain[table]) >= _PORTION:
                self._write_plain(table)
            return
        marks = ", ".join("?" * (len(values) + 1))
        self.db.execute(
            f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT (user, id) DO UPDATE SET said = excluded.said",
            (*values[:-1], _NOT_YET, values[-1]),
        )
        touched.add(key)

    def _write_plain(self, table: str) -> None:
        rows, self._plain[table] = self._plain[table], []
        self.db.executemany(_PUT_NODE if table == "nodes" else _PUT_EDGE, rows)

    def _end_plain(self) -> None:
        """From here on it matters what else is there."""
        if self._is_plain:
            for table in self._plain:
                self._write_plain(table)
            self._is_plain = False

    def head(self, user: str, told: RecordFields) -> None:
        """Add what an envelope says of itself."""
        known = self.head_of(user)
        for name in ("metadata", "extra"):
            known[name] = {**known.get(name, {}), **told.get(name, {})}
        known["head"] = told.get("head") or known.get("head", "")
        self.db.execute("INSERT OR REPLACE INTO heads VALUES (?, ?)", (user, orjson.dumps(known).decode()))

    def head_of(self, user: str) -> RecordFields:
        row = self.db.execute("SELECT told FROM heads WHERE user = ?", (user,)).fetchone()
        return orjson.loads(row[0]) if row else {}

    # -- merges ------------------------------------------------------------------------------------------------------

    def merge(self, user: str, merge: Merge) -> None:
        self._end_plain()
        told = orjson.dumps(merge.told).decode()
        self.db.execute(
            "INSERT OR REPLACE INTO merges VALUES (?, ?, ?, ?, ?)", (user, merge.node, merge.into, told, merge.seq)
        )
        self._nodes.update(((user, merge.node), (user, merge.into)))
        self._touch_edges(user, [merge.node])

    def unmerge(self, user: str, node: str) -> None:
        self._end_plain()
        merge = view.merge_of(self.db, user, node)
        if merge is not None:
            self._nodes.update(((user, node), (user, merge.into)))
            self._touch_edges(user, view.family_of(self.db, user, node))
            self.db.execute("DELETE FROM merges WHERE user = ? AND node = ?", (user, node))

    def _touch_edges(self, user: str, nodes: Iterable[str]) -> None:
        """Update the edges that lead to these nodes."""
        for node in nodes:
            for end in ("source", "target"):
                found = self.db.execute(f"SELECT id FROM edges WHERE user = ? AND {end} = ?", (user, node))
                self._edges.update((user, name) for (name,) in found.fetchall())

    # -- the combined view -------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the combined view of everything that was touched."""
        if not self.facts.is_empty:
            self._end_plain()
        for table in self._plain:
            self._write_plain(table)
        nodes, edges = self.facts.settle()
        self._nodes |= nodes
        self._edges |= edges
        if self._any("merges"):
            self._look_around()
        for user, name in self._nodes:
            self._show_node(user, name)
        for user, name in self._edges:
            self._show_edge(user, name)
        self._nodes, self._edges = set(), set()

    def _look_around(self) -> None:
        """A node that appears or disappears changes what it is merged with: a merge counts while both are there."""
        for user, name in list(self._nodes):
            row = self.db.execute("SELECT line FROM nodes WHERE user = ? AND id = ?", (user, name)).fetchone()
            is_visible = row is not None and row[0] != _NOT_YET
            if is_visible != view.is_there(self.db, user, name):
                own, others = view.merge_of(self.db, user, name), view.merges_into(self.db, user, name)
                self._nodes.update((user, merge.node) for merge in others)
                self._nodes.update((user, merge.into) for merge in (own,) if merge)
                self._touch_edges(user, view.family_of(self.db, user, name) if own or others else ())

    def _show_node(self, user: str, name: str) -> None:
        said = self._said("nodes", user, name)
        told = view.with_beliefs(_read(said), self._derived_node(user, name))
        if told is None:
            self.db.execute("DELETE FROM nodes WHERE user = ? AND id = ?", (user, name))
            return
        own = view.merge_of(self.db, user, name)
        others = [merge for merge in view.merges_into(self.db, user, name) if view.is_there(self.db, user, merge.node)]
        told = view.merged_node(told, own if own and view.is_there(self.db, user, own.into) else None, others)
        line = line_of(told)
        self.db.execute(
            _PUT_NODE, (user, name, told["kind"], "merged" in told, line, _SAME if line == said else said)
        )  # fmt: skip

    def _show_edge(self, user: str, name: str) -> None:
        said = self._said("edges", user, name)
        fact = self.facts.get(name)
        derived = self._derived_edge(fact) if fact and fact.user == user and fact.is_edge else None
        told = view.with_beliefs(_read(said), derived)
        if told is None:
            self.db.execute("DELETE FROM edges WHERE user = ? AND id = ?", (user, name))
            return
        ways = {end: view.ways_of(self.db, user, end) for end in (told["source"], told["target"])}
        told = view.merged_edge(told, ways)
        line = line_of(told)
        row = (user, name, told["source"], told["target"], told["kind"], line, _SAME if line == said else said)
        self.db.execute(_PUT_EDGE, row)

    def _said(self, table: str, user: str, name: str) -> bytes | None:
        row = self.db.execute(f"SELECT said, line FROM {table} WHERE user = ? AND id = ?", (user, name)).fetchone()
        return said_in(*row) if row else None

    # -- what follows from beliefs -----------------------------------------------------------------------------------

    def _derived_node(self, user: str, name: str) -> RecordFields | None:
        counted = self.db.execute(
            "SELECT told, held FROM entities WHERE user = ? AND node = ?", (user, name)
        ).fetchone()  # fmt: skip
        if counted is None:
            return None
        told, held = counted
        latest = self._mentioned(user, name, _SOURCES, "DESC")
        first, last = self.facts.known(*self._mentioned(user, name, 1, "ASC")), self.facts.known(latest[0])
        is_entity = self.db.execute(
            "SELECT 1 FROM names WHERE user = ? AND node = ? AND NOT is_said LIMIT 1", (user, name)
        ).fetchone()  # fmt: skip
        properties = self._attributes(user, name)
        mark = {"ledger": self._ledger, "only": True, "told": told, "held": held, "first": first.at}
        mark |= {"last": last.at} | ({"properties": sorted(properties)} if properties else {})
        node = {
            "id": name, "kind": kind_of(name) if is_entity else THING,
            "label": title_of(name) if is_entity else first.subject.strip() or name, "properties": properties,
            "valid_to": "" if held else str(self.db.execute(_LAST_END, (user, name)).fetchone()[0]),
            "provenance": {"sources": latest, MARK: mark},
        }  # fmt: skip
        return {field: value for field, value in node.items() if value}

    def _mentioned(self, user: str, name: str, limit: int, order: str) -> list[str]:
        """The first or the last facts about a node."""
        found = self.db.execute(
            f"SELECT fact FROM mentions WHERE user = ? AND node = ? ORDER BY seq {order}, fact {order} LIMIT ?",
            (user, name, limit),
        )
        return [fact for (fact,) in found.fetchall()]

    def _attributes(self, user: str, name: str) -> dict[str, list[str]]:
        """The facts about a node that lead to no other."""
        found = self.db.execute(
            "SELECT predicate, object FROM facts WHERE user = ? AND source = ? AND target = '' AND ended = ''"
            " ORDER BY seq DESC, id DESC LIMIT ?", (user, name, _ATTRIBUTES),
        )  # fmt: skip
        told: dict[str, list[str]] = {}
        for predicate, value in reversed(found.fetchall()):
            if value and max(len(predicate), len(value)) <= _LONGEST:
                told.setdefault(predicate or UNNAMED, []).append(value)
        return {predicate: list(dict.fromkeys(values)) for predicate, values in told.items()}

    def _derived_edge(self, fact: Fact) -> RecordFields:
        edge = {
            "id": fact.id, "source": fact.source, "target": fact.target, "kind": fact.predicate or UNNAMED,
            "valid_from": fact.valid_from, "valid_to": min(filter(None, (fact.valid_to, fact.ended)), default=""),
            "provenance": {
                "sources": orjson.loads(fact.versions), "at": fact.at, MARK: {"ledger": self._ledger, "only": True},
            },
        }  # fmt: skip
        weight = {} if fact.weight == 1 else {"weight": fact.weight}
        return weight | {field: value for field, value in edge.items() if value}


def _read(line: bytes | None) -> RecordFields | None:
    return None if line is None else orjson.loads(line)


def said_in(said: bytes | None, line: bytes) -> bytes | None:
    """The saved line of a record whose combined view is `line`."""
    return line if said == _SAME else said

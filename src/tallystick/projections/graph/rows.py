"""The rows of the graph while events are applied: written as they come, combined when the work is done.

The caller owns the transaction. What somebody saved is written at once; the combined view of a node or an edge is
computed once, however often it was touched meanwhile.

A fact is what a series of versions of one belief says. Its subject is the entity of that name; else what the belief is
about; else a plain thing of that name. Its object is a node only if it is known otherwise: by the name of an entity, of
a node that somebody saved, or of the subject of another fact. Else it is an attribute of the subject. That may change
with every new name, so whatever depends on a name is decided again when the name goes to another node. Of several nodes
with one name it is the one that has had it longest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from tallystick.projections.database import Stale
from tallystick.projections.graph import combined_view as view
from tallystick.projections.graph.combined_view import MARK, Merge
from tallystick.projections.pages.rows import title_of
from tallystick.projections.table_set import Pending
from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.clock import held_time
from tallystick.records.entity import THING, kind_of, spoken, thing_key
from tallystick.records.event import Event, origin_of
from tallystick.records.graph.envelope import KEYS, KINDS, keys_in
from tallystick.records.graph.nodes import RecordFields, line_of
from tallystick.records.policy import DEFAULT
from tallystick.records.trust import Distrust

SOURCES = 20  # beliefs of a node, or versions of a fact, that are named as its sources
ATTRIBUTES = 50  # of a node
_LONGEST = 300  # characters of an attribute; the belief has all of it
MERGED = 2  # in place of `is_said`: a name of a node that is merged into this one
UNNAMED = "related to"  # a relation that nobody named
_PORTION = 1000  # records that are written at once

_PUT_NODE = "INSERT OR REPLACE INTO graph_nodes VALUES (?, ?, ?, ?, ?, ?, ?)"
_PUT_EDGE = "INSERT OR REPLACE INTO graph_edges VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_LAST_END = "SELECT max(ended) FROM graph_mentions INDEXED BY graph_mentions_ended WHERE user = ? AND node = ?"
_SAME = b""  # what somebody saved is the combined view
_NOT_YET = b""  # it was saved a moment ago, and has no combined view yet


class Rows:
    """The part of the tables that is being changed. `ledger` is the name in derived records; what comes from
    `distrusts` is left out."""

    def __init__(self, db: sqlite3.Connection, ledger: str, distrusts: Iterable[Distrust] = ()) -> None:
        self.db, self._ledger, self._distrusts = db, ledger, distrusts
        self.facts, self.pending = Facts(db), Pending(db, "graph")
        self.pieces: list[str] = []  # of a record that came in several events
        self._nodes: set[Key] = set()
        self._edges: set[Key] = set()
        self._plain: dict[str, list[tuple[Any, ...]]] = {"nodes": [], "edges": []}
        self._has_programs = self._any("programs")
        self._is_plain = self.facts.is_empty and not self._any("merges") and not self._any("nodes")

    def is_distrusted(self, event: Event, user: str, said: Mapping[str, Any]) -> bool:
        """True if that user does not trust the source of what an event says."""
        told = {"agent": said.get("agent", ""), "session": said.get("session", ""), "trust": said.get("trust", "human")}
        by = origin_of(event).by
        return any(each.user == user and each.covers(by=by, seq=event.seq, **told) for each in self._distrusts)

    def _any(self, table: str) -> bool:
        return self.db.execute(f"SELECT 1 FROM graph_{table} LIMIT 1").fetchone() is not None

    # -- what somebody saved -----------------------------------------------------------------------------------------

    def save(self, user: str, part: str, name: str, told: RecordFields, seq: int) -> None:
        """Save a record. It replaces one of the same name; an event is never replaced."""
        line = line_of(told)
        if part == "nodes":
            self._put(part, (user, name, told["kind"], "merged" in told, line), (user, name), self._nodes, seq)
            names = keys_of((name, told.get("label", ""), *told.get("aliases", ())))
            self.facts.name(user, name, names, seq, is_said=True)
        elif part == "edges":
            values = (user, name, told["source"], told["target"], told["kind"], line)
            self._put(part, values, (user, name), self._edges, seq)
        else:
            way = "NOTHING" if part == "events" else "UPDATE SET line = excluded.line, saved = excluded.saved"
            self.db.execute(
                "INSERT INTO graph_others (user, part, id, line, saved) VALUES (?, ?, ?, ?, ?)"
                f" ON CONFLICT (user, part, id) DO {way}", (user, part, name, line, seq),
            )  # fmt: skip

    def note_teller(self, user: str, part: str, name: str, is_persons: bool) -> None:
        """Note who saved a record last: a person, or a program that is trusted less."""
        if not is_persons:
            self.db.execute("INSERT OR IGNORE INTO graph_programs VALUES (?, ?, ?)", (user, part, name))
            self._has_programs = True
        elif self._has_programs:
            self.db.execute("DELETE FROM graph_programs WHERE user = ? AND part = ? AND id = ?", (user, part, name))

    def _put(self, table: str, values: tuple[Any, ...], key: Key, touched: set[Key], seq: int) -> None:
        if self._is_plain:  # the first filling of a graph of its own: it looks as it was saved
            self._plain[table].append((*values, _SAME, seq))
            if len(self._plain[table]) >= _PORTION:
                self._write_plain(table)
            return
        marks = ", ".join("?" * (len(values) + 2))
        update = "UPDATE SET said = excluded.said, saved = excluded.saved"
        self.db.execute(
            f"INSERT INTO graph_{table} VALUES ({marks}) ON CONFLICT (user, id) DO {update}",
            (*values[:-1], _NOT_YET, values[-1], seq),
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

    def head(self, user: str, told: RecordFields, seq: int) -> None:
        """Add what an envelope says of itself."""
        known = self.head_of(user)
        before = self.db.execute("SELECT saved FROM graph_heads WHERE user = ?", (user,)).fetchone()
        saved = f"{before[0]} {seq}" if before else str(seq)
        for name in ("metadata", "extra"):
            known[name] = {**known.get(name, {}), **told.get(name, {})}
        known["head"] = told.get("head") or known.get("head", "")
        row = (user, orjson.dumps(known).decode(), saved)
        self.db.execute("INSERT OR REPLACE INTO graph_heads VALUES (?, ?, ?)", row)

    def head_of(self, user: str) -> RecordFields:
        row = self.db.execute("SELECT told FROM graph_heads WHERE user = ?", (user,)).fetchone()
        return orjson.loads(row[0]) if row else {}

    # -- merges ------------------------------------------------------------------------------------------------------

    def merge(self, user: str, merge: Merge) -> None:
        self._end_plain()
        row = (user, merge.node, merge.into, orjson.dumps(merge.told).decode(), merge.seq)
        self.db.execute("INSERT OR REPLACE INTO graph_merges VALUES (?, ?, ?, ?, ?)", row)
        self._nodes.update(((user, merge.node), (user, merge.into)))
        self._touch_edges(user, [merge.node])
        self._name_merged(user, merge.into, merge.seq)

    def _name_merged(self, user: str, into: str, seq: int) -> None:
        """A node has the names of those that are merged into it, also where they have no beliefs any more."""
        merges = view.merges_into(self.db, user, into)
        names = (name for each in merges for name in (each.node, spoken(each.node), *each.told.get("names", ())))
        self.facts.name(user, into, keys_of(names), seq, is_said=MERGED)

    def unmerge(self, user: str, node: str) -> None:
        self._end_plain()
        merge = view.merge_of(self.db, user, node)
        if merge is not None:
            self._nodes.update(((user, node), (user, merge.into)))
            self._touch_edges(user, view.family_of(self.db, user, node))
            self.db.execute("DELETE FROM graph_merges WHERE user = ? AND node = ?", (user, node))
            self._name_merged(user, merge.into, merge.seq)

    def _touch_edges(self, user: str, nodes: Iterable[str]) -> None:
        """Update the edges that lead to these nodes."""
        for node in nodes:
            for end in ("source", "target"):
                found = self.db.execute(f"SELECT id FROM graph_edges WHERE user = ? AND {end} = ?", (user, node))
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
            row = self.db.execute("SELECT line FROM graph_nodes WHERE user = ? AND id = ?", (user, name)).fetchone()
            is_visible = row is not None and row[0] != _NOT_YET
            if is_visible != view.is_there(self.db, user, name):
                family = view.family_of(self.db, user, name)
                self._nodes.update((user, each) for each in family)
                self._touch_edges(user, family if len(family) > 1 else ())

    def _show_node(self, user: str, name: str) -> None:
        said, saved = self._said("nodes", user, name)
        told = view.with_beliefs(orjson.loads(said) if said is not None else None, self._derived_node(user, name))
        if told is None:
            self.db.execute("DELETE FROM graph_nodes WHERE user = ? AND id = ?", (user, name))
            return
        own = view.merge_of(self.db, user, name)
        others = [merge for merge in view.merges_into(self.db, user, name) if view.is_there(self.db, user, merge.node)]
        told = view.merged_node(told, own if own and view.is_there(self.db, user, own.into) else None, others)
        line = line_of(told)
        self.db.execute(
            _PUT_NODE, (user, name, told["kind"], "merged" in told, line, _SAME if line == said else said, saved)
        )  # fmt: skip

    def _show_edge(self, user: str, name: str) -> None:
        said, saved = self._said("edges", user, name)
        fact = self.facts.get(name)
        derived = self._derived_edge(fact) if fact and fact.user == user and fact.is_edge else None
        told = view.with_beliefs(orjson.loads(said) if said is not None else None, derived)
        if told is None:
            self.db.execute("DELETE FROM graph_edges WHERE user = ? AND id = ?", (user, name))
            return
        ways = {end: view.ways_of(self.db, user, end) for end in (told["source"], told["target"])}
        told = view.merged_edge(told, ways)
        line = line_of(told)
        row = (user, name, told["source"], told["target"], told["kind"], line, _SAME if line == said else said, saved)
        self.db.execute(_PUT_EDGE, row)

    def _said(self, table: str, user: str, name: str) -> tuple[bytes | None, int | None]:
        """What somebody saved, and the event that has it."""
        asked = f"SELECT said, line, saved FROM graph_{table} WHERE user = ? AND id = ?"
        row = self.db.execute(asked, (user, name)).fetchone()
        return (saved_line(*row[:2]), row[2]) if row else (None, None)

    # -- what follows from beliefs -----------------------------------------------------------------------------------

    def _derived_node(self, user: str, name: str) -> RecordFields | None:
        counts = "SELECT told, held FROM graph_entities WHERE user = ? AND node = ?"
        if (counted := self.db.execute(counts, (user, name)).fetchone()) is None:
            if not view.is_only_a_name(self.db, user, name):
                return None
            mark = {"ledger": self._ledger, "only": True, "told": 0, "held": 0}
            return {"id": name, "kind": kind_of(name), "label": title_of(name), "provenance": {MARK: mark}}
        told, held = counted
        latest = self._mentioned(user, name, SOURCES, "DESC")
        first, last = self.facts.known(*self._mentioned(user, name, 1, "ASC")), self.facts.known(latest[0])
        is_entity = self.db.execute(
            "SELECT 1 FROM graph_names WHERE user = ? AND node = ? AND NOT is_said LIMIT 1", (user, name)
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
            f"SELECT fact FROM graph_mentions WHERE user = ? AND node = ? ORDER BY seq {order}, fact {order} LIMIT ?",
            (user, name, limit),
        )
        return [fact for (fact,) in found.fetchall()]

    def _attributes(self, user: str, name: str) -> dict[str, list[str]]:
        """The facts about a node that lead to no other."""
        found = self.db.execute(
            "SELECT predicate, object FROM graph_facts WHERE user = ? AND source = ? AND target = '' AND ended = ''"
            " ORDER BY seq DESC, id DESC LIMIT ?", (user, name, ATTRIBUTES),
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


def saved_line(said: bytes | None, line: bytes) -> bytes | None:
    """The saved line of a record whose combined view is `line`."""
    return line if said == _SAME else said


# -- facts: what beliefs say, as rows, and the nodes that their names lead to ------------------------------------------

Key = tuple[str, str]  # a user, and a name or a node


class Fact(NamedTuple):
    """What a series of versions of one belief says."""

    id: str  # the version that said it first
    user: str
    about: str
    subject: str
    predicate: str
    object: str
    subject_key: str
    object_key: str
    weight: float
    valid_from: str
    valid_to: str
    ended: str  # when it was no longer current
    at: str
    seq: int
    stated: int  # the event that has its words
    versions: str  # JSON
    source: str = ""
    target: str = ""

    @classmethod
    def of(cls, belief: dict[str, Any], user: str, at: str, seq: int, stated: int) -> Fact:
        subject, predicate, thing = belief.get("triple") or ("", "", "")
        bounds = (held_time(belief.get(name, "")) for name in ("valid_to", "expires"))
        return cls(
            belief["id"], user, belief.get("about", ""), subject, predicate, thing,
            thing_key(subject), thing_key(thing),
            belief["confidence"], held_time(belief.get("valid_from", "")), min(filter(None, bounds), default=""), "",
            at, seq, stated, orjson.dumps([belief["id"]]).decode(),
        )  # fmt: skip

    def says_the_same(self, other: Fact) -> bool:
        return self[1:6] == other[1:6]

    def is_moved_to(self, other: Fact) -> bool:
        """True if the other says the same of another entity."""
        return self.about != other.about and self._replace(about=other.about).says_the_same(other)

    def again(self, later: Fact) -> Fact:
        """This fact, stated again by a later version."""
        versions = [*orjson.loads(self.versions), later.id][-SOURCES:]
        return self._replace(
            weight=later.weight, valid_from=later.valid_from, valid_to=later.valid_to,
            versions=orjson.dumps(versions).decode(),
        )  # fmt: skip

    @property
    def is_triple(self) -> bool:
        return bool(self.subject or self.predicate or self.object)

    @property
    def is_edge(self) -> bool:
        return bool(self.source and self.target)


def keys_of(names: Iterable[str]) -> set[str]:
    return {key for name in names if (key := thing_key(name))}


_FACTS = f"SELECT {', '.join(Fact._fields)} FROM graph_facts "
_PUT = f"INSERT OR REPLACE INTO graph_facts VALUES ({', '.join('?' * len(Fact._fields))})"
_MENTION = "WHERE user = ? AND node = ? AND seq = ? AND fact = ?"


class Facts:
    """The facts, while events are applied. `settle` updates everything that depends on them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._fresh: set[str] = set()  # facts to be looked at
        self._named: set[Key] = set()  # names that changed hands
        self._left: set[Key] = set()  # nodes that facts are no longer about
        self.is_empty = db.execute("SELECT 1 FROM graph_facts LIMIT 1").fetchone() is None

    def add(self, fact: Fact) -> None:
        self.put(fact)
        self.belongs(fact.id, fact)
        if fact.about:
            self._mention(fact, fact.about)
            self.name(fact.user, fact.about, keys_of((fact.about, spoken(fact.about))), fact.seq, is_said=False)

    def belongs(self, version: str, fact: Fact) -> None:
        self._db.execute("INSERT OR REPLACE INTO graph_versions VALUES (?, ?)", (version, fact.id))

    def end(self, fact: Fact, at: str) -> None:
        """It is no longer current."""
        if not fact.ended:
            self.put(fact._replace(ended=at))
            for node in _nodes(fact):
                self._db.execute(f"UPDATE graph_mentions SET ended = ? {_MENTION}", (at, *_mention(fact, node)))
                self._count(fact.user, node, 0, -1)

    def move(self, old: Fact, fact: Fact) -> None:
        """A fact is about another entity, and says the same: it goes on."""
        moved = old.again(fact)._replace(about=fact.about, stated=fact.stated)
        self.put(moved)
        self.belongs(fact.id, moved)
        for node in _nodes(old) - _nodes(moved):
            self._db.execute(f"DELETE FROM graph_mentions {_MENTION}", _mention(old, node))
            self._count(old.user, node, -1, -(not old.ended))
        for node in _nodes(moved) - _nodes(old):
            self._mention(moved, node)
        if fact.about:
            self.name(fact.user, fact.about, keys_of((fact.about, spoken(fact.about))), fact.seq, is_said=False)
        still = "SELECT 1 FROM graph_facts WHERE user = ? AND about = ? LIMIT 1"
        if old.about and not self._db.execute(still, (old.user, old.about)).fetchone():
            where = "FROM graph_names WHERE user = ? AND node = ? AND is_said = 0"
            keys = self._db.execute(f"SELECT key {where}", (old.user, old.about)).fetchall()
            self._named.update((old.user, key) for (key,) in keys)
            self._db.execute(f"DELETE {where}", (old.user, old.about))
        self._left.add((old.user, old.about))

    def put(self, fact: Fact) -> None:
        self._db.execute(_PUT, fact)
        self._fresh.add(fact.id)
        self.is_empty = False

    def name(self, user: str, node: str, keys: set[str], seq: int, *, is_said: int) -> None:
        """A node has these names from now on. Of those that somebody saved, or that others had, it loses the others."""
        where = "WHERE user = ? AND node = ? AND is_said = ?"
        known = {key for (key,) in self._db.execute(f"SELECT key FROM graph_names {where}", (user, node, is_said))}
        gone = known - keys if is_said else set()
        for key in gone:
            self._db.execute(f"DELETE FROM graph_names {where} AND key = ?", (user, node, is_said, key))
        fresh = keys - known
        self._db.executemany(
            "INSERT INTO graph_names VALUES (?, ?, ?, ?, ?)", [(user, key, node, is_said, seq) for key in sorted(fresh)]
        )
        self._named.update((user, key) for key in gone | fresh)

    def get(self, name: str) -> Fact | None:
        row = self._db.execute(_FACTS + "WHERE id = ?", (name,)).fetchone()
        return Fact(*row) if row else None

    def known(self, name: str) -> Fact:
        """The fact of that id, which is there."""
        fact = self.get(name)
        if fact is None:
            raise LookupError(name)
        return fact

    def of_version(self, version: str) -> Fact | None:
        row = self._db.execute("SELECT fact FROM graph_versions WHERE id = ?", (version,)).fetchone()
        return self.get(row[0]) if row else None

    def _with(self, column: str, keys: Iterable[Key]) -> Iterator[str]:
        for user, key in keys:
            found = self._db.execute(f"SELECT id FROM graph_facts WHERE user = ? AND {column} = ?", (user, key))
            yield from (name for (name,) in found.fetchall())

    # -- settling ----------------------------------------------------------------------------------------------------

    def settle(self) -> tuple[set[Key], set[Key]]:
        """Let every name lead to its node. The nodes, and the edges, that may have changed."""
        fresh, named, nodes = self._fresh, self._named, self._left
        self._fresh, self._named, self._left = set(), set(), set()
        if self.is_empty:
            return set(), set()
        edges = set[Key]()
        moved = {*fresh, *self._with("subject_key", named)}
        things = named | {thing for name in moved for thing in self._move_source(name, nodes)}
        for name in {*moved, *self._with("object_key", things)}:
            self._move_target(name, name in fresh, nodes, edges)
        return nodes, edges

    def _move_source(self, name: str, nodes: set[Key]) -> Iterator[Key]:
        """Set the node of the subject. The things that appeared or disappeared with that."""
        fact = self.known(name)
        source = ""
        if fact.is_triple:
            source = self._entity(fact.user, fact.subject, fact.subject_key) or fact.about or fact.subject_key
        nodes.update((fact.user, node) for node in _nodes(fact))
        if source == fact.source:
            return
        before, after = _nodes(fact), _nodes(fact._replace(source=source))
        self._db.execute("UPDATE graph_facts SET source = ? WHERE id = ?", (source, name))
        for node in before - after:
            self._db.execute(f"DELETE FROM graph_mentions {_MENTION}", _mention(fact, node))
            self._count(fact.user, node, -1, -(not fact.ended))
        for node in after - before:
            self._mention(fact, node)
        nodes.update((fact.user, node) for node in before | after)
        if fact.source == fact.subject_key and fact.source and not self._is_thing(fact.user, fact.source):
            yield fact.user, fact.source
        if source == fact.subject_key and source and not self._is_thing(fact.user, source, but=1):
            yield fact.user, source

    def _move_target(self, name: str, is_fresh: bool, nodes: set[Key], edges: set[Key]) -> None:
        fact = self.known(name)
        user, key, target = fact.user, fact.object_key, ""
        if fact.source:
            target = self._entity(user, fact.object, key) or (key if key and self._is_thing(user, key) else "")
        if target != fact.target:
            self._db.execute("UPDATE graph_facts SET target = ? WHERE id = ?", (target, name))
        if is_fresh or target != fact.target or fact.is_edge:
            edges.add((fact.user, name))
            nodes.update((fact.user, node) for node in _nodes(fact))

    def _entity(self, user: str, name: str, key: str) -> str:
        """The node that has had that name longest; but an id names its own node."""
        if not key:
            return ""
        if self._db.execute("SELECT 1 FROM graph_names WHERE user = ? AND node = ? LIMIT 1", (user, name)).fetchone():
            return name
        row = self._db.execute(
            "SELECT node FROM graph_names WHERE user = ? AND key = ? ORDER BY seq, node LIMIT 1", (user, key)
        ).fetchone()
        return str(row[0]) if row else ""

    def _is_thing(self, user: str, key: str, but: int = 0) -> bool:
        """True if more than so many facts are about a plain thing."""
        said = "SELECT 1 FROM graph_facts WHERE user = ? AND source = ? LIMIT 1 OFFSET ?"
        return self._db.execute(said, (user, key, but)).fetchone() is not None

    def _mention(self, fact: Fact, node: str) -> None:
        self._db.execute("INSERT INTO graph_mentions VALUES (?, ?, ?, ?, ?)", (*_mention(fact, node), fact.ended))
        self._count(fact.user, node, 1, not fact.ended)

    def _count(self, user: str, node: str, told: int, held: int) -> None:
        self._db.execute(
            "INSERT INTO graph_entities VALUES (?, ?, ?, ?)"
            " ON CONFLICT (user, node) DO UPDATE SET told = told + excluded.told, held = held + excluded.held",
            (user, node, told, held),
        )
        self._db.execute("DELETE FROM graph_entities WHERE user = ? AND node = ? AND told = 0", (user, node))


def _nodes(fact: Fact) -> set[str]:
    """The nodes that a fact is about."""
    return {node for node in (fact.about, fact.source) if node}


def _mention(fact: Fact, node: str) -> tuple[str, str, int, str]:
    return fact.user, node, fact.seq, fact.id


# -- the effect of each event on the graph -----------------------------------------------------------------------------
# Only the event, the rows and who is distrusted now decide, so a graph that followed along and one that was rebuilt are
# the same. What somebody saved is there as it was saved. A belief on the main path that is about an entity, or says
# something of one, is there as soon as it is current, and ends with it: what was superseded or withdrawn stays, with
# the time at which it ended. What tools and web pages say is in no graph before a person approves it. Of beliefs, a
# source that is distrusted counts as if it had said nothing: what it replaced or withdrew stays, until somebody else
# replaces or withdraws it.


def apply(rows: Rows, event: Event) -> None:
    if event.body is not None and (act := _ACTS.get(event.op)):
        act(rows, event, event.body)


def _put(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    user, is_persons = body["user"], "trust" not in body
    if "piece" in body:
        whole = _joined(rows, body)
        if whole is None:
            return
        body = {body["part"]: whole if body["part"] == "head" else [whole]}
    for part in KINDS:
        key = KEYS.get(part, "id")
        for told in body.get(part, ()):
            rows.save(user, part, told[key], told, event.seq)
            rows.note_teller(user, part, told[key], is_persons)
    if "head" in body:
        rows.head(user, body["head"], event.seq)
        for part, name in keys_in(body["head"]):
            rows.note_teller(user, part, name, is_persons)


def _joined(rows: Rows, body: dict[str, Any]) -> Any:
    """The record of which this was the last piece; None, if there are more to come, or one is missing."""
    if body["n"] == 0:
        rows.pieces = []
    if len(rows.pieces) != body["n"]:
        return None
    rows.pieces.append(body["piece"])
    return orjson.loads("".join(rows.pieces)) if len(rows.pieces) == body["of"] else None


def _merge(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    why = {"names": body.get("names", []), "score": body.get("score", 1.0), "reasons": body.get("reasons", [])}
    rows.merge(body["user"], Merge(body["node"], body["into"], {**why, "by": event.by, "at": event.ts}, event.seq))


def _state(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """A belief is stated, new or in place of others."""
    belief, replaced = body["belief"], [*body.get("replaces", ()), *body.get("again", {}).get("ids", ())]
    if belief.get("path"):
        return
    before = {fact.id: fact for name in replaced if (fact := rows.facts.of_version(name))}
    if rows.is_distrusted(event, belief.get("user", OWNER), belief):
        for fact in before.values():
            rows.facts.belongs(belief["id"], fact)  # whoever replaces this one replaces them
            if "origin" in body:  # their words, and somebody else put them back
                rows.facts.end(fact, event.ts)
        return
    waited = [name for name in replaced if rows.pending.take(name)]
    took_over = bool(before) and not waited and "quarantined" not in body
    if belief.get("trust", "human") in DEFAULT.quarantined and "approved" not in body and not took_over:
        rows.pending.add(belief["id"], event, belief)
        for fact in before.values() if "quarantined" in body else ():
            rows.facts.end(fact, event.ts)
        return
    _hold(rows, event, origin_of(event).at, event.seq, belief, list(before.values()))


def _hold(rows: Rows, event: Event, at: str, stated: int, belief: dict[str, Any], before: list[Fact]) -> None:
    fact = Fact.of(belief, belief.get("user", OWNER), at, event.seq, stated)
    held = belief.get("status", "active") == "active"
    same = next((old for old in before if held and not old.ended and old.says_the_same(fact)), None)
    moved = next((old for old in before if not same and held and not old.ended and old.is_moved_to(fact)), None)
    for old in before:
        if old is not same and old is not moved:
            rows.facts.end(old, fact.valid_from or event.ts)
            rows.facts.belongs(fact.id, old)
    if moved is not None and (fact.about or fact.is_triple):
        rows.facts.move(moved, fact)
    elif moved is not None:
        rows.facts.end(moved, event.ts)
        rows.facts.belongs(fact.id, moved)
    elif same is not None:
        rows.facts.put(same.again(fact))
        rows.facts.belongs(fact.id, same)
    elif held and (fact.about or fact.is_triple):
        rows.facts.add(fact)


def _withdraw(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    rows.pending.take(body["id"])
    fact = rows.facts.of_version(body["id"])
    if fact is not None and not rows.is_distrusted(event, fact.user, {"trust": ""}):
        rows.facts.end(fact, event.ts)


def _erased(rows: Rows, _: Event, body: dict[str, Any]) -> None:
    for name in body.get("ids", ()):
        if rows.facts.of_version(name) or rows.pending.take(name):
            raise Stale("it held words that were erased")


def _answer(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    for at, stated, belief in rows.pending.answer(body):
        _hold(rows, event, at, stated, belief, [])


_ACTS: dict[str, Callable[[Rows, Event, dict[str, Any]], None]] = {
    ops.BELIEF_PUT: _state, ops.BELIEF_SUPERSEDE: _state, ops.BELIEF_TOMBSTONE: _withdraw,
    ops.BELIEF_INVALIDATE: _withdraw, ops.ERASE: _erased, ops.REVIEW_ANSWER: _answer,
    ops.REVIEW_ASK: lambda rows, _, body: rows.pending.ask(body), ops.GRAPH_PUT: _put, ops.GRAPH_MERGE: _merge,
    ops.GRAPH_UNMERGE: lambda rows, _, body: rows.unmerge(body["user"], body["node"]),
}  # fmt: skip

"""Facts: what beliefs say, as rows, and the nodes that their names lead to.

A belief's subject is the entity of that name; else what the belief is about; else a plain thing of that name. Its
object is a node only if it is known otherwise: by the name of an entity, of a node that somebody saved, or of the
subject of another fact. Else it is an attribute of the subject. That may change with every new name, so whatever
depends on a name is decided again when the name goes to another node. Of several nodes with one name it is the one
that has had it longest.

The rows depend on the beliefs, not on when they are read: following along and starting over give the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from tallystick.records.clock import held_time
from tallystick.records.entity import spoken, thing_key

_VERSIONS = 20  # of a fact, that are named as its sources

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
    versions: str  # JSON
    source: str = ""
    target: str = ""

    @classmethod
    def of(cls, belief: dict[str, Any], user: str, at: str, seq: int) -> Fact:
        subject, predicate, thing = belief.get("triple") or ("", "", "")
        bounds = (held_time(belief.get(name, "")) for name in ("valid_to", "expires"))
        return cls(
            belief["id"], user, belief.get("about", ""), subject, predicate, thing,
            thing_key(subject), thing_key(thing),
            belief["confidence"], held_time(belief.get("valid_from", "")), min(filter(None, bounds), default=""), "",
            at, seq, orjson.dumps([belief["id"]]).decode(),
        )  # fmt: skip

    def says_the_same(self, other: Fact) -> bool:
        return self[1:6] == other[1:6]

    def again(self, later: Fact) -> Fact:
        """This fact, stated again by a later version."""
        versions = [*orjson.loads(self.versions), later.id][-_VERSIONS:]
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


_FACTS = f"SELECT {', '.join(Fact._fields)} FROM facts "
_PUT = f"INSERT OR REPLACE INTO facts VALUES ({', '.join('?' * len(Fact._fields))})"
_MENTION = "WHERE user = ? AND node = ? AND seq = ? AND fact = ?"


class Facts:
    """The facts, while events are applied. `settle` updates everything that depends on them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._fresh: set[str] = set()  # facts to be looked at
        self._named: set[Key] = set()  # names that changed hands
        self.is_empty = db.execute("SELECT 1 FROM facts LIMIT 1").fetchone() is None

    # -- changing ----------------------------------------------------------------------------------------------------

    def add(self, fact: Fact) -> None:
        self.put(fact)
        self.belongs(fact.id, fact)
        if fact.about:
            self._mention(fact, fact.about)
            self.name(fact.user, fact.about, keys_of((fact.about, spoken(fact.about))), fact.seq, is_said=False)

    def belongs(self, version: str, fact: Fact) -> None:
        self._db.execute("INSERT OR REPLACE INTO versions VALUES (?, ?)", (version, fact.id))

    def end(self, fact: Fact, at: str) -> None:
        """It is no longer current."""
        if not fact.ended:
            self.put(fact._replace(ended=at))
            for node in _nodes(fact):
                self._db.execute(f"UPDATE mentions SET ended = ? {_MENTION}", (at, *_mention(fact, node)))
                self._count(fact.user, node, 0, -1)

    def put(self, fact: Fact) -> None:
        self._db.execute(_PUT, fact)
        self._fresh.add(fact.id)
        self.is_empty = False

    def name(self, user: str, node: str, keys: set[str], seq: int, *, is_said: bool) -> None:
        """A node has these names from now on. Of those that somebody saved, it loses the others."""
        where = "WHERE user = ? AND node = ? AND is_said = ?"
        known = {key for (key,) in self._db.execute(f"SELECT key FROM names {where}", (user, node, is_said))}
        gone = known - keys if is_said else set()
        for key in gone:
            self._db.execute(f"DELETE FROM names {where} AND key = ?", (user, node, is_said, key))
        fresh = keys - known
        self._db.executemany(
            "INSERT INTO names VALUES (?, ?, ?, ?, ?)", [(user, key, node, is_said, seq) for key in sorted(fresh)]
        )
        self._named.update((user, key) for key in gone | fresh)

    # -- reading -----------------------------------------------------------------------------------------------------

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
        row = self._db.execute("SELECT fact FROM versions WHERE id = ?", (version,)).fetchone()
        return self.get(row[0]) if row else None

    def _with(self, column: str, keys: Iterable[Key]) -> Iterator[str]:
        for user, key in keys:
            found = self._db.execute(f"SELECT id FROM facts WHERE user = ? AND {column} = ?", (user, key))
            yield from (name for (name,) in found.fetchall())

    # -- settling ----------------------------------------------------------------------------------------------------

    def settle(self) -> tuple[set[Key], set[Key]]:
        """Let every name lead to its node. The nodes, and the edges, that may have changed."""
        fresh, named = self._fresh, self._named
        self._fresh, self._named = set(), set()
        if self.is_empty:
            return set(), set()
        nodes, edges = set[Key](), set[Key]()
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
        self._db.execute("UPDATE facts SET source = ? WHERE id = ?", (source, name))
        for node in before - after:
            self._db.execute(f"DELETE FROM mentions {_MENTION}", _mention(fact, node))
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
            self._db.execute("UPDATE facts SET target = ? WHERE id = ?", (target, name))
        if is_fresh or target != fact.target or fact.is_edge:
            edges.add((fact.user, name))
            nodes.update((fact.user, node) for node in _nodes(fact))

    def _entity(self, user: str, name: str, key: str) -> str:
        """The node that has had that name longest; but an id names its own node."""
        if not key:
            return ""
        if self._db.execute("SELECT 1 FROM names WHERE user = ? AND node = ? LIMIT 1", (user, name)).fetchone():
            return name
        row = self._db.execute(
            "SELECT node FROM names WHERE user = ? AND key = ? ORDER BY seq, node LIMIT 1", (user, key)
        ).fetchone()
        return str(row[0]) if row else ""

    def _is_thing(self, user: str, key: str, but: int = 0) -> bool:
        """True if more than so many facts are about a plain thing."""
        said = "SELECT 1 FROM facts WHERE user = ? AND source = ? LIMIT 1 OFFSET ?"
        return self._db.execute(said, (user, key, but)).fetchone() is not None

    # -- counting ----------------------------------------------------------------------------------------------------

    def _mention(self, fact: Fact, node: str) -> None:
        self._db.execute("INSERT INTO mentions VALUES (?, ?, ?, ?, ?)", (*_mention(fact, node), fact.ended))
        self._count(fact.user, node, 1, not fact.ended)

    def _count(self, user: str, node: str, told: int, held: int) -> None:
        self._db.execute(
            "INSERT INTO entities VALUES (?, ?, ?, ?)"
            " ON CONFLICT (user, node) DO UPDATE SET told = told + excluded.told, held = held + excluded.held",
            (user, node, told, held),
        )
        self._db.execute("DELETE FROM entities WHERE user = ? AND node = ? AND told = 0", (user, node))


def _nodes(fact: Fact) -> set[str]:
    """The nodes that a fact is about."""
    return {node for node in (fact.about, fact.source) if node}


def _mention(fact: Fact, node: str) -> tuple[str, str, int, str]:
    return fact.user, node, fact.seq, fact.id

"""The graph, as tables that follow the ledger. Their names begin with `graph_`, which is left out here.

`nodes` and `edges` have the combined view of the graph: a record's `line` as an envelope has it. `said` is the line
that somebody saved: empty where it is the same, NULL where nobody saved any and all of it follows from beliefs; `saved`
is the event that has it.
`others` are profiles, paths and events, which are as they were saved.

`facts` is what beliefs say: one row for each series of versions that say the same of the same. `source` and `target`
are the nodes that its names lead to; `target` is empty where the object is not a node, and so an attribute. `names`
says which nodes have a name, and since when. `mentions` and `entities` count the facts about a node.

Every query names its user, and no answer crosses to another. A query by id, kind, source or target is a lookup: it
costs as much as what is found.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from tallystick.projections.database import Stale
from tallystick.projections.graph.combined_view import MARK, Merge, merge_of, merges_into
from tallystick.projections.graph.rows import ATTRIBUTES, SOURCES, UNNAMED, Rows, apply, saved_line
from tallystick.projections.pages.rows import title_of
from tallystick.projections.recorded import NO_EVENT, LedgerView, said_in
from tallystick.projections.table_set import TableSet, pending_tables
from tallystick.records.belief import OWNER
from tallystick.records.entity import THING, kind_of, thing_key
from tallystick.records.event import Event
from tallystick.records.graph.envelope import KEYS, KINDS
from tallystick.records.graph.nodes import RecordFields
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE, GRAPH_MERGE, GRAPH_PUT
from tallystick.records.trust import Distrust

SHAPE = 9  # of what the fold writes; raise it when the same events give other rows

TABLES = (
    *pending_tables("graph"),
    """CREATE TABLE graph_nodes (
        user TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, is_merged INTEGER NOT NULL, line BLOB NOT NULL,
        said BLOB, saved INTEGER, PRIMARY KEY (user, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX graph_nodes_kind ON graph_nodes (user, kind, id)",
    """CREATE TABLE graph_edges (
        user TEXT NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL,
        line BLOB NOT NULL, said BLOB, saved INTEGER, PRIMARY KEY (user, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX graph_edges_source ON graph_edges (user, source, id)",
    "CREATE INDEX graph_edges_target ON graph_edges (user, target, id)",
    "CREATE INDEX graph_edges_kind ON graph_edges (user, kind, id)",
    """CREATE TABLE graph_others (
        n INTEGER PRIMARY KEY, user TEXT NOT NULL, part TEXT NOT NULL, id TEXT NOT NULL, line BLOB NOT NULL,
        saved INTEGER NOT NULL, UNIQUE (user, part, id)
    )""",
    # what was last saved by a program that is trusted less than a person
    """CREATE TABLE graph_programs (
        user TEXT NOT NULL, part TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (user, part, id)
    ) WITHOUT ROWID""",
    "CREATE TABLE graph_heads (user TEXT PRIMARY KEY, told TEXT NOT NULL, saved TEXT NOT NULL) WITHOUT ROWID",
    # the node that each was merged into, and its names
    """CREATE TABLE graph_merges (
        user TEXT NOT NULL, node TEXT NOT NULL, "into" TEXT NOT NULL, told TEXT NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (user, node)
    ) WITHOUT ROWID""",
    'CREATE INDEX graph_merges_into ON graph_merges (user, "into", seq)',
    """CREATE TABLE graph_facts (
        id TEXT PRIMARY KEY, user TEXT NOT NULL, about TEXT NOT NULL, subject TEXT NOT NULL, predicate TEXT NOT NULL,
        object TEXT NOT NULL, subject_key TEXT NOT NULL, object_key TEXT NOT NULL, weight REAL NOT NULL,
        valid_from TEXT NOT NULL, valid_to TEXT NOT NULL, ended TEXT NOT NULL, at TEXT NOT NULL, seq INTEGER NOT NULL,
        stated INTEGER NOT NULL, versions TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX graph_facts_subject ON graph_facts (user, subject_key)",
    "CREATE INDEX graph_facts_object ON graph_facts (user, object_key)",
    "CREATE INDEX graph_facts_source ON graph_facts (user, source, target, ended, seq)",
    """CREATE TABLE graph_names (
        user TEXT NOT NULL, key TEXT NOT NULL, node TEXT NOT NULL, is_said INTEGER NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (user, key, node, is_said)
    ) WITHOUT ROWID""",
    "CREATE INDEX graph_names_node ON graph_names (user, node, is_said)",
    """CREATE TABLE graph_mentions (
        user TEXT NOT NULL, node TEXT NOT NULL, seq INTEGER NOT NULL, fact TEXT NOT NULL, ended TEXT NOT NULL,
        PRIMARY KEY (user, node, seq, fact)
    ) WITHOUT ROWID""",
    "CREATE INDEX graph_mentions_ended ON graph_mentions (user, node, ended)",
    """CREATE TABLE graph_entities (
        user TEXT NOT NULL, node TEXT NOT NULL, told INTEGER NOT NULL, held INTEGER NOT NULL,
        PRIMARY KEY (user, node)
    ) WITHOUT ROWID""",
    # the fact of each version of a belief
    "CREATE TABLE graph_versions (id TEXT PRIMARY KEY, fact TEXT NOT NULL) WITHOUT ROWID",
    # who was distrusted when the rows were made, as JSON
    "CREATE TABLE graph_distrusted (only INTEGER PRIMARY KEY CHECK (only = 1), sources TEXT NOT NULL)",
)
NAMES = tuple(re.findall(r"CREATE TABLE (\w+)", "".join(TABLES)))


class GraphFile(TableSet):
    """The graphs of all users of a folder. `ledger` is the name in derived records."""

    name, shape, tables = "graph", SHAPE, TABLES

    def __init__(self, path: Path | str | sqlite3.Connection, ledger: str, *, writable: bool = True) -> None:
        self.ledger = ledger
        self._distrusts: list[Distrust] = []
        super().__init__(path, writable=writable)
        self.comparison = Comparison(self.db, ledger)

    def take(self, events: Iterable[Event]) -> None:
        rows = Rows(self.db, self.ledger, self._distrusts)
        for event in events:
            apply(rows, event)
        rows.flush()
        self.db.execute("INSERT OR REPLACE INTO graph_distrusted VALUES (1, ?)", (_sources(self._distrusts),))

    def is_made_under(self, distrusts: list[Distrust]) -> bool:
        """Whether the rows leave out what these sources said, and nothing else. From now on those of new events do."""
        self._distrusts = distrusts
        row = self.db.execute("SELECT sources FROM graph_distrusted").fetchone()
        return row is None or row[0] == _sources(distrusts)

    # -- asking ------------------------------------------------------------------------------------------------------

    def line(self, user: str, part: str, name: str) -> bytes | None:
        """A record, as an envelope has it."""
        table, of = (part, ()) if part in ("nodes", "edges") else ("others", (part,))
        where = "user = ? AND part = ? AND id = ?" if of else "user = ? AND id = ?"
        found = self._lines(user, part, f"SELECT id, line, saved FROM graph_{table} WHERE {where}", user, *of, name)
        return found[0] if found else None

    def lines(self, user: str, part: str) -> list[bytes]:
        """All of a part, by id; events in the order in which they came."""
        if part in ("nodes", "edges"):
            return self._lines(user, part, f"SELECT id, line, saved FROM graph_{part} WHERE user = ? ORDER BY id", user)
        asked = f"FROM graph_others WHERE user = ? AND part = ? ORDER BY {'n' if part == 'events' else 'id'}"
        return self._lines(user, part, f"SELECT id, line, saved {asked}", user, part)

    def _lines(self, user: str, part: str, question: str, *values: object) -> list[bytes]:
        return self.comparison.records(user, part, self.db.execute(question, values))

    def said_line(self, user: str, part: str, name: str) -> bytes | None:
        """The line of a record as somebody saved it; None, if nobody did."""
        if part not in ("nodes", "edges"):
            return self.line(user, part, name)
        asked = f"SELECT id, said, line, saved FROM graph_{part} WHERE user = ? AND id = ?"
        return next(iter(self._said_lines(user, part, asked, user, name)), None)

    def _said_lines(self, user: str, part: str, question: str, *values: object) -> list[bytes]:
        found = ((name, saved_line(said, line), saved) for name, said, line, saved in self.db.execute(question, values))
        return self.comparison.records(user, part, [(name, said, saved) for name, said, saved in found if said])

    def is_persons(self, user: str, part: str, name: str) -> bool:
        """True if a person was the last to save that record, or that key of what envelopes say of themselves."""
        if part in KINDS and self.said_line(user, part, name) is None:
            return False
        lesser = "SELECT 1 FROM graph_programs WHERE user = ? AND part = ? AND id = ?"
        return self.db.execute(lesser, (user, part, name)).fetchone() is None

    def beliefs_behind(self, user: str, part: str, name: str) -> list[str]:
        """The beliefs that a node or an edge follows from, current or not; an edge has the name of its one."""
        if part != "nodes":
            return [name] if part == "edges" else []
        found = self.db.execute("SELECT fact FROM graph_mentions WHERE user = ? AND node = ?", (user, name))
        return [fact for (fact,) in found]

    def has_any(self, user: str) -> bool:
        asked = (f"SELECT 1 FROM graph_{table} WHERE user = ? LIMIT 1" for table in ("nodes", "edges", "others"))
        return any(self.db.execute(question, (user,)).fetchone() for question in asked)

    def said(self, user: str, part: str) -> list[bytes]:
        """The nodes or edges that somebody saved, as they were saved."""
        asked = f"SELECT id, said, line, saved FROM graph_{part} WHERE user = ? AND said IS NOT NULL ORDER BY id"
        return self._said_lines(user, part, asked, user)

    def nodes(self, user: str, kind: str | None, *, merged: bool) -> list[bytes]:
        """All of them, or those of one kind."""
        visible = "" if merged else " AND NOT is_merged"
        if kind is None:
            return self._lines(
                user, "nodes", f"SELECT id, line, saved FROM graph_nodes WHERE user = ?{visible} ORDER BY id", user
            )  # fmt: skip
        by_kind = "graph_nodes INDEXED BY graph_nodes_kind WHERE user = ? AND kind = ?"
        return self._lines(user, "nodes", f"SELECT id, line, saved FROM {by_kind}{visible} ORDER BY id", user, kind)

    def edges(
        self, user: str, source: str | None, target: str | None, kind: str | None, limit: int | None
    ) -> list[bytes]:
        asked = {"source": source, "target": target, "kind": kind}
        wanted = {name: value for name, value in asked.items() if value is not None}
        where = "".join(f" AND {name} = ?" for name in wanted)
        by = next((f" INDEXED BY graph_edges_{name}" for name in wanted), "")  # SQLite would rather read all in order
        asked_for = f"SELECT id, line, saved FROM graph_edges{by} WHERE user = ?{where} ORDER BY id LIMIT ?"
        return self._lines(user, "edges", asked_for, user, *wanted.values(), -1 if limit is None else limit)

    def head(self, user: str) -> RecordFields:
        """The metadata of the graph as a whole, its extra fields, and which profile is the first."""
        for told, saved in self.db.execute("SELECT told, saved FROM graph_heads WHERE user = ?", (user,)).fetchall():
            self.comparison.told(told, user, map(int, saved.split()))
        return Rows(self.db, self.ledger).head_of(user)

    def merge_of(self, user: str, node: str) -> Merge | None:
        return merge_of(self.db, user, node)

    def merges_into(self, user: str, node: str) -> list[Merge]:
        return merges_into(self.db, user, node)

    def named(self, user: str, name: str) -> list[str]:
        """The nodes with a name, the one that has had it longest first; plain things have but one."""
        key = thing_key(name)
        found = self.db.execute(
            "SELECT node FROM graph_names WHERE user = ? AND key = ? GROUP BY node ORDER BY min(seq), node", (user, key)
        ).fetchall()  # fmt: skip
        return list(dict.fromkeys([*(node for (node,) in found), *([key] if self.line(user, "nodes", key) else [])]))


def _sources(distrusts: list[Distrust]) -> str:
    return orjson.dumps(sorted((each.user, each.source, each.first) for each in distrusts)).decode()


# -- comparing records that are about to be served with the ledger -----------------------------------------------------

_OURS = frozenset((
    "absorbed", "aliases", "at", "by", "first", "held", "id", "into", "kind", "label", "last", "led", "ledger",
    "merged", "only", "properties", "provenance", "reasons", "score", "source", "sources", "target", "told",
    "valid_from", "valid_to", "weight", "head", "metadata", "extra", "node", MARK, THING, UNNAMED, "",
))  # fmt: skip
_NO_WORDS = re.compile(
    r"\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?|\d{8}-\d{4}-[0-9a-f]{6}|[0-9A-HJKMNP-TV-Z]{26}"
)
_MANY = 64  # events whose records are kept
_FACTS_OF = f"""SELECT stated FROM graph_facts WHERE id IN (
    SELECT fact FROM (
        SELECT fact FROM graph_mentions WHERE user = :user AND node = :node
        ORDER BY seq DESC, fact DESC LIMIT {SOURCES})
    UNION SELECT fact FROM (
        SELECT fact FROM graph_mentions WHERE user = :user AND node = :node ORDER BY seq, fact LIMIT 1)
    UNION SELECT id FROM (
        SELECT id FROM graph_facts WHERE user = :user AND source = :node AND target = '' AND ended = ''
        ORDER BY seq DESC, id DESC LIMIT {ATTRIBUTES}))"""
_NODE = "SELECT id, line, saved FROM graph_nodes WHERE user = ? AND id = ?"


class Comparison:
    """Compares the records of one open graph with the ledger; each once. `name` is what derived records call it.

    A record is combined from what somebody saved, from beliefs and from merges. Each of its strings must come from one
    of the events behind it, or be made by tallystick: the name of a field, an id, a time, a title.
    """

    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self._db, self._name = db, name
        self._checked: set[int] = set()
        self._saved: dict[int, _Records | None] = {}  # what some events have: one may have thousands of records
        self.ledger: LedgerView | None = None  # None: nothing is compared

    def records(self, user: str, part: str, records: Iterable[tuple[str, bytes, int | None]]) -> list[bytes]:
        """The lines of these records of a user: each with its id, and the event that has it. Raises Stale."""
        every = list(records)
        for name, line, saved in every if self.ledger is not None else ():
            self._must_be_recorded(user, part, name, line, saved)
        return [line for _, line, _ in every]

    def _must_be_recorded(self, user: str, part: str, name: str, line: bytes, saved: int | None) -> None:
        key = hash((user, part, name, line, saved))
        if key in self._checked or self.ledger is None:
            return
        self._checked.add(key)
        record, as_saved = orjson.loads(line), self._saved_record(self.ledger, user, part, name, saved)
        if record == as_saved or as_saved is None:
            return
        words = strings_in(record) - _OURS - {self._name, kind_of(name)} - strings_in(as_saved)
        for told in _behind(self._db, self.ledger, user, part, name):
            if told is None:  # it is from a part of the ledger that was moved away
                return
            words -= told
        left = [word for word in words if not _NO_WORDS.fullmatch(word)]
        for word in left if part == "edges" else ():  # the nodes at its ends
            for node in self._db.execute(_NODE, (user, word)):
                self._must_be_recorded(user, "nodes", *node)
                left = [each for each in left if each != word]
        if left:
            self._checked.discard(key)
            raise Stale(f"the {part[:-1]} {name!r} was not what the ledger says")

    def _saved_record(
        self, ledger: LedgerView, user: str, part: str, name: str, seq: int | None
    ) -> RecordFields | None:  # fmt: skip
        """The record as somebody saved it; empty, if that event has none. None: the event was moved away."""
        if seq is None:
            return {}
        if seq not in self._saved:
            if len(self._saved) >= _MANY:
                self._saved.clear()
            self._saved[seq] = _records_in(ledger, seq)
        found = self._saved[seq]
        return None if found is None else found.get((user, part, name), {})

    def told(self, text: str, user: str, seqs: Iterable[int]) -> None:
        """Raise Stale, unless these events of a user have all that is in a JSON text."""
        if self.ledger is None:
            return
        events = self.ledger.recorded(seqs).values()
        bodies = [(each.body or {}, each.by) for each in events if each is not None]
        known = {word for body, by in bodies if body.get("user") == user for word in (*strings_in(body), by)}
        left = strings_in(orjson.loads(text)) - known - _OURS
        if None not in events and any(not _NO_WORDS.fullmatch(word) for word in left):
            raise Stale("what is said of the graph was not what the ledger says")


def _behind(db: sqlite3.Connection, ledger: LedgerView, user: str, part: str, name: str) -> Iterator[set[str] | None]:
    """The strings in each event that a derived record follows from; None for one that was moved away."""
    if part == "nodes":
        stated = [seq for (seq,) in db.execute(_FACTS_OF, {"user": user, "node": name})]
        merges = [merge for merge in (merge_of(db, user, name), *merges_into(db, user, name)) if merge]
    elif part == "edges":
        stated = [seq for (seq,) in db.execute("SELECT stated FROM graph_facts WHERE id = ?", (name,))]
        merges = []
    else:
        return
    events = ledger.recorded([*stated, *(merge.seq for merge in merges)])
    for event in events.values():
        is_own = event is not None and said_in(event).get("user", OWNER) == user
        if event is None:
            yield None
        elif event.op in (BELIEF_PUT, BELIEF_SUPERSEDE) and is_own and ledger.is_released(event):
            words = strings_in(said_in(event))
            yield {*words, *map(thing_key, words), *map(str.strip, words), *map(title_of, words)}
        elif event.op == GRAPH_MERGE and event.body is not None and event.body["user"] == user:
            yield {*strings_in(event.body), event.by}


_Records = dict[tuple[str, str, str], RecordFields]  # by user, part and id


def _records_in(ledger: LedgerView, seq: int) -> _Records | None:
    """The records that an event saves; None, if it was moved away."""
    event = ledger.recorded([seq]).get(seq, NO_EVENT)
    if event is None:
        return None
    body = event.body if event.op == GRAPH_PUT else None
    if body is None:
        return {}
    if "piece" in body:  # the last one of a record that is in several events
        events = ledger.recorded(range(seq - body["of"] + 1, seq + 1)).values()
        pieces = sorted((each.body for each in events if each and each.body), key=lambda each: each["n"])
        body = {"user": body["user"], body["part"]: [orjson.loads("".join(each["piece"] for each in pieces))]}
    every = [(part, KEYS.get(part, "id"), body.get(part, ())) for part in KINDS]
    return {(body["user"], part, told[key]): told for part, key, records in every for told in records}


def strings_in(value: Any) -> set[str]:
    """Every string in a value, the names of fields too."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {*value, *(word for each in value.values() for word in strings_in(each))}
    if isinstance(value, list | tuple):
        return {word for each in value for word in strings_in(each)}
    return set()

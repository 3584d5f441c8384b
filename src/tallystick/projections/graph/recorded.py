"""Comparing records of the graph that are about to be served with the ledger.

A record is combined from what somebody saved, from beliefs and from merges. Each of its strings must come from one of
the events behind it, or be made by tallystick: the name of a field, an id, a time, a title.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from tallystick.projections.database import Stale
from tallystick.projections.graph.combined_view import MARK, merge_of, merges_into
from tallystick.projections.graph.rows import ATTRIBUTES, SOURCES, UNNAMED
from tallystick.projections.pages.rows import title_of
from tallystick.projections.recorded import NONE, LedgerView, said_in, user_of
from tallystick.records.entity import THING, kind_of, thing_key
from tallystick.records.graph.envelope import KEYS, KINDS
from tallystick.records.graph.nodes import RecordFields
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE, GRAPH_MERGE, GRAPH_PUT

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
    """Compares the records of one open graph with the ledger; each once. `name` is what derived records call it."""

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


def _behind(
    db: sqlite3.Connection, ledger: LedgerView, user: str, part: str, name: str
) -> Iterator[set[str] | None]:  # fmt: skip
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
        if event is None:
            yield None
        elif event.op in (BELIEF_PUT, BELIEF_SUPERSEDE) and user_of(event) == user and ledger.is_released(event):
            words = strings_in(said_in(event))
            yield {*words, *map(thing_key, words), *map(str.strip, words), *map(title_of, words)}
        elif event.op == GRAPH_MERGE and event.body is not None and event.body["user"] == user:
            yield {*strings_in(event.body), event.by}


_Records = dict[tuple[str, str, str], RecordFields]  # by user, part and id


def _records_in(ledger: LedgerView, seq: int) -> _Records | None:
    """The records that an event saves; None, if it was moved away."""
    event = ledger.recorded([seq]).get(seq, NONE)
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

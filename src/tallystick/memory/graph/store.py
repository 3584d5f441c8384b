"""The graph of a memory as a `MemoryGraphStore`: what is saved goes into the ledger, what is read follows from it.

One call is one group of events: all of it is recorded, or nothing. What is here already as it is given is not recorded
again. A record that was read here and is saved again is saved without what only follows: its merges, and what beliefs
say; so it does not matter whether it was changed by somebody who knows of either.

An envelope that this memory exported itself comes back as what it was: what all followed from beliefs still does, and
is passed over. From another memory it comes as a copy, with the mark of where it was derived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import orjson

from tallystick.decide import graph as decide
from tallystick.decide.graph import Saved
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.graph.index import GraphAt
from tallystick.memory.graph.rows import GraphRows, is_text
from tallystick.projections.graph.combined_view import is_derived_here, plain_edge, plain_node
from tallystick.projections.graph.open_database import GraphFile
from tallystick.records.errors import Busy, NotApproved, Refused
from tallystick.records.event import Draft, Event
from tallystick.records.graph.envelope import (
    KEYS,
    KINDS,
    GraphEnvelope,
    Records,
    key_of,
    keys_in,
    record_in,
    record_of,
)
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.fields import RecordFields, line_of
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tallystick.records.path import MemoryPath
from tallystick.records.policy import ALLOW, thing

Answer = TypeVar("Answer")

_TRIES = 20
_LAYERED = (b'"merged"', b'"absorbed"', b'"led"', b'"derived"')  # by which a record that was read here is known


class _Behind(Exception):
    """Somebody else wrote to the graph meanwhile."""


class GraphStore:
    """Profiles, nodes, edges and paths of one user, in the ledger."""

    def __init__(self, at: GraphAt, gate: WriteGate, user: str) -> None:
        self._at, self._folder, self._gate, self._user = at, at.open_folder, gate, user

    # -- reading -----------------------------------------------------------------------------------------------------

    def load_profile(self, profile_id: str) -> MemoryProfile:
        return self._load("profiles", profile_id)  # type: ignore[no-any-return]

    def list_profiles(self) -> list[MemoryProfile]:
        return self._ask(lambda rows: rows.all("profiles"))

    def load_node(self, node_id: str) -> MemoryNode:
        return self._load("nodes", node_id)  # type: ignore[no-any-return]

    def list_nodes(self, kind: str | None = None, *, merged: bool = False) -> list[MemoryNode]:
        """All, or those of one kind. A node that was merged into another is left out unless asked for."""
        return self._ask(lambda rows: rows.list_nodes(kind, merged=merged))

    def load_edge(self, edge_id: str) -> MemoryEdge:
        return self._load("edges", edge_id)  # type: ignore[no-any-return]

    def list_edges(
        self, source: str | None = None, target: str | None = None, kind: str | None = None, *, limit: int | None = None
    ) -> list[MemoryEdge]:
        """All, or those with that source, that target and that kind; the first `limit` of them."""
        return self._ask(lambda rows: rows.list_edges(source, target, kind, limit=limit))

    def load_path(self, path_id: str) -> MemoryPath:
        """A path of this memory, or one that was saved."""
        own = self._at.read(lambda _: self._own_paths())
        return (own.get(path_id) if is_text(path_id) else None) or self._load("paths", path_id)

    def list_paths(self) -> list[MemoryPath]:
        """The paths of this memory, and those that were saved."""
        return self._at.read(lambda db: [record_in("paths", line) for line in self._path_lines(db)])

    def _own_paths(self) -> dict[str, MemoryPath]:
        """The paths on which things were remembered here. What was saved under the same name gives way."""
        known = getattr(self._at.state, "paths", None)
        return {path.path_id: path for path in known.all(self._user)} if known else {}

    def _path_lines(self, db: GraphFile) -> list[bytes]:
        saved = {str(orjson.loads(line)["path_id"]): line for line in db.lines(self._user, "paths")}
        lines = saved | {name: line_of(path.to_dict()) for name, path in self._own_paths().items()}
        return [lines[name] for name in sorted(lines)]

    def list_events(self) -> list[MemoryEvent]:
        """Those that envelopes brought. What happened in this memory itself, `log` tells."""
        return self._ask(lambda rows: rows.all("events"))

    def _load(self, part: str, name: str) -> Any:
        return self._ask(lambda rows: rows.load(part, name))

    def _ask(self, question: Callable[[GraphRows], Answer]) -> Answer:
        return self._at.read(lambda db: question(GraphRows(db, self._user)))

    # -- saving ------------------------------------------------------------------------------------------------------

    def save_profile(self, profile: MemoryProfile) -> None:
        self._save_all("profiles", [profile])

    def save_node(self, node: MemoryNode) -> None:
        self._save_all("nodes", [node])

    def save_nodes(self, nodes: Iterable[MemoryNode]) -> None:
        """All of them or, if one is refused, none."""
        self._save_all("nodes", nodes)

    def save_edge(self, edge: MemoryEdge) -> None:
        """Its ends need not be there yet."""
        self._save_all("edges", [edge])

    def save_edges(self, edges: Iterable[MemoryEdge]) -> None:
        """All of them or, if one is refused, none."""
        self._save_all("edges", edges)

    def save_path(self, path: MemoryPath) -> None:
        """Keep a path that another program tells of. It is a record: nothing is remembered on it."""
        self._save_all("paths", [path])

    def _save_all(self, part: str, records: Iterable[Any]) -> None:
        given: dict[str, Saved] = {}
        for record in records:
            if not isinstance(record, KINDS[part]):
                raise Refused(f"{part} holds {KINDS[part].__name__} records, not {type(record).__name__}")
            told = record.to_dict()
            given[key_of(part, told)] = Saved(part, line_of(told), orjson.loads(line_of(told)))
        self._gate.must("graph", "put", user=self._user)
        self._write(lambda db: self._put(self._fresh(db, given.values())))

    # -- envelopes ---------------------------------------------------------------------------------------------------

    def export_envelope(self, *, explicit: bool = False) -> GraphEnvelope:
        """All of it; with `explicit`, only what was saved here, without what beliefs say and without merges."""
        return self._at.read(lambda db: self._export(db, explicit))

    def _export(self, db: GraphFile, explicit: bool) -> GraphEnvelope:
        user, head = self._user, db.head(self._user)
        parts = {part: Records[Any](part, db.lines(user, part)) for part in KINDS if part not in ("nodes", "edges")}
        for part in ("nodes", "edges"):
            parts[part] = Records(part, db.said(user, part) if explicit else db.lines(user, part))
        if not explicit:
            parts["paths"] = Records("paths", self._path_lines(db))
        first = _first_profile(db, user)
        profile = record_in("profiles", db.line(user, "profiles", first) or b"") if first else None
        return GraphEnvelope(
            profile=profile, metadata=head.get("metadata", {}), extra=head.get("extra", {}), **parts  # type: ignore[arg-type]
        )  # fmt: skip

    def import_envelope(self, envelope: GraphEnvelope) -> None:
        """Take in all of it, or nothing. What is here already under the same id is replaced; an event never is."""
        given, head = _given(envelope)
        self._gate.must("graph", "put", user=self._user)
        self._write(lambda db: self._put(self._fresh(db, given, is_import=True), self._news(db, head)))

    def would_import(self, envelope: GraphEnvelope) -> dict[str, dict[str, int]]:
        """What an import would do, part by part: how many records are new, changed, the same as here, or follow."""
        given, _ = _given(envelope)
        return self._at.read(lambda db: self._counted(db, given))

    def _counted(self, db: GraphFile, given: list[Saved]) -> dict[str, dict[str, int]]:
        counts: dict[str, Counter[str]] = {part: Counter() for part in KINDS}
        own = self._own_paths()
        for saved in given:
            known = db.line(self._user, saved.part, _name(saved))
            if saved.part == "paths" and _name(saved) in own:
                verdict = "follows"
            elif known is None:
                verdict = "follows" if is_derived_here(saved.told, self._at.ledger_id) else "new"
            else:
                verdict = "changed" if self._settled(db, saved, known, is_import=True) else "same"
            counts[saved.part][verdict] += 1
        return {part: dict(sorted(counted.items())) for part, counted in counts.items() if counted}

    # -- how ---------------------------------------------------------------------------------------------------------

    def _put(self, records: Iterable[Saved], head: RecordFields | None = None) -> list[Draft]:
        return decide.put(self._user, records, head, trust=self._gate.trust, is_belief=self._at.state.taken)

    def _write(self, make: Callable[[GraphFile], list[Draft]]) -> list[Event]:
        """Record what `make` decides on the rows as they are. If they are behind by then, it decides again."""
        ledger = self._at.ledger
        if ledger.in_batch():
            raise Refused("the graph is not written inside a batch; end it first", "batch")
        try:
            with ledger.turn():
                for _ in range(_TRIES):
                    with suppress(_Behind):
                        return self._record(*self._at.read(lambda db: (make(db), self._last())))
        except NotApproved as error:
            self._gate.attempted(error)
            raise
        raise Busy("others keep writing to the graph; try again in a moment")

    def _record(self, drafts: list[Draft], seen: int) -> list[Event]:
        return self._at.ledger.write(lambda: self._unless_behind(drafts, seen)) if drafts else []

    def _last(self) -> int:
        return self._at.state.graph.last(self._user)

    def _unless_behind(self, drafts: list[Draft], seen: int) -> list[Draft]:
        if self._last() != seen:
            raise _Behind
        return drafts

    def _fresh(self, db: GraphFile, given: Iterable[Saved], *, is_import: bool = False) -> Iterator[Saved]:
        """What is to be recorded of it."""
        is_empty, own = not db.has_any(self._user), self._own_paths()
        for saved in given:
            if saved.part == "paths" and _name(saved) in own:
                continue
            known = None if is_empty else db.line(self._user, saved.part, _name(saved))
            if found := self._settled(db, saved, known, is_import=is_import):
                self._may_put(db, saved.part, _name(saved), known is not None)
                if found.told.get("merged"):
                    self._may_merge(_name(saved))
                yield found

    def _news(self, db: GraphFile, head: RecordFields) -> RecordFields:
        """What an envelope says of itself that was not said before."""
        known, fresh = db.head(self._user), _fresh_in(db, self._user, head)
        said = set(keys_in(known))
        for part, name in keys_in(fresh):
            self._may_put(db, part, name, (part, name) in said)
        return fresh

    def _may_put(self, db: GraphFile, part: str, name: str, is_known: bool) -> None:
        """NotApproved, if the policy does not let this program say that, or say otherwise what a person said."""
        if self._gate.is_free(self._gate.trust):
            return
        user, what = self._user, f"{part.removesuffix('s')} {ascii(name)[:60]}"
        if is_known and db.is_persons(user, part, name):
            why = f"{what} was saved by a person"
        elif is_known and any(map(self._is_persons_belief, db.beliefs_behind(user, part, name))):
            why = f"{what} follows from what a person said"
        else:
            why = ""
        stated = "human" if why else self._gate.trust if is_known else ""
        self._gate.may("graph", "put", thing(stated, user), user=user, what=why)

    def _is_persons_belief(self, name: str) -> bool:
        held = self._at.state.version(name)
        return held is not None and held.user == self._user and held.body().get("trust", "human") == "human"

    def _may_merge(self, name: str) -> None:
        """Refused, if a record says that it is merged, and this program may not merge."""
        if self._gate.is_free(self._gate.trust):
            return
        if self._gate.may("graph", "merge", user=self._user).kind != ALLOW:
            raise Refused(f"node {ascii(name)[:60]} is merged by a person; propose it with `graph.merge`", "permission")

    def _settled(self, db: GraphFile, saved: Saved, known: bytes | None, *, is_import: bool) -> Saved | None:
        """A record as it is to be recorded; None, if there is nothing new in it."""
        if saved.line == known:
            return None
        if saved.part == "events" and known is not None:
            name = ascii(_name(saved))[:60]
            raise Refused(f"event {name} is here already and says otherwise; an event is never changed", "exists")
        if known is not None and saved.line == db.said_line(self._user, saved.part, _name(saved)):
            return None
        if saved.part not in ("nodes", "edges") or not any(sign in saved.line for sign in _LAYERED):
            return saved
        if is_import and is_derived_here(saved.told, self._at.ledger_id):
            return None
        told = self._plain(db, saved, orjson.loads(known) if known else {})
        line = record_of(saved.part, told).to_line()
        is_known = line == db.said_line(self._user, saved.part, _name(saved))
        return None if is_known else saved._replace(line=line, told=told)

    def _plain(self, db: GraphFile, saved: Saved, shown: RecordFields) -> RecordFields:
        user, ledger, told = self._user, self._at.ledger_id, saved.told
        if saved.part == "nodes":
            absorbed = reversed(db.merges_into(user, told["id"]))
            return plain_node(told, shown, db.merge_of(user, told["id"]), absorbed, ledger)
        before = {name for step in told.get("led", ()) for name in step.values()}
        merges = {name: merge for name in before if (merge := db.merge_of(user, name))}
        return plain_edge(told, shown, merges, ledger)


def _name(saved: Saved) -> str:
    return str(saved.told[KEYS.get(saved.part, "id")])


def _given(envelope: GraphEnvelope) -> tuple[list[Saved], RecordFields]:
    """The records of an envelope, and what it says of itself."""
    given = [] if envelope.profile is None else [_saved("profiles", envelope.profile.to_line())]
    for part in KINDS:
        given += [Saved(part, line, told) for _, line, told in envelope.settled(part)]
    head = {"metadata": envelope.metadata, "extra": envelope.extra}
    if envelope.profile is not None and envelope.profiles:
        head["head"] = envelope.profile.id  # type: ignore[assignment]
    return given, head


def _saved(part: str, line: bytes) -> Saved:
    return Saved(part, line, orjson.loads(line))


def _fresh_in(db: GraphFile, user: str, head: RecordFields) -> RecordFields:
    known = db.head(user)
    fresh = {
        name: {key: value for key, value in head[name].items() if _is_news(known.get(name, {}), key, value)}
        for name in ("metadata", "extra")
    }
    if head.get("head") not in (None, _first_profile(db, user)):
        fresh["head"] = head["head"]
    return {name: value for name, value in fresh.items() if value}


def _first_profile(db: GraphFile, user: str) -> str:
    """The profile that was named first; else the first by its id."""
    named = str(db.head(user).get("head", ""))
    if named and db.line(user, "profiles", named):
        return named
    return min((str(orjson.loads(line)["id"]) for line in db.lines(user, "profiles")), default="")


def _is_news(known: RecordFields, key: str, value: object) -> bool:
    return key not in known or line_of({key: known[key]}) != line_of({key: value})

"""`m.graph`: entities, and how they are related.

Its nodes are the entities that beliefs are about, and those that were saved; see `projections/graph`. It shows the
current state; beliefs have the past (`believed_at`). What merging and splitting does to beliefs is in `filing`.

Equal names are not enough. Unless two nodes are surely the same, and the program has a person's trust, a review asks
whether to merge them, until a person says `sure`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson

from tallystick.decide import graph as decide
from tallystick.decide.graph import Saved
from tallystick.ledger.disk import replace as put_in_place
from tallystick.memory.core.arguments import can_be_written
from tallystick.memory.core.follower import Follower, events_from
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.graph.filing import FilingService
from tallystick.memory.trust.filtered_calls import answering
from tallystick.projections.database import has_followed
from tallystick.projections.graph.combined_view import is_derived_here, plain_edge, plain_node
from tallystick.projections.graph.open_database import GraphFile
from tallystick.projections.index.file import held_now
from tallystick.projections.table_set import Bookmark
from tallystick.records.belief import texts
from tallystick.records.entity import Filing, kind_of
from tallystick.records.errors import Busy, Missing, NotApproved, NotFound, NotWritten, Refused
from tallystick.records.event import Draft, Event
from tallystick.records.graph.envelope import KEYS, KINDS, GraphEnvelope, Records, key_of, keys_in, record_in, record_of
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile, RecordFields, line_of
from tallystick.records.operations import GRAPH
from tallystick.records.path import MemoryPath
from tallystick.records.policy import ALLOW, CHANGE, thing
from tallystick.records.progress import Progress
from tallystick.records.review import Review
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.pages import USUAL
from tallystick.stores.phase.graph import merge as merging
from tallystick.stores.phase.graph.base import MemoryGraphStore
from tallystick.stores.phase.graph.merge import WORTH_ASKING, Likeness, Outcome
from tallystick.stores.phase.graph.traverse import MAX_HOPS, Expansion, Limits, Way, expand, resolve, shortest_path

Answer = TypeVar("Answer")

SHOWN = 50
_FEW = 5  # that are named in a message
_TRIES = 20
_LAYERED = (b'"merged"', b'"absorbed"', b'"led"', b'"derived"')  # by which a record that was read here is known


class _Behind(Exception):
    """Another process wrote to the graph meanwhile."""


@answering
class GraphService:
    """One user's graph. It is a `MemoryGraphStore`."""

    def __init__(
        self, at: GraphAt, gate: WriteGate, user: str, erased: Callable[[], None], settle: Callable[[], None]
    ) -> None:  # fmt: skip
        self._at, self._folder, self._gate, self._user, self._erased = at, at.open_folder, gate, user, erased
        self._filing = FilingService(at.open_folder, gate, user, settle)

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
        """The paths of this memory. They replace saved ones of the same name."""
        known = getattr(self._at.state, "paths", None)
        return {path.path_id: path for path in known.all(self._user)} if known else {}

    def _path_lines(self, db: GraphFile) -> list[bytes]:
        saved = {str(orjson.loads(line)["path_id"]): line for line in db.lines(self._user, "paths")}
        lines = saved | {name: line_of(path.to_dict()) for name, path in self._own_paths().items()}
        return [lines[name] for name in sorted(lines)]

    def list_events(self) -> list[MemoryEvent]:
        """The events of imported envelopes. Those of this memory itself are in `log`."""
        return self._ask(lambda rows: rows.all("events"))

    def _load(self, part: str, name: str) -> Any:
        return self._ask(lambda rows: rows.load(part, name))

    def _ask(self, question: Callable[[GraphRows], Answer]) -> Answer:
        return self._at.read(lambda db: question(GraphRows(db, self._user)))

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
        """Save a path of another program. It is a record: nothing is remembered on it."""
        self._save_all("paths", [path])

    def _save_all(self, part: str, records: Iterable[Any]) -> None:
        given: dict[str, Saved] = {}
        for record in records:
            if not isinstance(record, KINDS[part]):
                raise Refused(f"{part} must be {KINDS[part].__name__} records, not {type(record).__name__}")
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
        """Import all of it, or nothing. Records with an id that is here are replaced; events never are."""
        given, head = _given(envelope)
        self._gate.must("graph", "put", user=self._user)
        self._write(lambda db: self._put(self._fresh(db, given, is_import=True), self._news(db, head)))

    def would_import(self, envelope: GraphEnvelope) -> dict[str, dict[str, int]]:
        """What an import would do, part by part: how many records are new, changed, the same, or derived here."""
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

    def resolve(self, name: str) -> MemoryNode:
        """The node that `name` names, by its id or by what it goes by; after a merge, the one it was merged into.

        Refused, if several go by that name.
        """
        return self._ask(lambda rows: self._resolved(rows, name))

    def show(self, name: str, hops: int = 1, limit: int = SHOWN) -> Expansion:
        """A node, and what is within so many steps of it: at most `limit` nodes."""
        return self.expand([name], hops, Limits(max_nodes=limit))

    def neighbours(self, name: str, limits: Limits | None = None) -> Expansion:
        """A node and those next to it."""
        return self.expand([name], 1, limits)

    def expand(self, names: Iterable[str], hops: int = 2, limits: Limits | None = None) -> Expansion:
        """Everything within so many steps of these nodes. `is_cut` says whether a limit was met."""
        if isinstance(names, str):
            raise Refused(f"names must be a list; write [{names!r}]")
        given = list(names)
        return self._ask(
            lambda rows: expand(rows.store(), [self._resolved(rows, name).id for name in given], hops, limits)
        )

    def shortest_path(
        self, start: str, end: str, *, max_hops: int = MAX_HOPS, limits: Limits | None = None
    ) -> Way | None:
        """The way with the fewest edges; None if there is none within the limits."""
        return self._ask(lambda rows: shortest_path(
            rows.store(), self._resolved(rows, start).id, self._resolved(rows, end).id, max_hops=max_hops, limits=limits
        ))  # fmt: skip

    def _resolved(self, rows: GraphRows, name: str) -> MemoryNode:
        if self._has_node(rows, name):
            return resolve(rows.store(), name)
        found = rows.db.named(self._user, name) if is_text(name) else []
        found = [each for each in found if self._has_node(rows, each)]
        if not found and is_text(name):  # what it is called elsewhere
            found = [each for each in self._folder.entities_called(name, self._user) if self._has_node(rows, each)]
        nodes = {node.id: node for node in (resolve(rows.store(), each) for each in found)}
        if not nodes:
            raise NotFound(f"no node named {ascii(name)[:60]}")
        if len(nodes) > 1:
            few = ", ".join([ascii(each)[1:61] for each in nodes][:_FEW]).replace("'", "")
            raise Refused(f"{ascii(name)[:60]} names {len(nodes)} nodes ({few}); use one of these ids", "ambiguous")
        return next(iter(nodes.values()))

    def export_to(self, path: str | Path, *, explicit: bool = False, replace: bool = False) -> GraphEnvelope:
        """Write the envelope to a file, complete or not at all. An existing file is kept unless `replace` is set."""
        place, envelope, outlet = Path(path), self.export_envelope(explicit=explicit), self._folder.outlet
        envelope = envelope if outlet is None else outlet.reader.out(envelope)
        if place.exists() and not replace:
            raise Refused(f"{place} exists already; choose another name, or use --force to replace it", "exists")
        try:
            put_in_place(self._at.open_folder.disk, place, envelope.to_bytes())
        except OSError as error:
            raise NotWritten(f"{place} was not written: {error.strerror}; nothing was changed") from error
        return envelope

    def find_same(self, kind: str | None = None, *, at_least: float = WORTH_ASKING, limit: int = 100) -> list[Likeness]:
        """Pairs that may be the same thing, the likeliest first, with the reasons. Compares all nodes."""
        return self._ask(lambda rows: merging.find_same(rows.store(), kind, at_least=at_least, limit=limit))

    def propose_same(
        self, kind: str | None = None, *, at_least: float = WORTH_ASKING, limit: int = 20
    ) -> list[Review]:  # fmt: skip
        """Ask a person about the likeliest pairs, each once; return all such reviews that are pending.

        To approve one merges the two; to reject it says that they are different, and they are not proposed again.
        """
        self._must_not_be_in_batch()
        pairs = self.find_same(kind, at_least=at_least, limit=limit)
        return self._filing.propose([(each, self._names(each.gone)) for each in pairs])

    def merge(self, node: str, into: str, *, sure: bool = False, dry_run: bool = False) -> Outcome:
        """Make `node` part of `into`: its beliefs and its page, its names and edges, as one change that can be undone.

        If it is neither certain nor is a person `sure`, a review asks, and nothing is changed. `dry_run` only shows
        which beliefs and which page would go, and where the two pages differ.
        """
        self._must_not_be_in_batch()

        def look(rows: GraphRows) -> tuple[Likeness, tuple[str, ...]]:
            gone, kept = (self._to_merge(rows, name) for name in (node, into))
            decide.must_stand_for_themselves(gone.to_dict(), kept.to_dict())
            if not all(self._has_node(rows, each.id) for each in (gone, kept)):  # one of them is a page, and no more
                return Likeness(kept.id, gone.id, 0.0, ()), gone.names
            return merging.likeness(rows.store(), kept.id, gone.id), gone.names

        alike, names = self._ask(look)
        return self._filing.merge(alike, names, sure=sure, dry_run=dry_run)

    def _to_merge(self, rows: GraphRows, name: str) -> MemoryNode:
        """The node of that id, merged or not; else the one of that name, or the entity of which there is but a page."""
        if self._has_node(rows, name):
            return rows.load_node(name)
        pages = self._folder.state.pages
        with self._folder.ledger.reading():
            found = self._folder.entities_called(name, self._user) if is_text(name) else []
            alone = [each for each in found if each in USUAL or pages.front(self._user, each)]
        if len(found) == len(alone) == 1 and not self._has_node(rows, alone[0]):
            return MemoryNode(id=alone[0], kind=kind_of(alone[0]))
        return self._resolved(rows, name)

    def _names(self, node: str) -> tuple[str, ...]:
        return self._ask(lambda rows: rows.load_node(node).names)

    def _has_node(self, rows: GraphRows, name: str) -> bool:
        return is_text(name) and rows.db.line(self._user, "nodes", name) is not None

    def unmerge(self, node: str) -> MemoryNode:
        """Undo a merge: the node is an entity of its own again, with its beliefs and its page, its names and edges.

        What was stated since stays where it was stated.
        """
        self._must_not_be_in_batch()
        self._gate.must("graph", "unmerge", user=self._user)
        with self._folder.ledger.reading():
            book = self._folder.state.graph
            name = next(iter(book.nodes_called(self._user, node)), node)
            merge = book.merge_of(self._user, name)
        if merge is None and self.load_node(node).merged:
            return merging.unmerge(self, node)  # it came so, in an envelope
        if merge is None:
            raise Refused(f"{ascii(node)[:60]} is not merged into another", "state")
        changes = {"event": merge.event, "seq": merge.seq, "by": ""}
        self._gate.act_on(CHANGE, "undo", changes, user=self._user)
        return self.load_node(name)

    def dismiss(self, node: str, into: str) -> Review:
        """Record that two nodes are different: a proposed merge is rejected, and not proposed again."""
        self._must_not_be_in_batch()
        return self._filing.reject(self.resolve(node).id, self.resolve(into).id)

    def split(self, entity: str, beliefs: Iterable[str], to: str, *, dry_run: bool = False) -> Filing:
        """Let some beliefs about an entity be about another one, `to`: an entity that is known, or a new one.

        It is one change, and can be undone; `dry_run` only shows it.
        """
        names = texts(beliefs, "beliefs")
        self._must_not_be_in_batch()
        return self._filing.split(entity, names, to, dry_run=dry_run)

    def refile(self, *, dry_run: bool = False) -> Filing:
        """File the statements that nobody filed, and those that older rules filed, by today's rules.

        What a person said that a statement is about is never changed. It is one change, and can be undone; `dry_run`
        only shows it.
        """
        self._must_not_be_in_batch()
        return self._filing.refile(dry_run=dry_run)

    def _must_not_be_in_batch(self) -> None:
        if self._folder.ledger.in_batch():
            raise Refused("the graph cannot be written inside a batch; end the batch first", "batch")

    # -- erasing -----------------------------------------------------------------------------------------------------

    def erase(self, *names: str) -> int:
        """Destroy the words of saved nodes, edges, profiles, paths or events, and of edges that lead to them; return
        how many events of the ledger had them.

        Other records of the same events are recorded again. What comes from beliefs goes when these are erased.
        """
        self._gate.must("graph", "erase", user=self._user)
        for name in names:
            if not is_text(name) or not self._at.read(partial(self._is_saved, name)):
                raise NotFound(f"no saved record {ascii(name)[:60]} in the graph; erase the beliefs that it comes from")
        going, ledger = frozenset(names), self._at.ledger
        with ledger.turn():
            ids, speaks = decide.words_about(self._user, going)
            told = [each for each in ledger.events(ledger.first) if speaks(each)]
            self._write(lambda db: self._put(self._beside(db, told, going)))
            ledger.erase(lambda: (ids, speaks))
        self._erased()
        return len(told)

    def _is_saved(self, name: str, db: GraphFile) -> bool:
        return any(db.said_line(self._user, part, name) is not None for part in KINDS)

    def _beside(self, db: GraphFile, events: list[Event], going: frozenset[str]) -> Iterable[Saved]:
        """The records of these events that are still here, and are not to be erased."""
        kept: dict[tuple[str, str], Saved] = {}
        for event in events:
            for part, _, told in decide.records_in(event.body or {}):
                name = told["path_id" if part == "paths" else "id"]
                known = None if decide.is_of(told, going) else db.said_line(self._user, part, name)
                if known is not None:
                    kept[part, name] = Saved(part, known, orjson.loads(known))
        return kept.values()

    # -- writing -----------------------------------------------------------------------------------------------------

    def _put(self, records: Iterable[Saved], head: RecordFields | None = None) -> list[Draft]:
        return decide.put(self._user, records, head, trust=self._gate.trust, is_belief=self._at.state.taken)

    def _write(self, make: Callable[[GraphFile], list[Draft]]) -> list[Event]:
        """Record what `make` decides on the current rows. If they are behind by then, it decides again."""
        self._must_not_be_in_batch()
        ledger = self._at.ledger
        try:
            with ledger.turn():
                for _ in range(_TRIES):
                    with suppress(_Behind):
                        return self._record(*self._at.read(lambda db: (make(db), self._last())))
        except NotApproved as error:
            self._gate.attempted(error)
            raise
        raise Busy("the graph is being written; try again")

    def _record(self, drafts: list[Draft], seen: int) -> list[Event]:
        def unless_behind() -> list[Draft]:
            if self._last() != seen:
                raise _Behind
            return drafts

        return self._at.ledger.write(unless_behind) if drafts else []

    def _last(self) -> int:
        return self._at.state.graph.last(self._user)

    def _fresh(self, db: GraphFile, given: Iterable[Saved], *, is_import: bool = False) -> Iterator[Saved]:
        """The records that have to be written."""
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
        """The metadata of an envelope that is new here."""
        known = db.head(self._user)

        def is_new(old: RecordFields, key: str, value: object) -> bool:
            return key not in old or line_of({key: old[key]}) != line_of({key: value})

        fresh = {
            name: {key: value for key, value in head[name].items() if is_new(known.get(name, {}), key, value)}
            for name in ("metadata", "extra")
        }
        if head.get("head") not in (None, _first_profile(db, self._user)):
            fresh["head"] = head["head"]
        fresh, said = {name: value for name, value in fresh.items() if value}, set(keys_in(known))
        for part, name in keys_in(fresh):
            self._may_put(db, part, name, (part, name) in said)
        return fresh

    def _may_put(self, db: GraphFile, part: str, name: str, is_known: bool) -> None:
        """NotApproved, if the policy does not let this program save that, or change what a person saved."""
        if self._gate.is_free(self._gate.trust):
            return
        user, what = self._user, f"{part.removesuffix('s')} {ascii(name)[:60]}"

        def is_persons(held: CurrentVersion | None) -> bool:
            return held is not None and held.user == user and held.body().get("trust", "human") == "human"

        if is_known and db.is_persons(user, part, name):
            why = f"{what} was saved by a person"
        elif is_known and any(map(is_persons, map(self._at.state.version, db.beliefs_behind(user, part, name)))):
            why = f"{what} follows from what a person said"
        else:
            why = ""
        stated = "human" if why else self._gate.trust if is_known else ""
        self._gate.may("graph", "put", thing(stated, user), user=user, what=why)

    def _may_merge(self, name: str) -> None:
        """Refused, if a record says that it is merged, and this program may not merge."""
        if self._gate.is_free(self._gate.trust):
            return
        if self._gate.may("graph", "merge", user=self._user).kind != ALLOW:
            raise Refused(f"node {ascii(name)[:60]} can be merged by a person only; use `graph.merge`", "permission")

    def _settled(self, db: GraphFile, saved: Saved, known: bytes | None, *, is_import: bool) -> Saved | None:
        """A record as it is to be written; None, if nothing in it is new."""
        if saved.line == known:
            return None
        if saved.part == "events" and known is not None:
            name = ascii(_name(saved))[:60]
            raise Refused(f"event {name} exists already with other content; events cannot be changed", "exists")
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
    """The records of an envelope, and its metadata."""
    given = []
    if envelope.profile is not None:
        line = envelope.profile.to_line()
        given.append(Saved("profiles", line, orjson.loads(line)))
    for part in KINDS:
        given += [Saved(part, line, told) for _, line, told in envelope.settled(part)]
    head = {"metadata": envelope.metadata, "extra": envelope.extra}
    if envelope.profile is not None and envelope.profiles:
        head["head"] = envelope.profile.id  # type: ignore[assignment]
    return given, head


def _first_profile(db: GraphFile, user: str) -> str:
    """The profile that was named first; else the first by its id."""
    named = str(db.head(user).get("head", ""))
    if named and db.line(user, "profiles", named):
        return named
    return min((str(orjson.loads(line)["id"]) for line in db.lines(user, "profiles")), default="")


class GraphRows:
    """The rows of one user, as the part of a `MemoryGraphStore` that traversals read. Valid inside one `read`."""

    def __init__(self, db: GraphFile, user: str) -> None:
        self.db, self.user = db, user

    def store(self) -> MemoryGraphStore:
        """These rows, for calls that only read."""
        return cast(MemoryGraphStore, self)

    def load(self, part: str, name: str) -> Any:
        line = self.db.line(self.user, part, name) if is_text(name) else None
        if line is None:
            raise NotFound(f"no {part[:-1]} {ascii(name)[:60]}")
        return record_in(part, line)

    def all(self, part: str) -> list[Any]:
        return [record_in(part, line) for line in self.db.lines(self.user, part)]

    def load_node(self, node_id: str) -> MemoryNode:
        return self.load("nodes", node_id)  # type: ignore[no-any-return]

    def list_nodes(self, kind: str | None = None, *, merged: bool = False) -> list[MemoryNode]:
        if not _can_be(kind):
            return []
        return [record_in("nodes", line) for line in self.db.nodes(self.user, kind, merged=merged)]

    def list_edges(
        self, source: str | None = None, target: str | None = None, kind: str | None = None, *, limit: int | None = None
    ) -> list[MemoryEdge]:
        if not (_can_be(source) and _can_be(target) and _can_be(kind)):
            return []
        return [record_in("edges", line) for line in self.db.edges(self.user, source, target, kind, limit)]


def is_text(name: object) -> bool:
    """Whether anything can have this name: no record contains a lone surrogate."""
    return isinstance(name, str) and name != "" and can_be_written(name)


def _can_be(name: str | None) -> bool:
    return name is None or is_text(name)


class GraphAt(Follower[GraphFile]):
    """The rows of the graphs of one folder, kept up to date with the ledger.

    They are made when the graph is first used, and from then on follow every write of this process. Where the first
    segments of the ledger were pruned, the rows of beliefs are made of the current state; but what was saved in those
    segments is only there, and they are asked for.
    """

    name, called = "graph", "the graph"

    @property
    def ledger_id(self) -> str:
        """The name that derived records carry: where a memory goes on from another, they are the same as there."""
        return self.state.taken_in.zone.ledger or self.ledger.standing.ledger

    def follow(self, events: Sequence[Event]) -> None:
        """Follow what was just written, if the graph is open."""
        if self._rows is not None:
            super().follow(events)

    def rebuild(self, on_progress: Progress | None = None) -> Bookmark:
        """Fill the tables again, if the graph was ever used."""
        is_used = self.ledger.writable and has_followed(self.place, self.name)
        return super().rebuild(on_progress) if is_used else Bookmark()

    def _made(self, path: Path | str, *, writable: bool = True) -> GraphFile:
        return GraphFile(path, self.ledger_id, writable=writable)

    def _open(self) -> GraphFile:
        if self._rows is not None and self._rows.ledger != self.ledger_id:
            self.close()
        return super()._open()

    def _why_not(self, rows: GraphFile, mark: Bookmark) -> str:
        is_made_so = rows.is_made_under(self.state.distrusts.all())
        return super()._why_not(rows, mark) or ("" if is_made_so else "others are distrusted")

    def _serve(self, rows: GraphFile, *, compared: bool) -> None:
        rows.comparison.ledger = self.open_folder.view() if compared else None

    def _begin_in_the_middle(self, rows: GraphFile) -> None:
        """The current state."""
        end, first, needed = self.ledger.head, self.ledger.first, self.state.graph.first()
        if 0 <= needed < first:
            raise Missing(
                f"the graph needs events from {needed} on, and those before {first} were moved away;"
                " put their files back into sealed/"
            )
        told = (each for each in events_from(self.ledger, first, stop=end.seq + 1) if each.op.startswith(GRAPH))
        rows.catch_up(chain(held_now(self.state), told), mark=Bookmark(end.seq, end.hash))

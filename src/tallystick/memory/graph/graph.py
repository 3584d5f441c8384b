"""The graph of a memory: entities, and how they are related.

Its nodes are what beliefs are about, and whatever somebody saved beside them; see `projections/graph`. It shows what is
held now; what was held at another time, beliefs tell (`believed_at`). A merge makes two nodes one in the graph alone:
beliefs, and the pages that they stand on, are not rewritten.

Names alone make nobody sure. Where two nodes are not surely the same, or a program says so that is not trusted like a
person, the merge is proposed and waits for one who says `sure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import orjson

from tallystick.decide import graph as decide
from tallystick.decide.graph import Saved
from tallystick.ledger.disk import replace as put_in_place
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.graph.index import GraphAt
from tallystick.memory.graph.rows import GraphRows, is_text
from tallystick.memory.graph.store import GraphStore
from tallystick.memory.trust.filtered_calls import answering
from tallystick.projections.graph.open_database import GraphFile
from tallystick.records.display import display_lists
from tallystick.records.errors import NotFound, NotWritten, Refused
from tallystick.records.event import Draft, Event
from tallystick.records.graph.envelope import KINDS, GraphEnvelope
from tallystick.records.graph.nodes import MemoryNode
from tallystick.records.named_entity import ProposedMerge
from tallystick.records.policy import ALLOW
from tallystick.stores.phase.graph import merge as merging
from tallystick.stores.phase.graph.merge import WORTH_ASKING, Likeness, Outcome
from tallystick.stores.phase.graph.traverse import MAX_HOPS, Expansion, Limits, Way, expand, resolve, shortest_path

SHOWN = 50
_FEW = 5  # that are named in a message


@answering
@display_lists
class GraphService(GraphStore):
    """One user's graph. It is a `MemoryGraphStore`."""

    def __init__(self, at: GraphAt, gate: WriteGate, user: str, erased: Callable[[], None]) -> None:
        super().__init__(at, gate, user)
        self._erased = erased

    # -- looking -----------------------------------------------------------------------------------------------------

    def resolve(self, name: str) -> MemoryNode:
        """The node that `name` names, by its id or by what it goes by; after a merge, the one it was merged into.

        Refused, if several go by that name.
        """
        return self._at.read(lambda db: self._resolved(GraphRows(db, self._user), name))

    def show(self, name: str, hops: int = 1, limit: int = SHOWN) -> Expansion:
        """A node, and what lies within so many steps of it: at most `limit` nodes."""
        return self.expand([name], hops, Limits(max_nodes=limit))

    def neighbours(self, name: str, limits: Limits | None = None) -> Expansion:
        """A node and those next to it."""
        return self.expand([name], 1, limits)

    def expand(self, names: Iterable[str], hops: int = 2, limits: Limits | None = None) -> Expansion:
        """Everything within so many steps of these nodes. `is_cut` says whether a limit was met."""
        if isinstance(names, str):
            raise Refused(f"names is a list; write [{names!r}]")
        given = list(names)

        def question(db: GraphFile) -> Expansion:
            rows = GraphRows(db, self._user)
            return expand(rows.store(), [self._resolved(rows, name).id for name in given], hops, limits)

        return self._at.read(question)

    def shortest_path(
        self, start: str, end: str, *, max_hops: int = MAX_HOPS, limits: Limits | None = None
    ) -> Way | None:
        """The way with the fewest edges; None if there is none within the limits."""

        def question(db: GraphFile) -> Way | None:
            rows = GraphRows(db, self._user)
            ends = [self._resolved(rows, name).id for name in (start, end)]
            return shortest_path(rows.store(), ends[0], ends[1], max_hops=max_hops, limits=limits)

        return self._at.read(question)

    def _resolved(self, rows: GraphRows, name: str) -> MemoryNode:
        if is_text(name) and rows.db.line(self._user, "nodes", name) is not None:
            return resolve(rows.store(), name)
        found = rows.db.named(self._user, name) if is_text(name) else []
        nodes = {node.id: node for node in (resolve(rows.store(), each) for each in found)}
        if not nodes:
            raise NotFound(f"there is no node {ascii(name)[:60]}, and none that goes by that name")
        if len(nodes) > 1:
            few = ", ".join([ascii(each)[1:61] for each in nodes][:_FEW]).replace("'", "")
            raise Refused(f"{ascii(name)[:60]} names {len(nodes)} nodes ({few}); write one of these ids", "ambiguous")
        return next(iter(nodes.values()))

    def export_to(self, path: str | Path, *, explicit: bool = False, replace: bool = False) -> GraphEnvelope:
        """Write the envelope to a file, whole or not at all. One that is there is kept unless `replace` is said."""
        place, envelope, outlet = Path(path), self.export_envelope(explicit=explicit), self._folder.outlet
        envelope = envelope if outlet is None else outlet.reader.out(envelope)
        if place.exists() and not replace:
            raise Refused(f"{place} is there already; choose another name, or replace it with --force", "exists")
        try:
            put_in_place(self._at.ledger.disk, place, envelope.to_bytes())
        except OSError as error:
            raise NotWritten(f"{place} was not written: {error.strerror}; nothing was changed") from error
        return envelope

    # -- the same thing ----------------------------------------------------------------------------------------------

    def find_same(self, kind: str | None = None, *, at_least: float = WORTH_ASKING, limit: int = 100) -> list[Likeness]:
        """Pairs that may be the same thing, the likeliest first, with the reasons. Every node is looked at."""
        return self._ask(lambda rows: merging.find_same(rows.store(), kind, at_least=at_least, limit=limit))

    def proposals(self) -> list[ProposedMerge]:
        """The merges that wait for a person, the oldest first."""
        return self._at.read(lambda db: db.proposals(self._user))

    def merge(self, node: str, into: str, *, sure: bool = False) -> Outcome:
        """Make `node` part of `into`, if that is sure, or a person says so; else propose it, and change nothing."""
        outcome: list[Outcome] = []

        def make(db: GraphFile) -> list[Draft]:
            rows = GraphRows(db, self._user)
            gone, kept = (self._its_node(rows, name) for name in (node, into))
            alike = merging.likeness(rows.store(), kept.id, gone.id)
            may_merge = self._gate.may("graph", "merge", user=self._user).kind == ALLOW
            is_done = may_merge and (sure or alike.is_sure)
            outcome[:] = [Outcome(alike, is_done)]
            told = {"score": alike.score, "reasons": alike.reasons}
            if is_done:
                return decide.merge(self._user, gone.to_dict(), kept.to_dict(), **told)  # type: ignore[arg-type]
            asked = db.proposals(self._user, gone.id, kept.id)
            return decide.propose(self._user, gone.to_dict(), kept.to_dict(), asked, **told)  # type: ignore[arg-type]

        self._write(make)
        return outcome[0]

    def _its_node(self, rows: GraphRows, name: str) -> MemoryNode:
        """A node by its own id, be it merged; else by its name."""
        if is_text(name) and rows.db.line(self._user, "nodes", name) is not None:
            return rows.load_node(name)
        return self._resolved(rows, name)

    def unmerge(self, node: str) -> MemoryNode:
        """Take a merge back: the node that gave way stands for itself again, with its names and edges."""
        self._gate.must("graph", "unmerge", user=self._user)
        if self._at.read(lambda db: db.merge_of(self._user, node)) is None and self.load_node(node).merged:
            return merging.unmerge(self, node)  # it came so, in an envelope

        def make(db: GraphFile) -> list[Draft]:
            merge = db.merge_of(self._user, node)
            return decide.unmerge(self._user, node, merge.into if merge else None)

        self._write(make)
        return self.load_node(node)

    def dismiss(self, node: str, into: str) -> None:
        """They are two: what was proposed of them waits no longer."""
        self._gate.must("graph", "dismiss", user=self._user)
        self._write(lambda db: decide.dismiss(self._user, node, into, db.proposals(self._user, node, into)))

    # -- erasing -----------------------------------------------------------------------------------------------------

    def erase(self, *names: str) -> int:
        """Destroy the words of nodes, edges, profiles, paths or events that were saved, and of edges that lead to them;
        how many events of the ledger it were.

        What stood in one event with them is recorded anew. What follows from beliefs goes when these are erased.
        """
        self._gate.must("graph", "erase", user=self._user)
        for name in names:
            self._must_be_saved(name)
        going, ledger = frozenset(names), self._at.ledger
        with ledger.turn():
            told = [each for each in ledger.events(ledger.chain().first) if decide.tells_of(each, self._user, going)]
            self._write(lambda db: self._put(self._beside(db, told, going)))
            ledger.erase(lambda: ((), lambda event: decide.tells_of(event, self._user, going)))
        self._erased()
        return len(told)

    def _must_be_saved(self, name: str) -> None:
        def is_there(db: GraphFile) -> bool:
            return any(db.said_line(self._user, part, name) is not None for part in KINDS)

        if not is_text(name) or not self._at.read(is_there):
            raise NotFound(f"nobody saved a record {ascii(name)[:60]} in the graph; what beliefs say goes with them")

    def _beside(self, db: GraphFile, events: list[Event], going: frozenset[str]) -> Iterable[Saved]:
        """What these events hold that is here still, and is none of what goes."""
        kept: dict[tuple[str, str], Saved] = {}
        for event in events:
            for part, _, told in decide.records_in(event.body or {}):
                name = told["path_id" if part == "paths" else "id"]
                known = None if decide.is_of(told, going) else db.said_line(self._user, part, name)
                if known is not None:
                    kept[part, name] = Saved(part, known, orjson.loads(known))
        return kept.values()

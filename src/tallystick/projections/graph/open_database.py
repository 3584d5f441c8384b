"""`graph.db`, open: what it takes in of the ledger, and what it answers.

Every question names its user, and no answer crosses to another. What is asked for by id, kind, source or target is
looked up: the cost is that of what is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson

from tallystick.projections.follower import Followed
from tallystick.projections.graph import fold
from tallystick.projections.graph.combined_view import Merge
from tallystick.projections.graph.merged_nodes import merge_of, merges_into
from tallystick.projections.graph.rows import Rows, said_in
from tallystick.projections.graph.schema import NAMES, SHAPE, TABLES
from tallystick.records.entity import thing_key
from tallystick.records.event import Event
from tallystick.records.graph.envelope import KINDS
from tallystick.records.graph.fields import RecordFields
from tallystick.records.named_entity import ProposedMerge
from tallystick.records.trust import Distrust


class GraphFile(Followed):
    """The graphs of all users of a folder. `ledger` is the name that derived records carry."""

    shape, tables, names = SHAPE, TABLES, NAMES
    cache = "PRAGMA cache_size=-32000"

    def __init__(self, path: Path | str, ledger: str) -> None:
        self.ledger = ledger
        self._distrusts: list[Distrust] = []
        super().__init__(path)

    def take(self, events: Iterable[Event]) -> None:
        rows = Rows(self.db, self.ledger, self._distrusts)
        for event in events:
            fold.apply(rows, event)
        rows.flush()
        self.db.execute("INSERT OR REPLACE INTO distrusted VALUES (1, ?)", (_sources(self._distrusts),))

    def distrust(self, distrusts: list[Distrust]) -> None:
        """From now on what these sources said is left out. Rows that were made while others were are emptied."""
        self._distrusts = distrusts
        row = self.db.execute("SELECT sources FROM distrusted").fetchone()
        if row and row[0] != _sources(distrusts):
            self.empty()

    # -- asking ------------------------------------------------------------------------------------------------------

    def line(self, user: str, part: str, name: str) -> bytes | None:
        """A record, as an envelope has it."""
        if part in ("nodes", "edges"):
            row = self.db.execute(f"SELECT line FROM {part} WHERE user = ? AND id = ?", (user, name)).fetchone()
        else:
            said = "SELECT line FROM others WHERE user = ? AND part = ? AND id = ?"
            row = self.db.execute(said, (user, part, name)).fetchone()
        return row[0] if row else None

    def lines(self, user: str, part: str) -> list[bytes]:
        """All of a part, by id; events in the order in which they came."""
        if part in ("nodes", "edges"):
            found = self.db.execute(f"SELECT line FROM {part} WHERE user = ? ORDER BY id", (user,))
        else:
            order = "n" if part == "events" else "id"
            said = f"SELECT line FROM others WHERE user = ? AND part = ? ORDER BY {order}"
            found = self.db.execute(said, (user, part))
        return [line for (line,) in found]

    def said_line(self, user: str, part: str, name: str) -> bytes | None:
        """A record as somebody saved it; None, if nobody did."""
        if part not in ("nodes", "edges"):
            return self.line(user, part, name)
        row = self.db.execute(f"SELECT said, line FROM {part} WHERE user = ? AND id = ?", (user, name)).fetchone()
        return said_in(*row) if row else None

    def is_persons(self, user: str, part: str, name: str) -> bool:
        """Whether a person saved that record, or that key of what envelopes say of themselves, last."""
        if part in KINDS and self.said_line(user, part, name) is None:
            return False
        lesser = "SELECT 1 FROM programs WHERE user = ? AND part = ? AND id = ?"
        return self.db.execute(lesser, (user, part, name)).fetchone() is None

    def beliefs_behind(self, user: str, part: str, name: str) -> list[str]:
        """The beliefs that a node or an edge follows from, held or not; an edge has the name of its one."""
        if part != "nodes":
            return [name] if part == "edges" else []
        found = self.db.execute("SELECT fact FROM mentions WHERE user = ? AND node = ?", (user, name))
        return [fact for (fact,) in found]

    def has_any(self, user: str) -> bool:
        """Whether there is any record of that user."""
        asked = (f"SELECT 1 FROM {table} WHERE user = ? LIMIT 1" for table in ("nodes", "edges", "others"))
        return any(self.db.execute(question, (user,)).fetchone() for question in asked)

    def said(self, user: str, part: str) -> list[bytes]:
        """The nodes or edges that somebody saved, as they were saved."""
        found = self.db.execute(
            f"SELECT said, line FROM {part} WHERE user = ? AND said IS NOT NULL ORDER BY id", (user,)
        )  # fmt: skip
        return [said for row in found if (said := said_in(*row)) is not None]

    def nodes(self, user: str, kind: str | None, *, merged: bool) -> list[bytes]:
        """All of them, or those of one kind."""
        shown = "" if merged else " AND NOT is_merged"
        if kind is None:
            found = self.db.execute(f"SELECT line FROM nodes WHERE user = ?{shown} ORDER BY id", (user,))
        else:
            said = f"SELECT line FROM nodes INDEXED BY nodes_kind WHERE user = ? AND kind = ?{shown} ORDER BY id"
            found = self.db.execute(said, (user, kind))
        return [line for (line,) in found]

    def edges(
        self, user: str, source: str | None, target: str | None, kind: str | None, limit: int | None
    ) -> list[bytes]:
        asked = {"source": source, "target": target, "kind": kind}
        wanted = {name: value for name, value in asked.items() if value is not None}
        where = "".join(f" AND {name} = ?" for name in wanted)
        by = next((f" INDEXED BY edges_{name}" for name in wanted), "")  # SQLite would rather read all in order
        found = self.db.execute(
            f"SELECT line FROM edges{by} WHERE user = ?{where} ORDER BY id LIMIT ?",
            (user, *wanted.values(), -1 if limit is None else limit),
        )
        return [line for (line,) in found]

    def head(self, user: str) -> RecordFields:
        """What was said of the graph as a whole: metadata, extra, and which profile is the first."""
        return Rows(self.db, self.ledger).head_of(user)

    def merge_of(self, user: str, node: str) -> Merge | None:
        return merge_of(self.db, user, node)

    def merges_into(self, user: str, node: str) -> list[Merge]:
        return merges_into(self.db, user, node)

    def proposals(self, user: str, *nodes: str) -> list[ProposedMerge]:
        """The merges that wait for a person, the oldest first; those of two nodes, if they are named."""
        pair = " AND one = ? AND other = ?" if nodes else ""
        found = self.db.execute(
            f"SELECT told FROM proposals WHERE user = ?{pair} ORDER BY seq", (user, *sorted(nodes))
        )  # fmt: skip
        return [ProposedMerge.read(told) for (told,) in found]

    def named(self, user: str, name: str) -> list[str]:
        """The nodes that go by a name, who has gone by it longest first; plain things have but one."""
        key = thing_key(name)
        found = self.db.execute(
            "SELECT node FROM names WHERE user = ? AND key = ? GROUP BY node ORDER BY min(seq), node", (user, key)
        ).fetchall()  # fmt: skip
        return list(dict.fromkeys([*(node for (node,) in found), *([key] if self.line(user, "nodes", key) else [])]))


def _sources(distrusts: list[Distrust]) -> str:
    return orjson.dumps(sorted((each.user, each.source, each.first) for each in distrusts)).decode()

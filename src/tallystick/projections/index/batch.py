"""A write batch: the rows that a few events touch, fetched together, changed in memory, written together.

The effect of an event depends on the rows that are there. Fetching them one event at a time costs a query each; so a
batch takes several events, fetches once what they name, and lets `fold` change it row by row. The number of events in a
batch makes no difference to what is written.

Nothing is fetched twice: what is missing is remembered as such. The caller owns the transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from tallystick.projections.index import rows, statements as sql
from tallystick.projections.index.rows import DIGITS, Block, Source, Tie, address, ids_for
from tallystick.projections.index.segmentation import has_no_spaces, spread
from tallystick.records.entity import called
from tallystick.records.trust import ANY, Distrust
from tallystick.state.sessions import ActiveHours

_MERGED, _PAGES = 4, 8  # after so many new blocks, so many pages of full text are merged
_TEXTS = (False, sql.ADD_TEXT, sql.ADD_LETTERS), (True, sql.ADD_ASIDE, sql.ADD_ASIDE_LETTERS)  # of paths, or not
Name = tuple[str, str, str, str]  # whose, "agent" or "about", as it was written, on which path


@dataclass(slots=True)
class Known:
    """What one batch leaves to the next, if nobody else writes in between."""

    names: set[Name] = field(default_factory=set)  # in the file for certain, so that they need not be written again
    distrusts: list[Distrust] | None = None  # of everyone, once read
    last_row: int | None = None  # of the blocks


class WriteBatch:
    """The part of the index that is being changed."""

    def __init__(self, connection: sqlite3.Connection, clock: ActiveHours, known: Known | None = None) -> None:
        self._db, self.clock, self._known = connection, clock, known or Known()
        self._blocks: dict[str, Block | None] = {}
        self._sources: dict[str, Source | None] = {}
        self._current: dict[str, Source | None] = {}  # ref → its open source
        self._addresses: dict[tuple[str, str, str], str] = {}
        self._led: dict[str, str] = {}  # ref → the ref it became part of
        self._new_blocks: list[Block] = []
        self._new_sources: list[Source] = []
        self._born: dict[str, list[Source]] = {}  # the same, by the ref under which they came
        self._changed_blocks: dict[str, Block] = {}
        self._changed_sources: dict[str, Source] = {}
        self._ties: dict[tuple[str, str], Tie] = {}  # by canonical pair
        self._cut: dict[str, None] = {}  # blocks whose ties went
        self._later: list[tuple[str, tuple[object, ...]]] = []  # statements to run at the end
        self.names: dict[Name, int] = {}  # → when it first came
        self.marked: set[str] = set()  # blocks whose fingerprints are kept already

    # -- fetching ----------------------------------------------------------------------------------------------------

    def fetch(self, names: Iterable[str], addresses: Iterable[str]) -> None:
        """Fetch the sources of these ids, the blocks at these addresses or of these ids, and what belongs to them."""
        if wanted := [name for name in names if name not in self._sources]:
            self._fetch_sources(wanted)
        ids = [found for whole in addresses if (found := whole[:DIGITS]) not in self._blocks]
        ids += [source.block_id for source in self._current.values() if source and source.block_id]
        if wanted := [name for name in dict.fromkeys(ids) if name not in self._blocks]:
            self._fetch_blocks(wanted)

    def _fetch_sources(self, names: list[str]) -> None:
        self._sources.update(dict.fromkeys(names))
        refs = {source.ref for source in self._read_sources(sql.SOURCES, names)}
        self._current.update({ref: None for ref in refs if ref not in self._current})
        if refs:
            self._read_sources(sql.SOURCES_OF_REFS, sorted(refs))

    def _fetch_blocks(self, ids: list[str]) -> None:
        self._blocks.update(dict.fromkeys(ids))
        one = len(ids) == 1
        found = self._db.execute(sql.BLOCK if one else sql.BLOCKS, (ids[0] if one else orjson.dumps(ids).decode(),))
        fetched = {block.id: block for block in (Block(*row) for row in found)}
        self._blocks.update(fetched)
        if fetched:
            for source in self._read_sources(sql.SOURCES_OF_BLOCKS, list(fetched)):
                block = self._blocks[source.block_id or ""]
                if block and source.is_open:
                    block.open[source.id] = source

    def _read_sources(self, statement: str, names: list[str]) -> list[Source]:
        """Sources as they are in the batch: one that is here already is newer than its row."""
        read = []
        for row in self._db.execute(statement, (orjson.dumps(names).decode(),)):
            known = self._sources.get(row[0])
            source = known or Source(*row)
            if (ref := self._lead_of(source.ref)) != source.ref:  # its row was not led there yet
                source.lead(ref)
            self._sources[source.id] = source
            if known is None and source.until_seq is None:
                self._current[source.ref] = source
            read.append(source)
        return read

    # -- reading -----------------------------------------------------------------------------------------------------

    def ref_of(self, name: str) -> str | None:
        """The identity of the belief with a version of that id."""
        source = self.source(name)
        return self._lead_of(source.ref) if source else None

    def _lead_of(self, ref: str) -> str:
        while ref in self._led:
            ref = self._led[ref]
        return ref

    def versions(self, ref: str) -> dict[str, Source]:
        """Every version of a belief, or the one of an episode, by id."""
        refs = [ref, *(led for led in self._led if self._lead_of(led) == ref)]
        read = self._read_sources(sql.VERSIONS_OF_REFS, refs)
        return {source.id: source for source in (*read, *(new for each in refs for new in self._born.get(each, ())))}

    def last(self, ref: str) -> Source | None:
        """The last version of a belief, current or not."""
        return max(self.versions(ref).values(), key=lambda each: each.since_seq, default=None)

    def distrusts(self, user: str) -> list[Distrust]:
        every = self._known.distrusts
        if every is None:
            found = self._db.execute(sql.DISTRUSTS).fetchall()
            every = [Distrust(user=whose, source=source, first=first) for whose, source, first in found]
            self._known.distrusts = every
        return [each for each in every if each.user == user] if every else []

    def set_distrust(self, distrust: Distrust, *, is_on: bool) -> None:
        """Distrust a source from now on, or trust it again."""
        self.distrusts(distrust.user)
        key = (distrust.user, distrust.source)
        every = [each for each in self._known.distrusts or () if (each.user, each.source) != key]
        self._known.distrusts = [*every, distrust] if is_on else every
        if is_on:
            self.later(sql.SET_DISTRUST, *key, distrust.first)
        else:
            self.later(sql.DROP_DISTRUST, *key)

    def refs_from(self, distrust: Distrust) -> list[str]:
        """The beliefs that a source stated or ended. All earlier events must be written."""
        kind, _, name = distrust.source.partition(":")
        values = {
            "user": distrust.user, "source": distrust.source, "kind": kind, "name": name,
            "door": f"{kind}:" if name == ANY else None,
        }  # fmt: skip
        return [row[0] for row in self._db.execute(sql.REFS_FROM, values)]

    def current(self, ref: str) -> Source | None:
        """The open source of a belief."""
        return self._current.get(ref)

    def source(self, name: str) -> Source | None:
        if name not in self._sources:
            self._fetch_sources([name])
        return self._sources[name]

    def block(self, name: str) -> Block:
        if name not in self._blocks:
            self._fetch_blocks([name])
        found = self._blocks[name]
        if found is None:
            raise LookupError(f"the index has a source of block {name} but not the block")
        return found

    def address(self, text: str, user: str, path: str = "") -> str:
        """The address of a text, computed once."""
        if (text, user, path) not in self._addresses:
            self._addresses[text, user, path] = address(text, user, path)
        return self._addresses[text, user, path]

    def at(self, whole: str, user: str, path: str = "") -> tuple[str, Block | None]:
        """The block at an address; if there is none, the id that a new one gets."""
        for name in ids_for(whole):
            if name not in self._blocks:
                self._fetch_blocks([name])
            found = self._blocks[name]
            if found is None:
                return name, None
            if (found.user, found.path) == (user, path) and self.address(found.content, user, path) == whole:
                return name, found
        raise LookupError(f"every id for the address {whole} is taken")

    # -- changing ----------------------------------------------------------------------------------------------------

    def add_block(self, block: Block) -> None:
        self._blocks[block.id] = block
        self._new_blocks.append(block)
        block.is_new = True

    def add_source(self, source: Source) -> None:
        self._sources[source.id] = source
        self._new_sources.append(source)
        self._born.setdefault(source.ref, []).append(source)
        source.is_new = True
        if source.until_seq is None:
            self._current[source.ref] = source

    def close(self, source: Source, seq: int, by: str, after: str | None = None) -> None:
        """End a source: who ended it, and which version replaced it, if one did."""
        source.until_seq, source.closed_by, source.after = seq, by, after
        self._current[source.ref] = None
        self.touch(source)

    def reopen(self, source: Source) -> None:
        """End that a source has ended."""
        source.until_seq, source.closed_by = None, None
        self._current[source.ref] = source
        self.touch(source)

    def touch(self, row: Block | Source) -> None:
        """Mark a row as changed, unless it is written anyway."""
        if row.is_new:
            return
        if isinstance(row, Block):
            self._changed_blocks[row.id] = row
        else:
            self._changed_sources[row.id] = row

    @cached_property
    def ends(self) -> dict[str, dict[int, str]]:
        """The versions that were ended more than once: in which events after the first, and by whom."""
        found: dict[str, dict[int, str]] = {}
        for name, seq, by in self._db.execute(sql.ENDS):
            found.setdefault(name, {})[seq] = by
        return found

    def lead(self, ref: str, to: str) -> None:
        """Make the sources of `ref` sources of `to`."""
        self._led[ref] = to
        for source in self._sources.values():
            if source is not None and source.ref == ref:
                source.lead(to)
        self.later(sql.LEAD, to, ref)
        # its relations too, unless `to` has them already; nothing is related to itself
        for one, other, path, user, relation, turned, *rest in self.read(sql.RELATIONS_OF, ref, ref):
            self.later(sql.DROP_RELATION, one, other, path)
            far = other if one == ref else one
            if far != to:
                is_swapped = (to < far) != (one == ref)
                pair = (min(to, far), max(to, far))
                self.later(sql.ADD_RELATION, *pair, path, user, relation, turned ^ is_swapped, *rest)

    def part(self, ref: str, names: list[str]) -> None:
        """Make these sources a belief of their own again, which had become part of another."""
        self._led.pop(ref, None)
        self._current.setdefault(ref, None)
        for source in filter(None, map(self.source, names)):
            source.ref, source.own_ref = ref, None
        self.later(sql.PART, ref, orjson.dumps(names).decode())
        self._run_later()

    def ties(self, pairs: Iterable[tuple[str, str]]) -> list[Tie]:
        """The ties of pairs of blocks, to be changed; a block is not tied to itself."""
        wanted = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
        unread = [pair for pair in wanted if pair not in self._ties]
        for pair in unread:
            self._ties[pair] = Tie(*pair)
        if unread := [pair for pair in unread if self._cut.keys().isdisjoint(pair)]:
            for row in self._db.execute(sql.TIES, (orjson.dumps(unread).decode(),)):
                self._ties[row[0], row[1]] = Tie(*row)
        return [self._ties[pair] for pair in wanted]

    def cut_ties(self, block: str) -> None:
        """Drop the ties of a block that was archived."""
        self._cut[block] = None
        for pair in self._ties:
            if block in pair:
                self._ties[pair] = Tie(*pair)

    def add_name(self, user: str, what: str, as_written: str, path: str, seq: int) -> None:
        name = (user, what, as_written, path)
        if name not in self._known.names:
            self.names.setdefault(name, seq)

    def later(self, statement: str, *values: object) -> None:
        self._later.append((statement, values))

    def read(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a table that only `later` changes."""
        self._run_later()
        return self._db.execute(statement, values).fetchall()

    # -- writing -----------------------------------------------------------------------------------------------------

    def flush(self, *, rows_only: bool = False) -> None:
        """Write everything that changed, without full text if `rows_only`. The batch is finished after that."""
        self._write_blocks(rows_only)
        many = self._db.executemany
        sql.ADD_SOURCES.of(self._db, self._new_sources)
        if self._changed_sources:
            many(sql.SET_SOURCE, map(rows.source_change, self._changed_sources.values()))
        for name in self._cut:
            self._db.execute(sql.DROP_EDGES, {"of": name})
            self._db.execute(sql.DROP_TIES, {"of": name})
        if every := self._ties.values():
            is_any = {pair: bool(tie.times or tie.is_stated) for pair, tie in self._ties.items()}
            many(sql.DROP_TIE, [pair for pair, is_there in is_any.items() if not is_there])
            many(sql.SET_TIE, [rows.tie_row(tie) for pair, tie in self._ties.items() if is_any[pair]])
            many(sql.DROP_EDGE, [(tie.from_id, tie.to_id) for tie in every if tie.since_seq is None])
            many(sql.SET_EDGE, [tie.edge() for tie in every if tie.since_seq is not None])
        if self.names:
            many(sql.ADD_NAME, sorted(
                (user, name, what, as_written, path, seq)
                for (user, what, as_written, path), seq in self.names.items() for name in called(as_written, what)
            ))  # fmt: skip
            self._known.names.update(self.names)
        self._run_later()

    def _write_blocks(self, rows_only: bool) -> None:
        many, new, changed = self._db.executemany, self._new_blocks, self._changed_blocks.values()
        if new:
            last = self._known.last_row
            if last is None:
                last = self._db.execute(sql.LAST_ROW).fetchone()[0] or 0
            self._known.last_row = last + len(new)
            sql.ADD_BLOCKS.of(self._db, new)
            many(sql.ADD_LIFE, sorted((b.id, b.user, b.since_seq, b.path) for b in new))
            numbered = [] if rows_only else list(enumerate(new, last + 1))
            for is_aside, add, add_letters in _TEXTS if numbered else ():  # in order: full text is slow to go back
                if texts := [(row, block.content) for row, block in numbered if bool(block.path) == is_aside]:
                    many(add, texts)
                if letters := [(row, spread(text)) for row, text in texts if has_no_spaces(text)]:
                    many(add_letters, letters)  # such scripts are indexed character by character
            if numbered and (times := (last + len(new)) // _MERGED - last // _MERGED):
                self._db.execute(sql.MERGE_TEXTS, (_PAGES * times,))
        if changed:
            many(sql.SET_BLOCK, map(rows.block_change, changed))
            many(sql.DROP_TAGS, [(block.id,) for block in changed])
        if ends := [block for block in (*new, *changed) if block.until_seq is not None or not block.is_new]:
            many(sql.SET_LIFE, [(block.until_seq, block.id) for block in ends])
        if tags := sorted((block.id, tag) for block in [*new, *changed] for tag in block.tags()):
            many(sql.ADD_TAG, tags)

    def _run_later(self) -> None:
        for statement, values in self._later:
            self._db.execute(statement, values)
        self._later.clear()

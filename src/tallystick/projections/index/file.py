"""The index: blocks, where they come from, and full text, as tables that follow the ledger (see `table_set`)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

import orjson

from tallystick.projections.database import Difference, Stale, differing
from tallystick.projections.index import fold, statements as sql
from tallystick.projections.index.batch import Known, WriteBatch
from tallystick.projections.index.rows import Source
from tallystick.projections.index.schema import CONFIG, FRAMES, ROWS, SCHEMA, TABLES
from tallystick.projections.index.segmentation import has_no_spaces, spread
from tallystick.projections.recorded import NO_EVENT, LedgerView, said_in
from tallystick.projections.table_set import Bookmark, TableSet
from tallystick.records import operations as ops
from tallystick.records.entity import called
from tallystick.records.event import Event
from tallystick.records.policy import DEFAULT
from tallystick.records.schema import WRITER_TRUST
from tallystick.records.times import Times
from tallystick.records.trust import NONE
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.episodes import EpisodeRef, gist_of_words
from tallystick.state.sessions import ActiveHours
from tallystick.state.state import State

SHAPE = 8  # of what the fold writes; raise it when the same events give other rows
CHUNK = 2000

NOTHING = Bookmark(shape=SHAPE)


class IndexFile(TableSet):
    """The index. One that is only to be compared (`rows_only`) has neither full text nor indexes for questions."""

    name, shape, tables, full_texts = "index", SHAPE, SCHEMA, ("index_texts", "index_asides")

    def __init__(
        self, path: Path | str | sqlite3.Connection, *, making: bool = False, rows_only: bool = False,
        writable: bool = True,
    ) -> None:  # fmt: skip
        self._left, self._known = NOTHING, Known()  # where this process stopped writing, and what it knows since
        self._number = 0
        self.times = Times()  # the times in it that are doubted, as the caller knows them
        self.ledger: LedgerView | None = None  # what it serves is compared with this; None: with nothing
        self._rows_only = rows_only
        if rows_only:
            self.tables = ROWS
        super().__init__(path, making=making, writable=writable)

    def number(self) -> int:
        """The number of this index; one that is rebuilt has another. 0: nothing was written yet."""
        self.bookmark()
        return self._number

    def bookmark(self) -> Bookmark:
        row = self._position()
        is_ours = row is not None and row[0] == SHAPE and row[1] >= 0
        number, since, *clock = orjson.loads(row[3]) if row and is_ours else (0, 0)
        if number != self._number:  # somebody has rebuilt it
            self._number, self._left, self._known = number, NOTHING, Known()
        if row is None or row[1] < 0:
            return NOTHING
        return Bookmark(row[1], row[2], row[0], ActiveHours(*clock), since)

    def _read_on(self, before: Bookmark, events: Iterator[Event]) -> Bookmark:
        for chunk in _portions(event for event in events if event.seq > before.seq):
            if chunk[0].seq != before.seq + 1:
                break
            if before is NOTHING:
                self._begin(chunk[0].ts)
            before = self._taken(chunk, before)
        return before

    def _taken(self, chunk: list[Event], before: Bookmark) -> Bookmark:
        known, self._known = self._known if before == self._left else Known(), Known()  # if it fails, nothing is known
        batch = WriteBatch(self.db, before.clock, known)
        if len(chunk) > 1:
            batch.fetch(fold.names_in(chunk), fold.addresses_in(batch, chunk))
        clock = self._apply(batch, chunk)
        mark = Bookmark(chunk[-1].seq, chunk[-1].hash, SHAPE, clock, before.since)
        self._save(mark)
        self._left, self._known = mark, known
        return mark

    def take(self, events: Iterable[Event]) -> None:
        self._apply(WriteBatch(self.db, self.bookmark().clock), events)

    def _apply(self, batch: WriteBatch, events: Iterable[Event]) -> ActiveHours:
        for event in events:
            fold.apply(batch, event)
        batch.flush(rows_only=self._rows_only)
        return batch.clock

    def plant(self, events: Iterable[Event], mark: Bookmark, at: str) -> Bookmark:
        """Begin in the middle: `events` are the state at `mark`, in a ledger that began `at`."""
        with self.writing():
            self._begin(at)
            clock = mark.clock
            for chunk in _portions(iter(events)):
                clock = self._apply(WriteBatch(self.db, clock), chunk)
            self._save(mark)
        return mark

    def forget(self, names: Collection[str], *, exactly: bool) -> bool:
        """Remove the sources of these ids and what only they said, and make the full text again.

        `exactly`: only if the index is then the one that is made of a ledger without them; else nothing is done, and
        the answer is False. Otherwise what others say as well stays as it is.
        """
        db, mark = self.db, self.bookmark()
        with self.writing():
            for statement in _CHOOSE:
                db.execute(statement, (orjson.dumps(list(names)).decode(),) if "?" in statement else ())
            if exactly and any(db.execute(f"SELECT 1 {each} LIMIT 1").fetchone() for each in _SHARED):
                return False
            shared = [name for (name,) in db.execute(_SHARED_BLOCKS).fetchall()]
            _remove(db, orphans=not exactly)
            batch = WriteBatch(db, mark.clock)
            for name in shared:
                block = batch.block(name)
                if block.settle(mark.seq, "forgotten"):
                    batch.cut_ties(name)
                batch.touch(block)
            batch.flush(rows_only=True)
            _make_texts_again(db)
            self._number = 0  # it is another one now: rows may have other numbers
            self._save(mark)
        return True

    def _begin(self, at: str) -> None:
        """Write the frames and settings that every index begins with."""
        self.db.executemany(sql.SET_FRAME, [fold.frame_row(frame, at) for frame in FRAMES])
        self.db.executemany(sql.SET_CONFIG, list(CONFIG.items()))

    def _saved_with(self, mark: Bookmark) -> bytes:
        if mark.clock.hours:
            self.db.execute(sql.SET_CONFIG, ("total_active_hours", repr(mark.clock.hours)))
        self._number = self._number or 1 + int.from_bytes(os.urandom(3))
        return orjson.dumps([self._number, mark.since, *mark.clock])


def _portions(events: Iterator[Event]) -> Iterator[list[Event]]:
    """Events in chunks. One that is about all that somebody said is alone: what came before is written first."""
    for is_alone, group in groupby(events, lambda event: event.op == ops.TRUST_SET):
        while chunk := list(islice(group, 1 if is_alone else CHUNK)):
            yield chunk


def differences(index: IndexFile, other: IndexFile) -> Iterator[Difference]:
    """The rows in which two indexes differ. Raises sqlite3.Error if the first lacks a column of the second."""
    yield from differing(TABLES, index.db, other.db)
    if index.bookmark() != other.bookmark():
        yield Difference("positions", ("index",), True)


# -- removing erased sources, in a file that nobody else has open ------------------------------------------------------
# What an index says of one source follows from other events too: a block counts how often it was stated and used, and
# two blocks are tied if they were served together. Where something of an erased source is bound up with others, what is
# left is not what a ledger without it gives; `_SHARED` finds that.

_CHOOSE = (
    "DROP TABLE IF EXISTS temp.gone",
    """CREATE TEMP TABLE gone AS SELECT id, ref, block_id FROM index_sources
        WHERE id IN (SELECT value FROM json_each(?))""",
    "DROP TABLE IF EXISTS temp.gone_blocks",
    """CREATE TEMP TABLE gone_blocks AS SELECT DISTINCT block_id AS id FROM gone WHERE block_id IS NOT NULL
        AND block_id NOT IN (SELECT block_id FROM index_sources WHERE block_id IN (SELECT block_id FROM gone)
            AND id NOT IN (SELECT id FROM gone))""",
)
_SHARED_BLOCKS = "SELECT DISTINCT block_id FROM gone WHERE block_id NOT IN (SELECT id FROM gone_blocks)"
_BLOCKS, _REFS = "(SELECT block_id FROM gone)", "(SELECT ref FROM gone)"
_SHARED = (  # FROM … WHERE …: rows in which something of an erased source is bound up with others
    "FROM gone WHERE block_id NOT IN (SELECT id FROM gone_blocks)",
    "FROM index_sources WHERE id IN (SELECT id FROM gone) AND (path != '' OR own_ref IS NOT NULL OR borne_out)",
    f"FROM index_sources WHERE ref IN {_REFS} AND id NOT IN (SELECT id FROM gone)",
    f"FROM index_ties WHERE from_id IN {_BLOCKS} OR to_id IN {_BLOCKS}",
    f"FROM index_served WHERE block_id IN {_BLOCKS}",
    f"FROM index_path_use WHERE block_id IN {_BLOCKS}",
    f"FROM index_relations WHERE one IN {_REFS} OR other IN {_REFS}",
    *(
        f"FROM {table} WHERE source_id IN (SELECT id FROM gone)"
        for table in ("index_asked", "index_path_proof", "index_sights")
    ),
)
_REMOVE = (
    *(
        f"DELETE FROM {table} WHERE source_id IN (SELECT id FROM gone)"
        for table in ("index_asked", "index_ends", "index_path_proof", "index_sights")
    ),
    "DELETE FROM index_sources WHERE id IN (SELECT id FROM gone)",
    *(
        f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM gone_blocks)"
        for table, column in (
            ("index_lives", "block_id"), ("block_tags", "block_id"), ("index_served", "block_id"),
            ("index_path_use", "block_id"), ("index_ties", "from_id"), ("index_ties", "to_id"), ("edges", "from_id"),
            ("edges", "to_id"), ("contradictions", "block_a_id"), ("contradictions", "block_b_id"), ("blocks", "id"),
        )
    ),
    f"DELETE FROM index_relations WHERE one IN {_REFS} AND one NOT IN (SELECT ref FROM index_sources)"
    f" OR other IN {_REFS} AND other NOT IN (SELECT ref FROM index_sources)",
)  # fmt: skip
_ORPHANS = (  # words that no source, and nothing of now, has: they are of something that was erased too
    """DELETE FROM index_hides WHERE NOT EXISTS (SELECT 1 FROM index_sources AS s WHERE s.user = index_hides.user AND
        CASE what WHEN 'key' THEN s.path = index_hides.path AND coalesce(s.key, s.ref) = name ELSE s.ref = name END)""",
    "DELETE FROM index_path_use WHERE path NOT IN (SELECT path FROM index_sources)",
    "DELETE FROM index_path_proof WHERE path NOT IN (SELECT path FROM index_sources)",
    "DELETE FROM sessions WHERE ended_at IS NOT NULL",
    "DELETE FROM system_config WHERE value = ''",
)
_NAMES = "SELECT DISTINCT user, agent, about, path FROM index_sources WHERE id IN (SELECT id FROM gone)"
_FIRST = "SELECT min(since_seq) FROM index_sources WHERE user = ? AND {} = ? AND path = ?"
_DROP_NAME = "DELETE FROM index_names WHERE user = ? AND what = ? AND as_written = ? AND path = ?"


def _remove(db: sqlite3.Connection, *, orphans: bool) -> None:
    """Remove the chosen sources, the blocks of nobody else, and the names that nobody else has; and all `orphans`."""
    named = db.execute(_NAMES).fetchall()
    for statement in (*_REMOVE, *_ORPHANS) if orphans else _REMOVE:
        db.execute(statement)
    for user, agent, about, path in named:
        for what, name in (("agent", agent), ("about", about)):
            if name:
                db.execute(_DROP_NAME, (user, what, name, path))
                (first,) = db.execute(_FIRST.format(what), (user, name, path)).fetchone()
                if first is not None:
                    db.executemany(sql.ADD_NAME, [(user, each, what, name, path, first) for each in called(name, what)])


def _make_texts_again(db: sqlite3.Connection) -> None:
    """Make the full text of the blocks that are there; nothing of the others is left in it."""
    for table in ("index_texts", "index_asides"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
    for view, table, statement in (
        ("index_texts_of", "index_letters", sql.ADD_LETTERS),
        ("index_asides_of", "index_aside_letters", sql.ADD_ASIDE_LETTERS),
    ):
        if db.execute(f"SELECT 1 FROM {table}_docsize LIMIT 1").fetchone():
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            for row, content in db.execute(f"SELECT rowid, content FROM {view}").fetchall():
                if has_no_spaces(content):
                    db.execute(statement, (row, spread(content)))


# -- comparing the sources that are about to be served with the ledger -------------------------------------------------

_fixed = attrgetter(
    "id", "what", "name", "user", "session", "agent", "path", "trust", "by", "kind", "about", "since_seq", "expires",
    "valid_from", "valid_to", "triple",
)  # fmt: skip
_times = attrgetter("happened", "at")


def must_be_recorded(ledger: LedgerView | None, said: Iterable[tuple[Source, str]], *, is_now: bool) -> None:
    """Raise Stale, unless these are sources that the ledger has, with these words.

    If they are served now, none may be of somebody who is distrusted.
    """
    every = list(said) if ledger is not None else []
    if ledger is None or not every:
        return
    events = ledger.recorded([source.since_seq for source, _ in every])
    for source, words in every:
        event = events.get(source.since_seq, NO_EVENT)
        if event is None:
            if is_now and not _is_held(ledger, source, words):
                raise Stale(f"its row of {source.id} was not what the state says")
            continue
        if event.body is None and event is not NO_EVENT:
            raise Stale("it held words that were erased")
        if not _agrees(source, words, event, has_doubts=ledger.has_doubts):
            raise Stale(f"its row of {source.id} was not what the ledger says")
        is_distrusted = is_now and ledger.is_distrusted(event, said_in(event))
        if is_distrusted or not (source.quarantined or ledger.is_released(event)):
            raise Stale(f"its row of {source.id} showed what is withheld")


def _is_held(ledger: LedgerView, source: Source, words: str) -> bool:
    """True if the state says this of a source whose event was moved away. It has a digest of the words of an episode,
    and no words of versions that were replaced: such a one is not current."""
    held = ledger.held(source.id)
    if held is None or (source.user, source.path) != (held.user, held.path):
        return False
    if isinstance(held, EpisodeRef):
        is_same = (source.session, source.agent) == (held.session, held.agent)
        trust, is_same = held.trust, is_same and held.gist.startswith(gist_of_words(words))
    else:
        body = held.body()
        trust, is_current = body.get("trust", "human"), body["id"] == source.id
        is_same = words.strip() == body.get("text", "").strip() if is_current else source.until_seq is not None
        trust = trust if is_current else source.trust
    is_shown = trust not in DEFAULT.quarantined or source.quarantined or ledger.is_clear(source.id)
    return is_same and source.trust == trust and bool(is_shown)


def _agrees(source: Source, words: str, event: Event, *, has_doubts: bool) -> bool:
    if not said_in(event):
        return False
    told = fold.source_of(event)
    return (
        _fixed(source) == _fixed(told)
        and (has_doubts or _times(source) == _times(told))
        and source.tags in (told.tags, None)
        and source.confidence <= told.confidence
        and words.strip() == fold.words_of(event).strip()
    )


# -- the current state as events: for an index of a ledger whose first segments were moved away ------------------------
# Earlier states do not follow from this. The bookmark of such an index says from which event on the past is known.

_BY = "ledger:snapshot"


def held_now(state: State) -> Iterator[Event]:
    """Events after which an index has what the state has, each version at the place of its own event."""
    for frame in state.work.frames.values():
        yield Event(0, frame["created_at"], ops.FRAME_PUT, "", _BY, "", {"frame": frame})
    for key, value in state.work.config.items():
        yield Event(0, "", ops.CONFIG_SET, "", _BY, "", {"key": key, "value": value})
    for each in state.distrusts.all():
        body = {"user": each.user, "source": each.source, "trust": NONE, "first": each.first}
        yield Event(each.seq, each.at, ops.TRUST_SET, "", each.by, "", body)
    for held in sorted(state.all(), key=lambda held: held.seq):
        yield from _belief(state, held)
    if confirmed := state.distrusts.borne_out():
        yield Event(1, "", ops.TRUST_CORROBORATE, "", _BY, "", {"ids": confirmed})
    for user in state.users():
        for review in state.reviews.waiting(user):
            body = {"review": review.id, "action": {"kind": review.action.kind, "target": list(review.action.target)}}
            yield Event(review.seq, review.asked_at, ops.REVIEW_ASK, "", _BY, "", body)


def related_now(state: State) -> Iterator[Event]:
    """The relations between memories, as events that follow those of `held_now`."""
    for each in state.relations.all():
        body = {**each.body(), WRITER_TRUST: each.trust}
        yield Event(each.seq, each.at, ops.RELATION_PUT, each.event, each.by, "", body)


def _belief(state: State, held: CurrentVersion) -> Iterator[Event]:
    """A belief under its first id, by which others name it, and then its current version."""
    belief = held.body()
    body = {"belief": belief, "replaces": [held.ref]}
    if belief["id"] != held.ref:
        first = {"id": held.ref, "key": held.key, "user": held.user, "confidence": 0.0, "status": "superseded"}
        yield Event(held.first, held.at, ops.BELIEF_PUT, "", _BY, "", {"belief": first})
    if over := [below.ref for name in state.over(held.ref) if (below := state.version(name))]:
        body["over"] = over
    if state.reviews.is_approved(belief["id"]):
        body["approved"] = ""
    if state.distrusts.is_echo(belief["id"]):
        body["echo"] = []
    yield Event(held.seq, held.at, ops.BELIEF_SUPERSEDE, "", held.by or _BY, "", body)

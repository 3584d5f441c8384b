"""Recall: resolve time, scope and frame of a query, then query the index.

What a slow embedder has to say is asked for between two turns of the ledger, so that no write waits for a model. Where
many texts have no vectors yet, a question is answered without them, and says so; they are made in the background.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from tallystick.decide.trust import withheld
from tallystick.memory import settings
from tallystick.memory.core.arguments import can_be_written, check, check_frame, check_names
from tallystick.memory.recall.receipts import ReceiptStore
from tallystick.memory.recall.sessions import FrameStore
from tallystick.memory.trust.sources import withheld_episode
from tallystick.projections.database import wait_for_lock
from tallystick.records.belief import Moment
from tallystick.records.clock import parse_moment, said_time, stamp
from tallystick.records.errors import NotFound, Refused, TallystickError
from tallystick.records.recall import BLANK, FilledFrame, Frame, Hit, NearMiss, Query, RecallResult, Receipt, Replayed
from tallystick.records.trust import Distrust

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.projections.index.file import IndexFile
    from tallystick.recall.frame import Compared
    from tallystick.recall.pipeline import Ask
    from tallystick.recall.vectors import VectorSearch
    from tallystick.records.embedder import Embedder
    from tallystick.records.progress import Progress

Head = tuple[int, str]  # an event's number and hash
Filled = tuple[  # a frame, the source of each hit, when the next memory expires, and the last change it was made from
    FilledFrame, list[str], str | None, tuple[int, int]
]  # fmt: skip
Answer = TypeVar("Answer")


class Read(NamedTuple, Generic[Answer]):
    """What was read from the index for a query."""

    answer: Answer
    head: Head  # the last event that it was made from
    ask: Ask  # as it was answered: perhaps by words alone
    incomplete: str  # why it may lack something


WITHHELD = "(withheld)"  # in place of a text

_A_FEW = 16  # texts that a slow embedder makes vectors of before a question is answered
_AT_ONCE = 256  # texts between two looks at what others wrote; a slow embedder makes `_A_FEW` at once
_LINES, _PAGES, _A_LONG_LINE = 4096, 8, 600
_SHOWN = 60  # hits that a frame chooses from, whatever its budget: a short one far down may be all that fits


class RecallService:
    """The questions put to one memory."""

    def __init__(self, context: Context, receipts: ReceiptStore, embedder: Embedder | str | None) -> None:
        self._context, self._folder, self._index, self._receipts = context, context.folder, context.index, receipts
        self._user, self._notify, self._given = context.user, context.notify, embedder
        self._frames = FrameCache(time.monotonic)

    @cached_property
    def meaning(self) -> VectorSearch:
        """The embedder that was given, or set, or the one that comes with tallystick."""
        from tallystick.recall.vectors import VectorSearch

        given = self._context.settings.embedder if self._given is None else self._given
        embedder = _chosen(given, self._notify) if isinstance(given, str) else given
        static = None if embedder is None else _chosen("", lambda _: None)
        return VectorSearch(embedder, static, self._vectors_folder)

    @property
    def _vectors_folder(self) -> Path | None:
        return self._folder.root / "vectors" if self._folder.root and self._folder.ledger.writable else None

    @cached_property
    def _maker(self) -> VectorMaker:
        return VectorMaker(self._vectors_folder, self._make_some)

    def close(self) -> None:
        """Stop making vectors."""
        if "_maker" in self.__dict__:
            self._maker.stop()

    @cached_property
    def _compared(self) -> Compared:
        """What was read of the hits of frames. They come again and again."""
        from tallystick.recall.frame import Compared

        return Compared()

    # -- asking ------------------------------------------------------------------------------------------------------

    def _ask(self, query: Query) -> Ask:
        """A query, checked and resolved. The caller has the ledger's turn."""
        from tallystick.projections.index.search import NOW, Scope
        from tallystick.recall.filters import Filters
        from tallystick.recall.pipeline import Ask

        believed_at, path, user = query.believed_at, query.path, query.user
        check(query.question, query.k, query.floor, believed_at, query.as_of)
        if query.frame is not None:
            check_frame(query.frame)
        scoped = {name: value for name in ("session", "agent") if (value := getattr(query, name)) is not None}
        check_names(user=user, path=path, **scoped)
        then = said_time(query.as_of)
        at = NOW if believed_at is None else self._folder.seq_at(believed_at)
        now = self._now(believed_at, at, then)
        as_of = parse_moment(then) if then else None
        scope = Scope(user, at, path, query.session, query.agent, query.quarantined, stamp(now), as_of)
        filters = Filters.of(query.filters, self._named(query.without, user, path))
        named = [self._folder.entities_called(each, user, path) for each in filters.about]
        filters = replace(filters, about=tuple(dict.fromkeys(chain.from_iterable(named))))
        floor = self._context.settings.floor if query.floor is None else query.floor
        top_k = self._folder.state.work.config.get("top_k", "5")
        k = query.k or (int(top_k) if top_k.isdecimal() else 0) or 5
        return Ask(
            query.question, scope.on(self._folder.state.paths), now, k, filters, query.frame,
            floor, query.explain, query.by_words,
        )  # fmt: skip

    def _now(self, believed_at: Moment | None, at: int, as_of: str) -> datetime:
        """The moment from which "yesterday" is counted, and by which what has expired is hidden."""
        if as_of:
            return datetime.fromisoformat(parse_moment(as_of))
        if believed_at is None:
            return datetime.fromisoformat(self._folder.ledger.now())
        if isinstance(believed_at, datetime):
            return datetime.fromisoformat(stamp(believed_at))
        if isinstance(believed_at, str):
            return datetime.fromisoformat(parse_moment(believed_at))
        ledger = self._folder.ledger
        place = min(max(at, ledger.first), ledger.head.seq)
        return datetime.fromisoformat(ledger.line(place).event().ts)

    def _named(self, without: str | Iterable[str], user: str, path: str) -> list[str]:
        """What is left out; a belief by any of its names is left out in all its versions."""
        from tallystick.recall.filters import several

        names = several("without", without)
        found = [(name, self._folder.state.find(name, user=user, path=path)) for name in names if name]
        return [held.ref if held else name for name, held in found]

    def recall(
        self, query: Query, *, receipt: bool | None = None, keep_question: bool = False,
        on_progress: Progress | None = None,
    ) -> RecallResult:  # fmt: skip
        """At most `k` hits, or the nearest if nothing fits; with `explain`, also what distrust leaves out."""
        from tallystick.recall.pipeline import answer

        found, head, ask, incomplete = self._read(self.asking(query), answer, on_progress)
        query, found.incomplete = replace(query, by_words=ask.by_words), incomplete
        found.receipt = self._keep(
            ask, head, found.served, found, ask.k, query, receipt=receipt, keep_question=keep_question
        )
        self._context.echoes.serve(query.user, found)
        return self._with_withheld(found, query) if query.explain and not query.quarantined else found

    def asking(self, query: Query, now: datetime | None = None) -> Ask:
        """A query, checked and resolved; `now` is for one that was put before."""
        with self._folder.ledger.reading():
            ask = self._ask(query)
        return ask if now is None else replace(ask, now=now, scope=ask.scope._replace(now=stamp(now)))

    def answered(self, ask: Ask) -> RecallResult:
        """The answer to a query that is resolved."""
        from tallystick.recall.pipeline import answer

        return self._read(ask, answer).answer

    def _read(self, ask: Ask, work: Callable[..., Answer], on_progress: Progress | None = None) -> Read[Answer]:
        """Put a query to the index; by words alone, if the embedder or its vectors are not available."""
        from tallystick.recall.vectors import NoVectors, VectorsPending

        self._prepare(ask, on_progress)
        ledger, incomplete = self._folder.ledger, ""
        with ledger.reading():
            meaning = self._plain if ask.by_words else self.meaning
            given = partial(work, ask=ask, meaning=meaning, erasures=ledger.standing.erasures)
            try:
                found = self._index.read(given, on_progress, at=ask.scope.at)
                if not ask.by_words:
                    incomplete = self._incomplete(ask.scope.user)
            except NoVectors as error:
                if isinstance(error, VectorsPending):
                    incomplete = f"{error}; answered by words"
                    self._maker.start(ask.scope.user)
                else:
                    self._notify(f"{error}; recalled by words only")
                ask = replace(ask, by_words=True)
                given = partial(given, ask=ask, meaning=self._plain)
                found = self._index.read(given, on_progress, at=ask.scope.at)
            return Read(found, self._head(), ask, incomplete)

    def _incomplete(self, user: str) -> str:
        """What an answer says, if vectors of a slow embedder are missing. They are made from now on."""
        made, total = self.meaning.progress(user)
        if made == total:
            return ""
        self._maker.start(user)
        return f"vectors are being made: {made:,} of {total:,}; the rest is found by words"

    def _with_withheld(self, found: RecallResult, query: Query) -> RecallResult:
        """The same, with what was left out because of its source, and why."""
        with self._folder.ledger.reading():
            if not self._folder.state.distrusts.of(query.user):
                return found
        every = self.answered(self.asking(replace(query, quarantined=True, explain=False)))
        shown = {hit.block for hit in found}
        with self._folder.ledger.reading():
            for hit in every:
                if hit.block not in shown and (why := self._distrust(hit.id, query.user)):
                    found.nearly += (NearMiss(replace(hit, text=WITHHELD), why.why),)
        return found

    def _distrust(self, name: str, user: str) -> Distrust | None:
        held = self._folder.state.find(name, user=user, short=False)
        return withheld(self._folder.state, held) if held else withheld_episode(self._folder, name, user)

    def frame(
        self, query: Query, frame: Frame, *, budget: int | None = None, receipt: bool | None = None,
        keep_question: bool = False,
    ) -> FilledFrame:  # fmt: skip
        """A frame, filled with what bears on the question."""
        check_frame(frame, budget)
        filled, served, head, ask = self.filled(self.asking(replace(query, frame=frame)), frame, budget)
        query = replace(query, by_words=ask.by_words)
        kept = self._keep(
            ask, head, served, filled.hits, 0, query, budget, receipt=receipt, keep_question=keep_question
        )
        filled = replace(filled, receipt=kept) if kept else filled
        self._context.echoes.serve(query.user, filled.hits)
        return filled

    def filled(self, ask: Ask, frame: Frame, budget: int | None) -> tuple[FilledFrame, list[str], Head, Ask]:
        """The frame, the source of each of its hits, the last event it was made from, and the query as answered."""
        day = ask.scope._replace(now=ask.scope.now[:10])  # by which "yesterday" is counted
        key = repr((ask.question, day, ask.filters, frame, budget, ask.floor, ask.rules))
        with self._folder.ledger.reading():
            kept = self._frames.get(key, self._content(), ask.scope.now) if self._may_cache(frame) else None
            if kept is not None:
                return *kept, self._head(), ask
        read = self._read(ask, partial(self._fill, frame=frame, budget=budget))
        done, served, expires, changed = read.answer
        if read.incomplete:  # soon there is more to show
            done = replace(done, incomplete=read.incomplete)
        elif frame.cache and self._may_cache(frame):
            seconds, now = frame.cache["ttl_seconds"], ask.scope.now
            self._frames.put(key, changed, seconds, now, expires or "", done, served)
        return done, served, read.head, read.ask

    def _may_cache(self, frame: Frame) -> bool:
        """Not inside a batch: what it writes is counted as known already, and is not in the index yet."""
        return frame.cache is not None and not self._folder.ledger.in_batch()

    def _head(self) -> Head:
        end = self._folder.ledger.head
        return end.seq, end.hash

    def _keep(
        self, ask: Ask, head: Head, served: Sequence[str], hits: Sequence[Hit], k: int, query: Query,
        budget: int | None = None, *, receipt: bool | None, keep_question: bool,
    ) -> str:  # fmt: skip
        """Leave a receipt, if that is asked for or set, and return its id."""
        if not (self._context.settings.receipts if receipt is None else receipt):
            return ""
        is_of_now = ask.scope.as_of is None and query.believed_at is None
        at = stamp(ask.now) if is_of_now else self._folder.ledger.now()
        scores = tuple((source, hit.score) for source, hit in zip(served, hits, strict=True))
        made = Receipt.made(
            at=at, head=head, hits=scores, k=min(k, _BEYOND), user=ask.scope.user,
            question=query.question if keep_question else "", asked=to_keep(ask, query, budget, at),
            frame=ask.frame.name if ask.frame else "",
            embedder="" if ask.by_words else self.meaning.key,
        )  # fmt: skip
        self._receipts.keep(made)
        return made.id

    def _fill(
        self, file: IndexFile, *, meaning: VectorSearch, ask: Ask, erasures: int, frame: Frame, budget: int | None
    ) -> Filled:
        from tallystick.projections.index import statements as sql
        from tallystick.recall.frame import framed
        from tallystick.recall.pipeline import rank, served

        ranking = rank(file, meaning, ask, erasures)
        hits: list[Hit] = []
        guaranteed: list[Hit] = []
        cut: list[tuple[Hit, str]] = []
        more = 0
        if ranking is not None:
            chosen = ranking.filling(ask, _SHOWN)
            guaranteed, hits, more = ranking.hits(chosen.guaranteed), ranking.hits(chosen.rest), chosen.more
            hits += ranking.related(chosen.neighbours, [*guaranteed, *hits])
            reasons = {ranking.measured.blocks[place]: why for place, why in chosen.cut}
            cut = [(hit, reasons[hit.block]) for hit in ranking.hits(place for place, _ in chosen.cut)]
            if self._folder.outlet is not None:  # a line shows what this program may read
                seen = self._folder.outlet.reader.hit
                guaranteed, hits = ([*map(seen, each)] for each in (guaranteed, hits))
                cut = [(seen(hit), why) for hit, why in cut]
        filled = framed(
            frame, ask.question, hits, guaranteed=guaranteed, count=self.count, budget=budget, compare=self._compared,
            cut=cut, more=more,
        )  # fmt: skip
        if self._compared.is_large():
            del self._compared
        changed = self._content()
        if ask.scope.is_nobodys():
            return filled, [], None, changed
        next_expiry = file.db.execute(sql.NEXT_EXPIRY, (ask.scope.user, ask.scope.now)).fetchone()[0]
        return filled, served(ranking, filled.hits) if ranking else [], next_expiry, changed

    def _content(self) -> tuple[int, int]:
        """The last event that changed content, and how often a restore left events behind."""
        return self._folder.state.changed, len(self._folder.ledger.standing.abandoned)

    def served(self, receipt: Receipt) -> tuple[Hit | str, ...]:
        """What a receipt says was served: the hits as they were, or the id alone where the words are gone."""
        from tallystick.recall.hits import as_served

        with self._folder.ledger.reading():
            found = self._index.read(lambda file: as_served(file, receipt.hits, receipt.user))
        return tuple(found.get(source, source) for source, _ in receipt.hits)

    def count(self, text: str) -> int:
        """How many tokens a text has, as the embedder counts them. Lines come again and again, and are kept."""
        if self.meaning.embedder is None:
            from tallystick.models.embedding import estimated_tokens

            return estimated_tokens(text)
        of_line, of_frame = self._counts
        return of_line(text) if len(text) <= _A_LONG_LINE else of_frame(text)

    @cached_property
    def _counts(self) -> tuple[Callable[[str], int], Callable[[str], int]]:
        """The tokens of lines, and of whole frames, which are counted more than once while they are filled."""
        return lru_cache(_LINES)(self.meaning.count), lru_cache(_PAGES)(self.meaning.count)

    @cached_property
    def _plain(self) -> VectorSearch:
        """A query by words alone needs no embedder, and reports no missing one."""
        from tallystick.recall.vectors import VectorSearch

        return VectorSearch(None, None, None)

    # -- vectors -----------------------------------------------------------------------------------------------------

    def _prepare(self, ask: Ask, on_progress: Progress | None) -> None:
        """What a slow embedder does first, outside the ledger's turn: the question's vector, and a few more."""
        if ask.by_words or self.meaning.embedder is None or self.meaning.is_fast:
            return
        from tallystick.recall.question import take_apart
        from tallystick.recall.vectors import NoVectors

        try:
            with self._folder.ledger.reading():
                bare = self._index.read(
                    lambda file: take_apart(file, ask.question, ask.scope, ask.now).bare, on_progress
                )
            if bare.strip():
                self.meaning.hear(bare)
            self._embed_some(ask.scope.user, _A_FEW)
        except NoVectors:  # the answer itself meets it again, and says so
            return

    def _embed_some(self, user: str, limit: int) -> int:
        """Embed the next few texts that have no vector; how many were looked at."""
        meaning = self.meaning
        if meaning.embedder is None or not can_be_written(user):
            return 0
        meaning.identity()  # this may load a model, and nobody waits for it
        batch = self._in_index(lambda file, erasures: meaning.missing(file, user, erasures, limit))
        if batch is None:
            return 0
        vectors = meaning.vectors_of(batch)
        self._in_index(lambda file, erasures: meaning.add_vectors(file, user, erasures, batch, vectors))
        return batch.looked_at

    def _in_index(self, work: Callable[[IndexFile, int], Answer]) -> Answer:
        """What `work` makes of the index, and of how often words were erased."""
        ledger = self._folder.ledger
        with ledger.reading():
            return self._index.read(lambda file: work(file, ledger.standing.erasures))

    def embed(
        self, *, user: str | None = None, on_progress: Progress | None = None, timeout: float | None = None
    ) -> int:
        """Make every vector that is missing; how many texts were looked at. Others read and write meanwhile.

        If somebody else is making them, wait for that. After `timeout` seconds the rest is left.
        """
        whose, looked_at = self._user if user is None else user, 0
        check_names(user=whose)
        self.close()
        longest = math.inf if timeout is None else timeout
        limit, until = _AT_ONCE if timeout is None else self._size(), time.monotonic() + longest
        with making(self._vectors_folder, longest):
            while time.monotonic() < until and (count := self._embed_some(whose, limit)):
                looked_at += count
                if on_progress is not None:
                    on_progress(count)
            while can_be_written(whose) and time.monotonic() < until and self._connect_some(whose):
                pass  # others have their turn in between
        return looked_at

    def _size(self) -> int:
        """How many texts are embedded at once, where somebody may have to wait for the end of it."""
        return _AT_ONCE if self.meaning.is_fast else _A_FEW

    def _make_some(self, user: str) -> int:
        return self._embed_some(user, self._size()) or self._connect_some(user)

    def _connect_some(self, user: str) -> int:
        return self._in_index(lambda file, erasures: self.meaning.connect(file, user, erasures))

    def missing_vectors(self, user: str | None = None) -> int:
        """How many texts have no vector yet; none if there is no embedder to be had."""
        from tallystick.recall.vectors import NoVectors

        whose = self._user if user is None else user
        check_names(user=whose)
        if not can_be_written(whose):
            return 0
        try:
            self.meaning.get_ready()
            return self._in_index(lambda file, erasures: self.meaning.missing_vectors(file, whose, erasures))
        except NoVectors:
            return 0

    def sweep(self) -> None:
        """After an erasure: the vectors of what is gone go at once, of every user and every embedder."""
        self.__dict__.pop("_counts", None)
        self.__dict__.pop("_compared", None)
        from tallystick.projections.vectors.file import sweep

        if (folder := self._vectors_folder) is not None:
            self._in_index(lambda file, erasures: sweep(folder, file, erasures))


def _chosen(spec: str, notify: Callable[[str], None]) -> Embedder | None:
    """The embedder of that name. The one that comes with tallystick may be missing; any other must be there."""
    from tallystick.models.registry import DEFAULT, choose

    if spec:
        return choose(spec, key=settings.embedder_key(), cache=settings.models_folder())
    try:
        return choose(DEFAULT)
    except Refused as error:
        notify(f"{error}; recall uses words until then")
        return None


# -- frames that were filled a moment ago ------------------------------------------------------------------------------

_CACHED = 64


class _Kept(NamedTuple):
    """A filled frame, and until when it may be served: by both clocks, and by what it was made from."""

    mark: tuple[int, int]  # see `_content`
    until: float  # by the process's own clock
    seconds: float  # for which it may be kept
    since: str
    expires: str  # when the next memory expires; empty: none does
    framed: FilledFrame
    served: list[str]

    def holds(self, mark: tuple[int, int], now: str, ticks: float) -> bool:
        passed = (datetime.fromisoformat(now) - datetime.fromisoformat(self.since)).total_seconds()
        is_fresh = ticks < self.until and 0 <= passed < self.seconds
        return is_fresh and self.mark == mark and not (self.expires and self.expires <= now)


class FrameCache:
    """A few filled frames, by all that was asked."""

    def __init__(self, ticks: Callable[[], float]) -> None:
        self._ticks = ticks
        self._kept: dict[str, _Kept] = {}

    def get(self, key: str, mark: tuple[int, int], now: str) -> tuple[FilledFrame, list[str]] | None:
        kept = self._kept.get(key)
        if kept is None or kept.holds(mark, now, self._ticks()):
            return kept and (kept.framed, list(kept.served))
        del self._kept[key]
        return None

    def put(
        self, key: str, mark: tuple[int, int], seconds: float, since: str, expires: str, framed: FilledFrame,
        served: list[str],
    ) -> None:  # fmt: skip
        if len(self._kept) >= _CACHED:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = _Kept(mark, self._ticks() + seconds, seconds, since, expires, framed, list(served))


# -- replay: a recorded query again, at the place of the ledger where it was asked -------------------------------------

KEPT_NOW = "now"  # in a receipt: from when "yesterday" is counted, where that is not when it was asked
RULES = "rules"  # in a receipt: the version of the rules of recall; a receipt from before there were any has none
_KEPT = ("session", "agent", "path", "floor", "quarantined", "by_words", "budget")
_BEYOND = 1 << 62  # more than anyone has memories
_TODAYS = "how used and fresh a memory is, and in a large folder how rare words are, are today's"
_CLOSE = 0.005  # scores that differ by less are the same


def to_keep(ask: Ask, query: Query, budget: int | None, at: str) -> dict[str, Any]:
    """The arguments that a receipt keeps, for asking the same again."""
    asked = {name: budget if name == "budget" else getattr(query, name) for name in _KEPT}
    given = {name: value for name, value in asked.items() if value not in (None, "") and value is not False}
    narrowed = {each.name: getattr(ask.filters, each.name) for each in fields(ask.filters)}
    without = narrowed.pop("without")
    if filters := {name: value for name, value in narrowed.items() if value}:
        given["filters"] = filters
    if without:
        given["without"] = without
    if query.believed_at is not None:
        given["believed_at"] = ask.scope.at
    if ask.scope.as_of is not None:
        given["as_of"] = ask.scope.as_of
    if stamp(ask.now) != at:
        given[KEPT_NOW] = stamp(ask.now)
    if not ask.question.strip():
        given[BLANK] = True
    return {**given, RULES: ask.rules}


def replay(recall: RecallService, receipt: Receipt, frames: FrameStore, question: str = "") -> Replayed:
    """The recorded answer, the answer now, and what differs.

    The beliefs of then are known to the event. What is not: how often a memory had been used and how fresh it was, how
    rare words were in a large folder, and frames that were redefined since. Those are today's, and the answer says so.
    """
    asked, given = receipt.question or question, dict[str, Any](receipt.asked)
    recorded = recall.served(receipt)
    if not given.pop(BLANK, False) and not asked:
        note = "the question was not kept: give it, to put it again"
        return Replayed(receipt.id, "", recorded, (), (), (note,), was_put=False)
    notes = [_TODAYS]
    if receipt.frame:
        try:
            given["frame"] = frames.get(receipt.frame)
        except NotFound:
            notes.append(f"the frame {receipt.frame} is gone; put again without it")
    if receipt.embedder:
        recall.embed(user=receipt.user)  # what was answered with vectors is not compared with words
    if receipt.embedder and receipt.embedder != recall.meaning.key:
        notes.append(f"the vectors were made by {receipt.embedder}, and are by {recall.meaning.key or 'nobody'} now")
    again, sources = _again(recall, receipt, asked, given)
    notes += _moved(receipt, again, sources)
    differs = tuple(_differences(receipt, recorded, again, sources))
    return Replayed(receipt.id, asked, recorded, tuple(again), differs, tuple(notes))


def _again(
    recall: RecallService, receipt: Receipt, question: str, given: dict[str, Any]
) -> tuple[list[Hit], list[str]]:  # fmt: skip
    budget, frame = given.pop("budget", None), given.pop("frame", None)
    then, rules = datetime.fromisoformat(given.pop(KEPT_NOW, receipt.at)), given.pop(RULES, 0)
    given.setdefault("believed_at", receipt.head[0])
    query = Query(question, receipt.user, k=receipt.k or None, frame=frame, **given)
    if frame is not None and receipt.k == 0:
        ask = replace(recall.asking(replace(query, k=None), then), rules=rules)
        filled, sources, *_ = recall.filled(ask, frame, budget)
        return list(filled.hits), sources
    found = recall.answered(replace(recall.asking(query, then), rules=rules))
    return list(found), list(found.served)


def _moved(receipt: Receipt, again: list[Hit], sources: list[str]) -> list[str]:
    """By how much scores moved at most, which statistics alone can do."""
    now = {source: hit.score for source, hit in zip(sources, again, strict=True)}
    limit = max((abs(now[source] - score) for source, score in receipt.hits if source in now), default=0.0)
    return [f"scores moved, by {limit:.3f} at most"] if limit > _CLOSE else []


def _differences(receipt: Receipt, recorded: tuple[Hit | str, ...], again: list[Hit], sources: list[str]) -> list[str]:
    """What differs, a line each."""
    before, after = [source for source, _ in receipt.hits], sources
    scores = dict(zip(sources, again, strict=True))
    found = []
    for place, source in enumerate(before):
        hit = recorded[place]
        if isinstance(hit, str):
            found.append(f"{source} was served, and its words are gone")
        elif source not in scores:
            found.append(f"{hit.id} was served, and would not be: other memories score above it now")
    found += [f"{hit.id} was not served, and would be" for source, hit in scores.items() if source not in before]
    if not found and before != after:
        found.append("the same memories, in another order")
    return found


# -- vectors made in the background, so that no question waits for them ------------------------------------------------
# One thread in one process makes the vectors of a folder, some at a time, and ends when nothing is missing; a lock on
# `vectors/making` keeps others out. Between two batches it lets everybody read and write. Whatever stops it (the memory
# is closed, the process is killed, the embedder fails), what it made is kept, and the next question starts it again.

_TIMEOUT = 10.0  # seconds in which a batch should end


class VectorMaker:
    """Makes the vectors of some users of one folder. `make` makes some, and returns 0 when none are missing."""

    def __init__(self, folder: Path | None, make: Callable[[str], int]) -> None:
        self._folder, self._make = folder, make
        self._lock, self._is_stopped = threading.Lock(), threading.Event()
        self._users: dict[str, None] = {}
        self._thread: threading.Thread | None = None

    def start(self, user: str) -> None:
        """Make the vectors of that user, too."""
        with self._lock:
            self._users[user] = None
            if self._thread is None or not self._thread.is_alive():
                self._is_stopped.clear()
                self._thread = threading.Thread(target=self._run, name="tallystick-vectors", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop after the batch that is being made."""
        self._is_stopped.set()
        with self._lock:
            self._users.clear()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_TIMEOUT)

    def _run(self) -> None:
        with making(self._folder) as is_mine:
            while user := self._next(is_mine):
                try:
                    is_more = self._make(user) > 0
                except (TallystickError, OSError, sqlite3.Error):
                    is_more = False
                if not is_more:
                    self._users.pop(user, None)

    def _next(self, is_mine: bool) -> str:
        """The user whose turn it is; empty, when this thread ends."""
        with self._lock:
            if self._users and is_mine and not self._is_stopped.is_set():
                return next(iter(self._users))
            self._users.clear()
            self._thread = None
            return ""


@contextmanager
def making(folder: Path | None, timeout: float = 0.0) -> Iterator[bool]:
    """True, if nobody else makes vectors in this folder, or nothing can be written there: then they are in memory."""
    lock = -1
    try:
        if folder is not None:
            folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(folder / "making", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        is_mine = lock < 0 or wait_for_lock(lock, timeout)
    except OSError:
        is_mine = True
    try:
        yield is_mine
    finally:
        if lock >= 0:
            os.close(lock)

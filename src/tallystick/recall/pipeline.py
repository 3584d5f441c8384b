"""Recall: from a question to the memories that answer it, best first, each with its reason.

    parse the question → gather candidates → measure signals → fuse → weigh → hits, or "nothing fits"

After what answers come its neighbours. A frame shows what recall would serve, and more: what its window or its floor
leaves out is named with the reason.

The same index, question and settings give the same answer. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile, must_be_recorded
from tallystick.projections.index.rows import STANDARD, Source, is_constitutional
from tallystick.projections.index.search import NOW, Scope, SourceRow, count_of, count_on
from tallystick.recall.aliases import Reworded, asks_for_a_name, only_names, reworded
from tallystick.recall.candidates import POOL, Bond, Candidates, Gathering, Visible
from tallystick.recall.filters import Filters, bears, tags_of
from tallystick.recall.fusion import Floors, Judged, floor_of, floor_of_beliefs, judge, similarity
from tallystick.recall.hits import SIGNALS, as_served, hits_of, said_by
from tallystick.recall.index_cache import IndexCache, View, edges_of
from tallystick.recall.lexicon import Lexicon
from tallystick.recall.question import Question, take_apart
from tallystick.recall.render import named
from tallystick.recall.rules import VERSION, Rules, in_order
from tallystick.recall.signals import Measured, measure
from tallystick.recall.support import State, Support, backing, degrees, proven, support_of, weighed
from tallystick.recall.vectors import Vectors, VectorSearch
from tallystick.records.recall import Frame, Hit, NearMiss, RecallResult
from tallystick.text.recall_words import stem, telling

LIKENESS = {"similarity": 1.0}  # how recall weighs without a frame
_NEAREST = 3  # named when nothing fits, and of what a frame's floor leaves out
_NEIGHBOURS = 3  # served after what answers
_ONLY_RELATED = f"it only belongs together with what answers, and at most {_NEIGHBOURS} such are shown"
_FILLS = 0.3  # of the best score: so near, a candidate is served after what answers, where there is room
_NAMED = 20  # of what a frame has no room for, or its window leaves out
_MOST = 5_000  # hits that are prepared for, however many are wanted
_TAGGED = 2_000  # that a frame looks at for their tags alone; of what it guarantees, it looks at all
_RECENT = 50


@dataclass(frozen=True, slots=True)
class Ask:
    """All that an answer depends on, except for the index."""

    question: str
    scope: Scope
    now: datetime
    k: int = 5
    filters: Filters = field(default_factory=Filters)
    frame: Frame | None = None
    floor: float | None = None  # None: the one that was learned
    explain: bool = False
    by_words: bool = False  # without vectors
    drop: frozenset[str] = frozenset()  # signals and rules that are left out, to see what they are worth
    rules: int = VERSION  # the version of the rules; an answer from before there were any is repeated with 0

    def goes_by(self, rule: str) -> bool:
        return self.rules > 0 and rule not in self.drop


class Neighbour(NamedTuple):
    """A candidate that belongs together with one that answers."""

    place: int
    via: str  # the block of that one
    bond: Bond


class Filling(NamedTuple):
    """The contents of a frame: places, best first; and what is left out, and why."""

    guaranteed: list[int]
    rest: list[int]
    neighbours: list[Neighbour]
    cut: list[tuple[int, str]]
    more: int  # left out and not named


@dataclass(slots=True)
class Ranking:
    """Every candidate, best first."""

    question: Question
    scope: Scope
    view: View
    order: list[int]
    scores: NDArray[np.float64]
    measured: Measured
    found: Candidates
    states: dict[str, State]
    likeness: NDArray[np.float64]
    support: Support
    judged: Judged  # how likely each candidate answers
    plainly: list[int]  # every candidate in the order of recall without a frame
    plain: Judged  # how likely each answers there
    recalled: frozenset[int]  # what recall without a frame would serve
    answering: frozenset[int]  # what may be an answer at all: there, or as something that bears on the frame's task
    guaranteed: frozenset[str]
    outside: frozenset[int]  # what the frame's window does not reach
    newer: dict[int, int]  # the places that passed an older statement of the same thing, with its place

    @property
    def fit(self) -> float:
        """The likelihood that the best candidate answers; nothing answers a question without words."""
        return self.judged.fit if self.question.words else 0.0

    def serving(self, ask: Ask) -> list[int]:
        """The places that may be served, best first: where likeness decides, it must reach the floor."""
        return [place for place in self.order if place not in self.outside and self._may_show(ask, place)]

    def _may_show(self, ask: Ask, place: int) -> bool:
        """True if a candidate may be served, whenever it was used."""
        if place in self.answering or ask.frame is None:
            return place in self.answering
        return bool(ask.frame.filters.get("tag_patterns")) or not ask.question.strip() or self.stands(place)

    def filling(self, ask: Ask, limit: int) -> Filling:
        """All that is guaranteed, and of the rest that may be served the best `limit`: first what recall would serve,
        then the others by the frame's weights, then neighbours of what answers. Standing memory is added to those
        `limit`, however much answers: the budget decides about it."""
        kept, blocks = self.guaranteed, self.measured.blocks
        recalled = islice((place for place in self.plainly if place in self.recalled), ask.k)
        every = [place for place in dict.fromkeys([*recalled, *self.order]) if blocks[place] not in kept]
        wanted = [place for place in every if self._may_show(ask, place)]
        inside = [place for place in wanted if place not in self.outside]
        near = self.neighbours(inside)
        neighbours = [each for each in near if each.place not in self.outside]
        neighbours = neighbours[: min(max(limit - len(inside), 0), _NEIGHBOURS)]
        rest = inside[:limit] + [place for place in inside[limit:] if self.stands(place)][:limit]
        looked_at, known = set(rest), set(wanted)
        beyond = [place for place in inside[limit:] if place not in looked_at]
        cut = [(place, self.why_outside(ask)) for place in wanted if place in self.outside]
        cut += [(place, f"there is no room: {limit} that are ranked higher are looked at first") for place in beyond]
        cut += [
            (each.place, self.why_outside(ask) if each.place in self.outside else _ONLY_RELATED)
            for each in near if each not in neighbours and each.place not in known
        ]  # fmt: skip
        below = set(every) - known - {each.place for each in near} - self.outside
        nearest = islice((place for place in self.plainly if place in below), _NEAREST)
        unlike = [(place, f"too unlike the question to answer it: {self.plain.sure[place]:.2f}") for place in nearest]
        guaranteed = [place for place in self.order if blocks[place] in kept] if kept else []
        return Filling(guaranteed, rest, neighbours, cut[:_NAMED] + unlike, max(len(cut) - _NAMED, 0))

    def why_outside(self, ask: Ask) -> str:
        window = ask.frame.filters["search_window"] if ask.frame else 0
        return f"last said or used before the frame's window of {window:g} active hours"

    def neighbours(self, served: Iterable[int]) -> list[Neighbour]:
        """Neighbours of those of `served` that answer, the strongest bonds of the best first.

        A reader who sees what needs approval gets none: nothing may come in that way.
        """
        if not self.found.bonds or self.scope.quarantined:
            return []
        blocks, every = self.measured.blocks, list(served)
        places = {block: place for place, block in enumerate(blocks)}
        shown, found = {*(blocks[place] for place in every), *self.guaranteed}, list[Neighbour]()
        for block in (blocks[place] for place in every if place in self.answering):
            for bond in self.found.bonds:
                other = bond.beyond(block)
                if block in bond[:2] and other in places and other not in shown:
                    shown.add(other)
                    found.append(Neighbour(places[other], block, bond))
        return found

    def stands(self, place: int) -> bool:
        """True if a candidate is served without resembling the question."""
        block = self.measured.blocks[place]
        return block in self.guaranteed or any(source.standing for source in self.found.sources[block])

    def hits(self, places: Iterable[int], scale: float = 1.0) -> list[Hit]:
        """Hits for some candidates; another spelling of a text is a hit of its own."""
        made: list[Hit] = []
        blocks = self.measured.blocks
        chosen = {blocks[place]: place for place in places}
        older = {block: self.newer[place] for block, place in chosen.items() if place in self.newer}
        whole = self.view.whole({block: self.found.sources[block] for block in chosen}, self.scope)
        measured = {name: values for name, values in self.measured.signals.items() if name in SIGNALS}
        columns = {"similarity": self.likeness, **measured, **self.support._asdict()}
        unchecked = [block for block in chosen if block not in self.view.checked]
        words = (said_by(self.states[block].content, whole[block]) for block in unchecked)
        is_served = self.scope.at >= NOW and not self.scope.quarantined
        must_be_recorded(self.view.ledger, chain.from_iterable(words), is_now=is_served)
        self.view.checked.update(chosen)
        for block, place in chosen.items():
            signals = {name: min(max(float(values[place]), 0.0), 1.0) for name, values in columns.items()}
            score = min(max(float(self.scores[place]) * scale, 0.0), 1.0)
            said, is_now = self.states[block].content, self.scope.at >= NOW
            hits = hits_of(self.question, block, said, whole[block], score, signals, is_now=is_now)
            why = f"; newer than what was said on {self._day(older[block])}" if block in older else ""
            made += [self._marked(hit, hit.why + why) for hit in hits]
        return made

    def _marked(self, hit: Hit, why: str) -> Hit:
        """A hit with its reason, and what other beliefs say otherwise."""
        ledger = self.view.ledger
        marks = ledger.marks(hit.id, self.scope.path, self.scope.at) if ledger and hit.what == "belief" else ()
        return replace(hit, why=why, marks=tuple(marks))

    def _day(self, place: int) -> str:
        source = self.found.sources[self.measured.blocks[place]][0]
        return (source.happened or source.at)[:10]

    def related(self, neighbours: Iterable[Neighbour], hits: Sequence[Hit], scale: float = 1.0) -> list[Hit]:
        """Hits for neighbours of `hits`: none of them scores as high as what answers."""
        first = {hit.block: hit for hit in reversed(hits)}
        least = min((hit.score for hit in hits), default=0.0)
        made = []
        for place, block, bond in neighbours:
            if via := first.get(block):
                why, score = bond.reason(named(via), self.measured.blocks[place]), min(via.score, least) / 2
                made += [
                    replace(hit, why=why, score=score, via=via.id, relation=bond.relation)
                    for hit in self.hits([place], scale)
                ]
        return made

    def rest(self, hits: Sequence[Hit], count: int, scale: float) -> list[Hit]:
        """What comes next, once something answers: it scores no higher than `hits`, which are served already."""
        shown, least = {hit.block for hit in hits}, min(hit.score for hit in hits)
        near = _FILLS * self.scores[self.order[0]]
        places = [p for p in self.order if self.scores[p] >= near and self.measured.blocks[p] not in shown][:count]
        return [replace(hit, score=min(hit.score, least)) for hit in self.hits(places, scale)]


def answer(index: IndexFile, meaning: VectorSearch, ask: Ask, erasures: int = 0) -> RecallResult:
    """Answer with at most `k` hits. If the best does not reach the floor there are none, and the nearest are named."""
    ranking = rank(index, meaning, ask, erasures)
    name = ask.frame.name if ask.frame else ""
    if ranking is None:
        return RecallResult(question=ask.question, floor=ask.floor or 0.0, frame=name)
    floor = ranking.judged.floor  # of an answer of the best candidate's kind
    top = float(ranking.scores[ranking.judged.best])
    scale = 1.0 if ask.frame else ranking.fit / top if top > 0 else 0.0
    places = ranking.serving(ask)[: ask.k]
    if not places:
        nearest = ranking.hits(ranking.order[:_NEAREST], scale)[:_NEAREST]
        return RecallResult(question=ask.question, fit=ranking.fit, floor=floor, nearest=nearest, frame=name)
    hits = ranking.hits(places, scale)
    if len(hits) < ask.k:
        near = [each for each in ranking.neighbours(places) if each.place not in ranking.outside]
        hits += ranking.related(near[:_NEIGHBOURS], hits, scale)
    if len(hits) < ask.k and ask.frame is None and ask.goes_by("fill"):
        hits += ranking.rest(hits, ask.k - len(hits), scale)
    nearly = _nearly(index, ranking, ask, scale, hits) if ask.explain else []
    sources = served(ranking, hits[: ask.k])
    return RecallResult(
        hits[: ask.k], question=ask.question, fit=ranking.fit, floor=floor, nearly=nearly, served=sources, frame=name
    )  # fmt: skip


def served(ranking: Ranking, hits: Sequence[Hit]) -> list[str]:
    """The source of each hit, as the ledger knows it."""
    found = ranking.found.sources
    return [next(s.id for s in found[hit.block] if s.since_seq == hit.seq) for hit in hits]


def _nearly(index: IndexFile, ranking: Ranking, ask: Ask, scale: float, hits: list[Hit]) -> list[NearMiss]:
    """The next candidates, and by how much each fell short; and what a nearer path hides."""
    served, least = {hit.block for hit in hits[: ask.k]}, hits[min(len(hits), ask.k) - 1].score if hits else 0.0
    nearly = []
    for place in [p for p in ranking.order if ranking.measured.blocks[p] not in served][: ask.k]:
        behind = f"{float(ranking.scores[place]) * scale:.3f}, and the last that was served has {least:.3f}"
        why = behind if place in ranking.answering else "too unlike the question to answer it"
        if place in ranking.outside:
            why = ranking.why_outside(ask)
        nearly += [NearMiss(hit, why) for hit in ranking.hits([place], scale)]
    return nearly + hidden(index, ranking.found.hidden, ask.scope)[: ask.k]


def rank(index: IndexFile, meaning: VectorSearch, ask: Ask, erasures: int = 0) -> Ranking | None:
    """Every candidate in order; None if there is none."""
    if ask.scope.is_nobodys():
        return None
    put, kind = _Put.of(index, meaning, ask, erasures), "none" if ask.by_words else meaning.kind
    guaranteed = _guaranteed(put.seen, ask)
    found, states = put.gather(ask, guaranteed)
    others = put.reworded(index, meaning, ask, erasures)
    for other, _ in others:
        more, states_of = other.gather(ask, [*found.sources])
        found, states = found.joined(more), states | states_of
    if not found.sources:
        return None
    lexicon = meaning.plain if kind == "none" else meaning.lexicon
    measured, counts = put.measured(ask, found, states, lexicon)
    said = list(found.sources.values())
    edges = edges_of(put.seen, measured.blocks, ask.scope) if put.seen.has_edges else []
    degree = degrees(edges, measured.blocks)
    support = support_of([states[block] for block in measured.blocks], said, put.seen.hours, degree)
    likeness = similarity(measured, kind, ask.drop) * counts
    under_other_names = [other.measured(ask, found, states, lexicon) for other, _ in others]
    for measured_so, counts_so in under_other_names:
        likeness = np.maximum(likeness, similarity(measured_so, kind, ask.drop) * counts_so)
    for _, each in others:
        likeness = likeness * np.array([taught(each, found.sources[block], states[block]) for block in measured.blocks])
    base = backing(support, said, ask.scope.path)
    proof = proven(proofs_of(put.seen, found.sources, ask.scope), measured.blocks)
    alike = weighed(LIKENESS, likeness, support) * base
    floors, plain_floors = put.floors(index, ask, kind)
    by_likeness = in_order(alike, measured.blocks)
    plain = judge(measured, kind, by_likeness, plain_floors, counts)  # by likeness alone
    question = put.question  # in the words in which it is answered best
    for (other, _), (measured_so, counts_so) in zip(others, under_other_names, strict=True):
        judged = judge(measured_so, kind, by_likeness, plain_floors, counts_so)
        question = other.question if judged.fit - judged.floor > plain.fit - plain.floor else question
        plain = plain.better(judged)
    rules = Rules(question, ask.goes_by, put.seen, put.vectors, ask.scope, ask.now)
    ruled = rules.over(alike * proof, measured.blocks, said, [states[block].content for block in measured.blocks])
    plainly = order = ruled.order
    scores, judged, outside = ruled.scores, plain, frozenset[int]()
    if ask.frame is not None:
        outside = _outside(states, measured.blocks, ask, put.seen.hours, guaranteed)
        inside = np.ones(len(measured.blocks), dtype=np.bool_)
        inside[list(outside)] = False
        if (limit := float(likeness.max(initial=0.0, where=inside))) > 0:
            likeness = np.minimum(likeness / limit, 1.0)  # among other signals, likeness is relative to the best
        scores = weighed(ask.frame.weights, likeness, support) * base * proof
        order = in_order(scores, measured.blocks)
        leading = np.argsort(-likeness, kind="stable").tolist()
        judged = judge(measured, kind, leading, floors, counts, inside)
    recalled = put.reached(ask, plain, measured, found) if put.question.tells or not ruled.topic else frozenset()
    recalled |= ruled.topic
    if ruled.topic and plain.fit < plain.floor:
        plain = plain._replace(best=plainly[0], fit=plain.floor)
        judged = judged if ask.frame else plain
    answering = recalled if judged is plain else recalled | put.reached(ask, judged, measured, found)
    return Ranking(
        put.question, ask.scope, put.seen.view(ask.scope), order, scores, measured, found, states, likeness, support,
        judged, plainly, plain, recalled, answering, frozenset(guaranteed) & found.sources.keys(), outside,
        ruled.newer,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Put:
    """A question put to one state of the index."""

    question: Question
    seen: IndexCache
    rare: list[float]  # how rare each of its words is
    vectors: Vectors | None
    vector: NDArray[np.float32] | None
    toward: NDArray[np.float32] | None  # the vector without the names in the question

    @classmethod
    def of(cls, index: IndexFile, meaning: VectorSearch, ask: Ask, erasures: int) -> _Put:
        question = take_apart(index, ask.question, ask.scope, ask.now)
        seen = meaning.seen(index)
        rare = seen.rarity(question.words, ask.scope)
        vectors = None if ask.by_words else meaning.level(index, ask.scope.user, erasures)
        vector = None if vectors is None else meaning.of_question(question.bare, question.words, rare)
        toward = None if vector is None else meaning.of_rest(question.words, rare, question.called)
        return cls(question, seen, rare, vectors, vector, toward)

    def gather(self, ask: Ask, guaranteed: Sequence[str]) -> tuple[Candidates, dict[str, State]]:
        """Gather every candidate, with the rows of each and of the turns adjacent to it."""
        pool = max(POOL, 2 * min(ask.k, _MOST))
        narrows = ask.frame is not None and any(ask.frame.filters.get(name) for name in ("tag_patterns", "categories"))
        visible = _passes(ask) if narrows or not ask.filters.is_empty() else None
        gathering = Gathering(self.seen, self.question, ask.scope, visible, self.vectors, self.vector, pool)
        found = gathering.gather([*guaranteed, *_of_the_frame(self.seen, ask)])
        states = self.seen.states_of(found.with_beside())
        if not ask.scope.is_main():
            nearest_alone(found, states, ask.scope)
            states = with_use(self.seen.index, states, ask.scope)
        return found, states

    def reworded(
        self, index: IndexFile, meaning: VectorSearch, ask: Ask, erasures: int
    ) -> list[tuple[_Put, Reworded]]:  # fmt: skip
        """The same question under other names, where the ledger says that they are one."""
        ledger, scope = self.seen.view(ask.scope).ledger, ask.scope
        if ledger is None or not ask.goes_by("alias") or scope.is_nobodys() or asks_for_a_name(ask.question):
            return []
        paths = scope.lineage or (scope.path, "")
        found = reworded(
            ask.question, lambda name: ledger.aliases(scope.user, name, paths, scope.at),
            lambda words: self.seen.rarity(words, scope),
        )  # fmt: skip
        return [(_Put.of(index, meaning, replace(ask, question=each.asked), erasures), each) for each in found]

    def measured(
        self, ask: Ask, found: Candidates, states: dict[str, State], lexicon: Lexicon
    ) -> tuple[Measured, NDArray[np.float64]]:  # fmt: skip
        """The signals of all candidates, and the share of each one's likeness that counts."""
        file = self.vectors.file if self.vectors else None
        rare = np.array(self.rare, np.float32)
        made = measure(self.question, rare, found, states, lexicon, file, self.vector, self.toward)
        return made, np.ones(len(made.blocks)) if ask.by_words else as_answers(self.question, made, states)

    def goes_by_words(self, ask: Ask) -> bool:
        """True for a question by words alone, or in words that say nothing: it gets whatever has one of them."""
        return ask.by_words or not self.question.tells

    def reached(self, ask: Ask, judged: Judged, measured: Measured, found: Candidates) -> frozenset[int]:
        """The candidates that may be answers; none, if not even the best of them reaches its floor."""
        if (judged.fit if self.question.words else 0.0) < judged.floor:
            return frozenset()
        reached = judged.reached
        if self.goes_by_words(ask):
            reached = (measured.covers > 0) | np.array([block in found.text for block in measured.blocks])
        return frozenset(np.flatnonzero(reached).tolist())

    def floors(self, index: IndexFile, ask: Ask, kind: str) -> tuple[Floors, Floors]:
        """The floors for what is asked, and for recall without a frame. A frame's beliefs need not answer."""
        if ask.floor is None and self.goes_by_words(ask):
            return Floors(0.0), Floors(0.0)
        out = len(self.seen.kept_out(ask.scope.user, ask.scope.at))
        if self.vectors is None or ask.scope.at < NOW:
            size = count_of(index, ask.scope.user, ask.scope.at) + count_on(index, ask.scope) - out
        else:
            unseen = invisible_vectors(self.seen, self.vectors, ask.scope) if self.seen.asides else 0
            size = len(self.vectors.file) - unseen - out
        turns = floor_of(kind, size) if ask.floor is None else ask.floor
        beliefs = None if self.goes_by_words(ask) else floor_of_beliefs(kind, size)
        plain = Floors(turns, beliefs if ask.floor is None or beliefs is None else ask.floor)
        return Floors(turns) if ask.frame else plain, plain


def _passes(ask: Ask) -> Visible:
    """The filters of the caller and of the frame, for one source; what a frame guarantees passes the latter."""
    by_caller, filters = ask.filters.passes(), ask.frame.filters if ask.frame else {}
    tags, kinds = tuple(filters.get("tag_patterns") or ()), tuple(filters.get("categories") or ())
    if ask.frame is None or not (tags or kinds):
        return by_caller
    guarantees = ask.frame.guarantees

    def by_frame(source: Source) -> bool:
        own = tags_of(source)
        return bears(own, guarantees) or ((not tags or bears(own, tags)) and (not kinds or source.kind in kinds))

    return lambda source: by_caller(source) and by_frame(source)


def _guaranteed(seen: IndexCache, ask: Ask) -> list[str]:
    """The blocks that the frame guarantees, and those that are always served: all of them, however many."""
    if ask.frame is None:
        return []
    always = (row[0] for row in seen.index.db.execute(sql.ALWAYS, ask.scope.values()))
    return list(dict.fromkeys([*_tagged(seen, ask, ask.frame.guarantees), *filter(None, always)]))


def _tagged(seen: IndexCache, ask: Ask, patterns: Sequence[str]) -> list[str]:
    """Visible blocks that have a tag. Of the past, with the tags that their sources had then."""
    if not patterns or ask.scope.is_nobodys():
        return []
    if not ask.scope.is_wide() or ask.scope.quarantined or not ask.scope.is_main():
        rows = seen.index.db.execute(sql.WITH_TAGS, ask.scope.values())
        return list(dict.fromkeys(block for block, tags in rows if block and bears(orjson.loads(tags), patterns)))
    blocks: dict[str, None] = {}
    for pattern in patterns:
        rows = seen.index.db.execute(sql.TAGGED, (ask.scope.user, pattern))
        blocks.update(dict.fromkeys(row[0] for row in rows))
    heard = seen.view(ask.scope).sources_of(blocks, ask.scope)
    return [block for block in blocks if block in heard]


def _of_the_frame(seen: IndexCache, ask: Ask) -> list[str]:
    """The candidates of a frame for any question: what has its tags; without a question, also what is newest."""
    if ask.frame is None or ask.scope.is_nobodys():
        return []
    patterns = tuple(ask.frame.filters.get("tag_patterns") or ())
    found = _tagged(seen, ask, patterns)[:_TAGGED]
    if not patterns and not ask.question.strip():
        rows = seen.index.db.execute(sql.NEWEST, {**ask.scope.values(), "limit": _RECENT})
        found += [row[0] for row in rows if row[0]]
    return found


def _outside(
    states: dict[str, State], blocks: Sequence[str], ask: Ask, hours: float, guaranteed: Sequence[str]
) -> frozenset[int]:  # fmt: skip
    """The places that a frame's window of active hours does not reach. What fades more slowly is in it longer."""
    window = ask.frame.filters.get("search_window") if ask.frame else None
    if window is None:
        return frozenset()
    last, decay = np.array([(states[block].last, states[block].decay) for block in blocks]).T
    is_outside = hours - last > window * np.maximum(1.0, STANDARD / np.maximum(decay, 1e-9))
    kept = set(guaranteed)
    return frozenset(place for place in np.flatnonzero(is_outside).tolist() if blocks[place] not in kept)


# -- questions as candidates -------------------------------------------------------------------------------------------
# Conversations record questions, and nothing resembles a question more than the same one. A text that only asks, and
# says nothing beyond the question's own words, cannot answer it; it comes after whatever may.

_ONLY_ASKED = 0.1  # what is left of its likeness
_ONLY_NAMES = 0.4
_WHOLLY = 0.99


def taught(each: Reworded, said: Sequence[SourceRow], state: State) -> float:
    """The share of a candidate's likeness that counts, if all it says is that two names are one."""
    is_teaching = any(source.id in each.taught for source in said)
    return _ONLY_NAMES if is_teaching and only_names(state.content, each) else 1.0


def as_answers(question: Question, measured: Measured, states: Mapping[str, State]) -> NDArray[np.float64]:
    """The share of each candidate's likeness that counts: all of it, unless it only asks what is asked."""
    shares = np.ones(len(measured.blocks))
    known = {stem(word) for word in telling(question.asked)}
    for place in np.flatnonzero(measured.signals["asks"] >= _WHOLLY).tolist():
        if known.issuperset(map(stem, telling(states[measured.blocks[place]].content))):
            shares[place] = _ONLY_ASKED
    return shares


# -- paths: the nearest of equal words, and how a path used what it inherits -------------------------------------------


def nearest_alone(found: Candidates, states: Mapping[str, State], scope: Scope) -> None:
    """Of blocks that say the same on several paths, keep the nearest; of those that were merged, the one above."""
    far = {path: place for place, path in enumerate(scope.lineage or (scope.path, ""))}
    nearest: dict[str, tuple[int, str]] = {}
    for block, said in found.sources.items():
        place = min(far.get(source.path, len(far)) for source in said), block
        words = states[block].content.strip().lower()
        nearest[words] = min(place, nearest.get(words, place))
    kept = {block for _, block in nearest.values()}
    for block in [block for block in found.sources if block not in kept]:
        del found.sources[block]
        found.links.pop(block, None)
        found.text.pop(block, None)


def with_use(index: IndexFile, states: dict[str, State], scope: Scope) -> dict[str, State]:
    """The same states, with their use on the paths of the reader: how often, when last, and with what outcome.

    The main line's own is in the states already.
    """
    asked = scope.user, scope.values()["lineage"], _list(states)
    states = dict(states)
    for block, times, last in index.db.execute(sql.USED_ON, asked):
        state = states[block]
        states[block] = state._replace(reinforced=state.reinforced + times, last=max(state.last, last))
    proofs = {source: (good, bad) for _, source, good, bad in index.db.execute(sql.PROVED_ON, asked)}
    if proofs:
        for block, sure in _proved(index, states, proofs).items():
            states[block] = states[block]._replace(confidence=sure)
    return states


def _proved(index: IndexFile, states: Iterable[str], proofs: dict[str, tuple[float, float]]) -> dict[str, float]:
    """The confidence of the blocks whose sources proved right or wrong here."""
    every: dict[str, list[Source]] = {}
    for row in index.db.execute(sql.SOURCES_OF_BLOCKS, (_list(states),)):
        source = Source(*row)
        every.setdefault(source.block_id or "", []).append(source)
    found = {}
    for block, said in every.items():
        if not proofs.keys().isdisjoint(source.id for source in said):
            for source in said:
                good, bad = proofs.get(source.id, (0.0, 0.0))
                source.good, source.bad = source.good + good, source.bad + bad
            speaking = [source for source in said if not source.quarantined] or said
            found[block] = max(source.proved() for source in speaking)
    return found


def proofs_of(
    seen: IndexCache, said: Mapping[str, Sequence[SourceRow]], scope: Scope
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """The good and bad outcomes of using these blocks, on the reader's paths.

    No bad outcome counts against words that are constitutional for any source.
    """
    ids, rows = _list(said), list[tuple[str, float, float]]()
    if seen.has_proofs:
        rows += seen.index.db.execute(sql.PROVED, (ids,))
    if not scope.is_main():
        asked = scope.user, scope.values()["lineage"], ids
        rows += [(block, good, bad) for block, _, good, bad in seen.index.db.execute(sql.PROVED_ON, asked)]
    found: dict[str, tuple[float, float]] = {}
    for block, good, bad in rows:
        before = found.get(block, (0.0, 0.0))
        found[block] = before[0] + good, before[1] + bad
    misled = {block: said[block] for block, (_, bad) in found.items() if bad}
    for block, sources in seen.view(scope).whole(misled, scope).items():
        if any(is_constitutional(source.kind, source.tags) for source in sources):
            found[block] = found[block][0], 0.0
    return found


def invisible_vectors(seen: IndexCache, vectors: Vectors, scope: Scope) -> int:
    """The number of the user's vectors on paths that the reader does not see. Counted once for each state."""
    key = scope.user, scope.paths, len(vectors.file)
    if key not in seen.unseen:
        blocks = [row[0] for row in seen.index.db.execute(sql.INVISIBLE_BLOCKS, key[:2])]
        seen.unseen[key] = int(vectors.file.rows.first_of(blocks)[1].sum()) if blocks else 0
    return seen.unseen[key]


def hidden(index: IndexFile, blocks: Iterable[str], scope: Scope) -> list[NearMiss]:
    """Of the blocks without a visible source: those that would be visible if a nearer path did not say otherwise."""
    if scope.is_main():
        return []
    rows = index.db.execute(sql.HIDDEN, {**scope.values(), "ids": _list(blocks)})
    by = {source: path for source, path in rows if path is not None}
    hits = as_served(index, [(source, 0.0) for source in sorted(by)], scope.user)
    return [NearMiss(hit, f"hidden by path {by[source]!r}, which says otherwise") for source, hit in hits.items()]


def _list(names: Iterable[str]) -> str:
    return orjson.dumps(list(names)).decode()

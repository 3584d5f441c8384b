"""Rules: what moves a candidate up or down for reasons of its own, beside how much it resembles the question.

    fill    once something answers, what is near follows it
    list    what is of the topic, for "tell me about …"
    alias   the same question under other names; applied where candidates are gathered (`pipeline.py`)
    mine    what somebody says of themself, for "what am I …", and how they want things done
    time    what was said, or is due, on the day that the question names
    newer   of two statements of one thing, the newer one
    hop     what names those whom the best name

Each was kept because it helped people of other trades than those it was made with (`bench/first_week.py`). Together
they have a version, which receipts keep; an answer from before there were any is repeated without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import Scope, SourceRow
from tallystick.projections.vectors.rows import steady
from tallystick.recall.hops import by_hops
from tallystick.recall.index_cache import IndexCache
from tallystick.recall.mine import asks_of_oneself, of_oneself, of_wishes
from tallystick.recall.newer import Comparison, newer_first
from tallystick.recall.question import Question
from tallystick.recall.times import at_that_time
from tallystick.recall.topic import of_topic
from tallystick.recall.vectors import Vectors
from tallystick.text.recall_words import stem, telling
from tallystick.text.values import Statement

VERSION = 1
_BY_TIME = 1.0  # of the best score: what the time that a question names is worth


class Ruled(NamedTuple):
    """What came of the rules."""

    scores: NDArray[np.float64]  # the best is as high as it was
    order: list[int]  # the places, best first
    newer: dict[int, int]  # the places that passed an older statement, with its place
    topic: frozenset[int]  # the places that are of the topic, if that is known


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for one question."""

    question: Question
    goes_by: Callable[[str], bool]
    seen: IndexCache
    vectors: Vectors | None
    scope: Scope
    now: datetime

    def over(
        self, scores: NDArray[np.float64], blocks: list[str], sources: Sequence[Sequence[SourceRow]],
        texts: Sequence[str],
    ) -> Ruled:  # fmt: skip
        """Apply all but `fill`, which moves nothing, and `alias`."""
        top, newer, topic = float(scores.max(initial=0.0)), dict[int, int](), frozenset[int]()
        if top <= 0 or not self.question.words:
            return Ruled(scores, in_order(scores, blocks), newer, topic)
        moved = scores.copy()
        if self.question.topic and self.goes_by("list"):
            parts, is_known = of_topic(sources, texts, self._rare(self.question.topic))
            moved += top * parts
            topic = frozenset(np.flatnonzero(parts).tolist()) if is_known else topic
        if self.goes_by("mine"):
            moved += top * of_wishes(self.question.asked, sources)
            if not self.question.names and not self.question.spans and asks_of_oneself(self.question.asked):
                moved += top * of_oneself(sources, texts, self.question.speakers)
        if self.question.spans and self.goes_by("time"):
            moved += _BY_TIME * top * at_that_time(self.question, sources, texts, self.now, self.seen.days)
        order = in_order(moved, blocks)
        if self.goes_by("newer"):
            newer = newer_first(
                self.question, moved, order, sources, lambda places: self._compared(places, blocks, texts),
                self._marked, self.now,
            )  # fmt: skip
            order = in_order(moved, blocks) if newer else order
        if not topic and not self.question.is_when and self.goes_by("hop"):
            moved = by_hops(moved, order, sources, texts, self.question.asked)
            order = in_order(moved, blocks)
        return Ruled(moved * (top / float(moved[order[0]])), order, newer, topic)

    def _marked(self, name: str) -> list[str]:
        """The newer beliefs that say otherwise than one."""
        ledger = self.seen.view(self.scope).ledger
        return [mark.other for mark in ledger.marks(name, self.scope.path, self.scope.at)] if ledger else []

    def _compared(self, places: Sequence[int], blocks: Sequence[str], texts: Sequence[str]) -> Comparison:
        known = self.seen.statements
        for place in places:
            if blocks[place] not in known:
                known[blocks[place]] = Statement.of(texts[place])
        read = {place: known[blocks[place]] for place in places}
        words = {word for place in places for word in telling(texts[place])}
        return Comparison(read, self._nearness([blocks[place] for place in places]), self._rare(words))

    def _rare(self, words: Iterable[str]) -> dict[str, float]:
        """How rare words are, by their stems."""
        spelled = {stem(word): word for word in sorted(words)}
        return dict(zip(spelled, self.seen.rarity(spelled.values(), self.scope), strict=True))

    def _nearness(self, blocks: Sequence[str]) -> NDArray[np.float32]:
        """How near the vectors of some blocks are to one another; 0 without them."""
        near = np.zeros((len(blocks), len(blocks)), dtype=np.float32)
        if self.vectors is not None:
            rows = self.vectors.file.rows.first_of(blocks)[0]
            has = np.flatnonzero(rows >= 0)
            vectors = np.asarray(self.vectors.file.matrix)[rows[has]]
            near[np.ix_(has, has)] = steady(vectors, vectors.T)
        return near


def in_order(scores: NDArray[np.float64], blocks: list[str]) -> list[int]:
    """The places, best first; equal ones in the order of their blocks."""
    order = np.argsort(-scores, kind="stable")
    sorted_scores = scores[order]
    if (sorted_scores[1:] == sorted_scores[:-1]).any():
        order = np.lexsort((np.array(blocks), -scores))
    places: list[int] = order.tolist()
    return places

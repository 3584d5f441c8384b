"""What speaks for each candidate, in numbers from 0 to 1, from the words, the vectors, the speaker and the time.

    words      how much of the question its words cover, those of the turns beside it counting less
    session    how well the best of its conversation covers it
    text       how well full text ranks the best of its conversation
    meaning    how near its vector is, and
    pair       its vector together with that of the turn before
    speaker    said by the one person whom the question names; of a belief, about whom it names (-1: about another)
    date       it happened, or speaks of, when the question says
    when, naming, answers, asks     the form of what was said

A long text is read part by part, and stands or falls with its best part. Nothing here knows a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keepsake.projections.index.block import Source
from keepsake.recall.candidates import Candidates, turn_of
from keepsake.recall.lexicon import Lexicon, Reading
from keepsake.recall.question import Question
from keepsake.recall.text import words as words_of
from keepsake.recall.when import fit, spans_in

SIGNALS = (
    "words", "session", "text", "meaning", "pair", "speaker", "date", "when", "naming", "answers", "asks",
)  # fmt: skip

_POWER = 1.5  # how much less a word counts the less alike it is
_BEFORE, _AFTER = 0.7, 0.35  # how much a word of the question counts in the turn before, and in the one after
_BEST_OF_SESSION = 3

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


class Rows(Protocol):
    """Vectors that are known, by block."""

    @property
    def matrix(self) -> NDArray[np.float32]: ...

    def where(self, blocks: Sequence[str]) -> dict[str, Places]: ...


@dataclass(slots=True)
class Measured:
    """Candidates and their signals. `near` is the bare cosine, and `covers` the bare share of the question's words."""

    blocks: list[str]
    signals: dict[str, Floats]
    near: Floats
    covers: Floats
    part: list[int]  # which part of a long text speaks best


@dataclass(slots=True)
class _Units:
    """Parts of texts in a row: those of the candidates, and then the turns beside them."""

    blocks: list[str]
    block_of: Places  # unit → candidate
    part_of: Places
    before: Places  # unit → the unit of the turn before, or the last one, which is empty
    after: Places
    readings: dict[str, Reading]


def measure(
    question: Question, rarity: Floats, found: Candidates, texts: dict[str, str], lexicon: Lexicon,
    rows: Rows | None, vector: Floats | None,
) -> Measured:  # fmt: skip
    """Every signal of every candidate. `texts` holds the contents of the candidates and of the turns beside them."""
    units = _units(found, lexicon.read(texts.items()))
    share = rarity / max(float(rarity.sum()), 1e-9)
    alike = _alike(question, units, lexicon)
    here = alike[:, : len(units.block_of)]
    around = np.maximum(_BEFORE * alike[:, units.before], _AFTER * alike[:, units.after])
    covered = _with_names(question, rarity, found, units, share @ np.maximum(here, around), texts)
    near, pair = _nearness(units, rows, vector)
    best = _best_parts(units, covered, near)
    sessions = _sessions(found, units.blocks)
    text = np.array([found.text.get(block, 0.0) for block in units.blocks], dtype=np.float32)
    signals = {
        "words": covered[best], "session": _of_session(covered[best], sessions, 1),
        "text": _of_session(_share_of_best(text), sessions), "meaning": _share_of_best(near[best]),
        "pair": _share_of_best(pair[best]),
        "speaker": _speaker(question, found, units.blocks, texts), "date": _date(question, found, units.blocks, texts),
        **_form(question, units, found, best),
    }  # fmt: skip
    bare = (share @ here)[best].astype(np.float32)
    return Measured(units.blocks, signals, near[best], bare, units.part_of[best].tolist())


def _units(found: Candidates, readings: dict[str, Reading]) -> _Units:
    blocks = list(found.sources)
    lone = dict.fromkeys([*found.before.values(), *found.after.values()])
    order = [*blocks, *(block for block in lone if block not in found.sources and block in readings)]
    first: dict[str, int] = {}
    owner: list[int] = []
    part: list[int] = []
    for place, block in enumerate(order):
        first[block] = len(owner)
        count = len(readings[block].parts)
        owner += [place] * count
        part += range(count)
    mine = sum(len(readings[block].parts) for block in blocks)
    nothing = len(owner)

    def beside(links: dict[str, str]) -> Places:
        turns = np.full(mine, nothing, dtype=np.int64)
        for block in blocks:
            other = links.get(block)
            if other in first and readings[block].is_short and readings[other].is_short:
                turns[first[block]] = first[other]
        return turns

    found_units = np.array(owner, dtype=np.int64)
    return _Units(
        order, found_units[:mine], np.array(part, dtype=np.int64), beside(found.before), beside(found.after), readings
    )  # fmt: skip


def _alike(question: Question, units: _Units, lexicon: Lexicon) -> Floats:
    """For each word of the question and each unit, how alike the most similar word there is; the last is empty."""
    parts = [part for block in units.blocks for part in units.readings[block].parts]
    lengths = np.array([len(part.words) for part in parts], dtype=np.int64)
    alike = np.zeros((len(question.words), len(parts) + 1), dtype=np.float32)
    filled = np.flatnonzero(lengths)
    if len(filled) and question.words:
        flat = np.concatenate([parts[place].words for place in filled.tolist()])
        known, places = np.unique(flat, return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(lengths[filled])[:-1]])
        every = lexicon.alike(question.words, known, _POWER)[:, places]
        alike[:, filled] = np.maximum.reduceat(every, starts, axis=1)
    return alike


def _with_names(
    question: Question, rarity: Floats, found: Candidates, units: _Units, covered: Floats, texts: dict[str, str]
) -> Floats:  # fmt: skip
    """Of a belief, whom or what it is about counts as one more word of the question: the rarest of them."""
    if not question.names:
        return covered
    weight = float(rarity.max()) / max(float(rarity.sum()), 1e-9) if len(rarity) else 1.0
    for unit, place in enumerate(units.block_of.tolist()):
        block = units.blocks[place]
        first = found.sources[block][0]
        if first.what == "belief":
            covered[unit] = (covered[unit] + weight * _is_about(question, first, texts[block])) / (1 + weight)
    return covered


def _nearness(units: _Units, rows: Rows | None, vector: Floats | None) -> tuple[Floats, Floats]:
    """The cosine of each unit, and of each unit together with the turn before it."""
    count = len(units.block_of)
    near, pair = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    if rows is None or vector is None:
        return near, pair
    known = rows.where(units.blocks)
    row_of = np.full(len(units.part_of) + 1, -1, dtype=np.int64)
    start = 0
    for block in units.blocks:
        parts = len(units.readings[block].parts)
        there = known.get(block)
        if there is not None:
            row_of[start : start + min(parts, len(there))] = there[:parts]
        start += parts
    has = np.flatnonzero(row_of >= 0)
    vectors = np.zeros((len(row_of), len(vector)), dtype=np.float32)
    vectors[has] = rows.matrix[row_of[has]]
    every = vectors @ vector
    before = units.before
    with_before = np.where(row_of[before] >= 0, (every[:count] + every[before]) / 2, every[:count])
    return every[:count], with_before.astype(np.float32)


def _best_parts(units: _Units, covered: Floats, near: Floats) -> Places:
    """For each candidate the unit that speaks best."""
    mine = units.block_of
    order = np.lexsort((np.arange(len(mine)), -(covered + near), mine))
    first = np.concatenate([[True], mine[order][1:] != mine[order][:-1]])
    units.blocks = units.blocks[: int(mine[-1]) + 1]
    best: Places = order[first]
    return best


def _sessions(found: Candidates, blocks: list[str]) -> Places:
    """A number for each conversation; what was said in none is a conversation of its own, numbered from -1 down."""
    numbers: dict[str, int] = {}
    every = []
    for place, block in enumerate(blocks):
        turn = turn_of(found.sources[block])
        every.append(numbers.setdefault(turn.session, len(numbers)) if turn else -1 - place)
    return np.array(every, dtype=np.int64)


def _of_session(values: Floats, sessions: Places, top: int = _BEST_OF_SESSION) -> Floats:
    """The mean of the best few values of each candidate's conversation; of what stands alone, its own."""
    spoken = sessions >= 0
    found = values.astype(np.float32).copy()
    if not spoken.any():
        return found
    numbers, mine = sessions[spoken], values[spoken]
    order = np.lexsort((-mine, numbers))
    ordered = numbers[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    rank = np.arange(len(ordered)) - np.maximum.accumulate(np.where(first, np.arange(len(ordered)), 0))
    best = rank < top
    total = np.bincount(ordered[best], weights=mine[order][best], minlength=int(numbers.max()) + 1)
    found[spoken] = (total / top)[numbers]
    return found


def _share_of_best(values: Floats) -> Floats:
    top = float(values.max()) if len(values) else 0.0
    if top <= 0:
        return np.zeros_like(values)
    shares: Floats = np.clip(values / top, 0, 1)
    return shares


def _speaker(question: Question, found: Candidates, blocks: list[str], texts: dict[str, str]) -> Floats:
    """Said by the one whom the question names; of a belief: about whom or what it names."""
    if not question.speakers and not question.names:
        return np.zeros(len(blocks), dtype=np.float32)

    def speaks(source: Source, block: str) -> float:
        if source.what == "episode":
            return float(source.agent in question.speakers)
        if _is_about(question, source, texts[block]):
            return 1.0
        return -1.0 if source.about and question.about else 0.0

    return np.array([max(speaks(each, block) for each in found.sources[block]) for block in blocks], dtype=np.float32)


def _is_about(question: Question, source: Source, text: str) -> bool:
    """Whether a belief is about whom or what the question names; without an entity, whether its words name it."""
    if source.about in question.about:
        return True
    said = set(words_of(text))
    return any(name in said or (" " in name and name in text.casefold()) for name in question.names)


def _date(question: Question, found: Candidates, blocks: list[str], texts: dict[str, str]) -> Floats:
    """How well the time of each fits the time that the question names."""
    if not question.spans:
        return np.zeros(len(blocks), dtype=np.float32)
    return np.array([_fits(question, found.sources[block], texts[block]) for block in blocks], dtype=np.float32)


def _fits(question: Question, sources: list[Source], text: str) -> float:
    best = 0.0
    for source in sources[:3]:
        moment = datetime.fromisoformat(source.happened or source.valid_from or source.at)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=question.spans[0].start.tzinfo)
        best = max(best, fit(question.spans, moment))
        if best < 1:
            spoken = [span for span in spans_in(text, moment) if span.grain == "day"]
            best = max([best, *(fit(question.spans, span.start) for span in spoken)])
    return best


def _form(question: Question, units: _Units, found: Candidates, best: Places) -> dict[str, Floats]:
    parts = [units.readings[b].parts[p] for b, p in zip(units.blocks, units.part_of[best].tolist(), strict=True)]
    speakers = {part for b in units.blocks for s in found.sources[b] for part in s.agent.lower().split()}
    replies = [(before := found.before.get(b)) is not None and units.readings[before].asks for b in units.blocks]
    return {
        "when": np.array([p.times for p in parts], np.float32) * float(question.is_when),
        "naming": np.array([bool(p.names - speakers) for p in parts], np.float32) * float(question.is_naming),
        "answers": np.array(replies, np.float32),
        "asks": np.array([p.asked for p in parts], np.float32),
    }

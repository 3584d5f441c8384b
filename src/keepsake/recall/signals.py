"""What speaks for each candidate, in numbers from 0 to 1, from the words, the vectors, the speaker and the time.

    words      how much of the question its words cover, those of the turns beside it counting less
    session    how well the best of its conversation covers it
    text       how often the best of its conversation hold the very words, as BM25 counts them
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
from keepsake.recall.candidates import Candidates
from keepsake.recall.lexicon import Lexicon, Reading
from keepsake.recall.question import Question
from keepsake.recall.text import words as words_of
from keepsake.records.time.when import fit, spans_in

SIGNALS = (
    "words", "session", "text", "meaning", "pair", "speaker", "date", "when", "naming", "answers", "asks",
)  # fmt: skip

_PEOPLE = ("person-", "user-")
_THE_SAME = 0.9999  # alike: one stem
_LESS, _BY_LENGTH, _USUAL_LENGTH = 1.2, 0.75, 12.0  # the usual constants of BM25, and telling words of a usual turn
_BEST_OF_SESSION = 3
_POWER = 1.5  # how much less a word counts the less alike it is
_BEFORE, _AFTER = 0.7, 0.35  # how much a word of the question counts in the turn before, and in the one after

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
    starts: Places  # candidate, or turn beside one → its first unit
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
    alike, held, lengths = _alike(question, units, lexicon)
    mine = len(units.block_of)
    here = alike[:, :mine]
    around = np.maximum(_BEFORE * alike[:, units.before], _AFTER * alike[:, units.after])
    covered = _with_names(question, rarity, found, units, share @ np.maximum(here, around), texts)
    near, pair = _nearness(units, rows, vector)
    best = _best_parts(units, covered, near)
    sessions = _sessions(found, units.blocks)
    text = _share_of_best(_ranked(rarity, held[:, best], lengths[best]))
    signals = {
        "words": covered[best], "session": _of_session(covered[best], sessions),
        "text": _of_session_top(text, sessions), "meaning": _share_of_best(near[best]),
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
    read = [readings[block] for block in order]
    counts = np.array([len(each.parts) for each in read], dtype=np.int64)
    ends = np.cumsum(counts)
    starts, mine, nothing = ends - counts, int(ends[len(blocks) - 1]), int(ends[-1])
    owner = np.repeat(np.arange(len(order)), counts)
    short = {
        block: start for block, start, each in zip(order, starts.tolist(), read, strict=True) if each.is_short
    }  # fmt: skip

    def beside(links: dict[str, str]) -> Places:
        turns = [nothing] * mine
        for block, other in links.items():
            here, there = short.get(block, mine), short.get(other)
            if here < mine and there is not None:
                turns[here] = there
        return np.array(turns, dtype=np.int64)

    part_of = np.arange(nothing) - starts[owner]
    return _Units(order, owner[:mine], part_of, starts, beside(found.before), beside(found.after), readings)


def _alike(question: Question, units: _Units, lexicon: Lexicon) -> tuple[Floats, Floats, Places]:
    """For each word of the question and each unit, how alike the most similar word there is; the last is empty.

    And how often the word itself stands there, in any of its endings; and how many telling words each unit has.
    """
    rows = [part.words for block in units.blocks for part in units.readings[block].parts]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    alike = np.zeros((len(question.words), len(rows) + 1), dtype=np.float32)
    held = np.zeros_like(alike)
    filled = np.flatnonzero(lengths)
    if len(filled) and question.words:
        flat = np.concatenate(rows)
        known, places = _each_once(flat)
        starts = (np.cumsum(lengths) - lengths)[filled]
        every = lexicon.alike(question.words, known, _POWER).take(places, axis=1)
        alike[:, filled] = np.maximum.reduceat(every, starts, axis=1)
        held[:, filled] = np.add.reduceat(every >= _THE_SAME, starts, axis=1)
    return alike, held, lengths


def _ranked(rarity: Floats, held: Floats, lengths: Places) -> Floats:
    """How well each holds the very words: the second time counts less than the first, and so does a longer text."""
    size = _LESS * (1 - _BY_LENGTH + _BY_LENGTH * lengths / _USUAL_LENGTH)
    ranks: Floats = (rarity @ (held * (1 + _LESS) / (held + size))).astype(np.float32)
    return ranks


def _each_once(numbers: Places) -> tuple[Places, Places]:
    """The numbers that occur, in their order, and for each occurrence its place among them. They begin at 0."""
    there = np.zeros(int(numbers.max()) + 1, dtype=np.int64)
    there[numbers] = 1
    place = np.cumsum(there) - 1
    return np.flatnonzero(there), place[numbers]


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
    row_of = _rows_of(units, rows)
    has = np.flatnonzero(row_of >= 0)
    every = np.zeros(len(row_of), dtype=np.float32)
    every[has] = np.asarray(rows.matrix)[row_of[has]] @ vector
    before = units.before
    with_before = np.where(row_of[before] >= 0, (every[:count] + every[before]) / 2, every[:count])
    return every[:count], with_before.astype(np.float32)


def _rows_of(units: _Units, rows: Rows) -> Places:
    """The row in which each unit's vector stands; -1 for one that has none, and for the last, which is empty."""
    row_of = np.full(len(units.part_of) + 1, -1, dtype=np.int64)
    known = rows.where(units.blocks)
    there = [known.get(block) for block in units.blocks]
    places = np.array([place for place, each in enumerate(there) if each is not None], dtype=np.int64)
    if not len(places):
        return row_of
    held = [each for each in there if each is not None]
    counts = np.array([len(each) for each in held], dtype=np.int64)
    flat = np.concatenate(held)
    row_of[units.starts[places]] = flat[np.cumsum(counts) - counts]
    for place in places[counts > 1].tolist():
        start, parts = int(units.starts[place]), len(units.readings[units.blocks[place]].parts)
        mine = known[units.blocks[place]][:parts]
        row_of[start : start + len(mine)] = mine
    return row_of


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
    turns = map(found.turns.get, blocks)
    every = [numbers.setdefault(turn.session, len(numbers)) if turn else -1 - place for place, turn in enumerate(turns)]
    return np.array(every, dtype=np.int64)


def _of_session(values: Floats, sessions: Places) -> Floats:
    """The best value of each candidate's conversation; of what stands alone, its own."""
    spoken = sessions >= 0
    found = values.astype(np.float32)
    if spoken.any():
        best = np.zeros(int(sessions.max()) + 1, dtype=np.float32)
        np.maximum.at(best, sessions[spoken], found[spoken])
        found[spoken] = best[sessions[spoken]]
    return found


def _of_session_top(values: Floats, sessions: Places) -> Floats:
    """The mean of the best few values of each candidate's conversation; what stands alone is one of one."""
    spoken = sessions >= 0
    found: Floats = (values / _BEST_OF_SESSION).astype(np.float32)
    if spoken.any():
        numbers, mine = sessions[spoken], values[spoken]
        order = np.lexsort((-mine, numbers))
        ordered = numbers[order]
        first = np.searchsorted(ordered, ordered)
        best = np.arange(len(ordered)) - first < _BEST_OF_SESSION
        total = np.bincount(ordered[best], weights=mine[order][best], minlength=int(numbers.max()) + 1)
        found[spoken] = (total / _BEST_OF_SESSION)[numbers]
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
        return -1.0 if source.about.startswith(_PEOPLE) else 0.0

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
    read, before = units.readings, found.before
    parts = [read[block].parts[part] for block, part in zip(units.blocks, units.part_of[best].tolist(), strict=True)]
    form = {
        "answers": np.array([block in before and read[before[block]].asks for block in units.blocks], np.float32),
        "asks": np.array([part.asked for part in parts], np.float32),
        "when": np.zeros(len(parts), np.float32), "naming": np.zeros(len(parts), np.float32),
    }  # fmt: skip
    if question.is_when:
        form["when"] = np.array([part.times for part in parts], np.float32)
    if question.is_naming:
        agents = {source.agent for block in units.blocks for source in found.sources[block]}
        speakers = {part for agent in agents for part in agent.lower().split()}
        form["naming"] = np.array([not part.names <= speakers for part in parts], np.float32)
    return form

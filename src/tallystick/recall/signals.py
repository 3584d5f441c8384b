"""Signals of each candidate, as numbers from 0 to 1, from the words, the vectors, the speaker and the time.

    words      how much of the question its words cover, those of the adjacent turns counting less
    session    how well the best of its conversation covers it
    text       how often the best of its conversation have the very words, as BM25 counts them
    meaning    how near its vector is, and
    pair       its vector together with that of the turn before
    speaker    said by the one person whom the question names; of a belief, about whom it names (-1: about another)
    date       it happened, or mentions, when the question says
    when, naming, answers, asks     the form of the text

A long text is read part by part, and its best part counts. Nothing here knows a weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import SourceRow
from tallystick.projections.vectors.file import VectorFile
from tallystick.projections.vectors.rows import steady
from tallystick.recall.candidates import Candidates
from tallystick.recall.index_cache import Link
from tallystick.recall.lexicon import Lexicon, Reading
from tallystick.recall.question import Question, names_someone
from tallystick.recall.support import State
from tallystick.records.entity import is_person
from tallystick.text.dates.find import fit, spans_in
from tallystick.text.recall_words import words as words_of

SIGNALS = ("words", "session", "text", "meaning", "pair", "speaker", "date", "when", "naming", "answers", "asks")

_THE_SAME = 0.9999  # alike: one stem
_LESS, _BY_LENGTH, _USUAL_LENGTH = 1.2, 0.75, 12.0  # the usual constants of BM25, and telling words of a usual turn
_BEST_OF_SESSION = 3
_POWER = 1.5  # how much less a word counts the less alike it is
_BEFORE, _AFTER = 0.7, 0.35  # how much a word of the question counts in the turn before, and in the one after

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


class Rest(NamedTuple):
    """For each candidate: how much of the rest it covers, how near it is to it, and whom it names."""

    covers: Floats
    near: Floats
    others: NDArray[np.bool_]  # the question names somebody, and it names others
    nobody: NDArray[np.bool_]  # the question names somebody, and it names nobody
    alone: NDArray[np.bool_]  # it is a belief


@dataclass(slots=True)
class Measured:
    """Candidates and their signals. `near` is the bare cosine, and `covers` the bare share of the question's words."""

    blocks: list[str]
    signals: dict[str, Floats]
    near: Floats
    covers: Floats
    rest: Rest  # how well a belief answers what is asked of whom the question names


@dataclass(slots=True)
class _Units:
    """Parts of texts in a row: those of the candidates, and then of the adjacent turns."""

    blocks: list[str]  # candidates
    beside: list[str]  # adjacent turns that are no candidates
    readings: list[Reading]  # of both
    owner: Places  # unit → candidate, or adjacent turn
    part_of: Places
    mine: int  # how many units belong to candidates
    before: Places  # candidate's unit → the unit of the turn before, or the last one, which is empty
    after: Places
    links: list[Link | None]  # of the candidates


def measure(
    question: Question, rarity: Floats, found: Candidates, states: Mapping[str, State], lexicon: Lexicon,
    file: VectorFile | None, vector: Floats | None, toward: Floats | None = None,
) -> Measured:  # fmt: skip
    """Every signal of every candidate. `states` has the contents of the candidates and of the adjacent turns.

    `toward` is the vector of the question without the names in it; None: the question's own.
    """
    read = lexicon.read([(block, state.content) for block, state in states.items()])
    units = _units(found, read)
    share = rarity / max(float(rarity.sum()), 1e-9)
    alike, held, lengths = _alike(question, units, lexicon)
    here = alike[:, : units.mine]
    around = np.maximum(_BEFORE * alike[:, units.before], _AFTER * alike[:, units.after])
    covered = _with_names(question, rarity, found, units, steady(np.maximum(here, around).T, share), states)
    near, pair, onward = _nearness(units, file, vector, toward)
    best = _best_parts(units, covered, near)
    numbers: dict[str, int] = {}  # of conversations; a memory outside of any has one of its own, from -1 down
    sessions = np.array([
        numbers.setdefault(link.turn.session, len(numbers)) if link else -1 - place
        for place, link in enumerate(units.links)
    ], dtype=np.int64)  # fmt: skip
    size = _LESS * (1 - _BY_LENGTH + _BY_LENGTH * lengths[best] / _USUAL_LENGTH)
    times = held[:, best]  # BM25: the second time a word occurs counts less than the first, and so does a longer text
    text = _share_of_best(steady((times * (1 + _LESS) / (times + size)).T, rarity).astype(np.float32))
    signals = {
        "words": covered[best], "session": _of_session(covered[best], sessions),
        "text": _of_session_top(text, sessions), "meaning": _share_of_best(near[best]),
        "pair": _share_of_best(pair[best]),
        "speaker": _speaker(question, found, states), "date": _date(question, found, states),
        **_form(question, units, found, read, best),
    }  # fmt: skip
    bare = steady(here[:, best].T, share)
    rest = _rest(question, covers_of_rest(here[:, best], share, question.called), onward[best], found, states)
    return Measured(units.blocks, signals, near[best], bare, rest)


def _rest(
    question: Question, covered: tuple[Floats, NDArray[np.bool_]], near: Floats, found: Candidates,
    states: Mapping[str, State],
) -> Rest:  # fmt: skip
    """Measure how well each belief answers what is asked of whom the question names."""
    alone = np.array([said[0].what == "belief" for said in found.sources.values()], dtype=np.bool_)
    covers, holds = covered
    others, nobody = np.zeros_like(alone), np.zeros_like(alone)
    if question.names or question.called:
        for place, (block, said) in enumerate(found.sources.items()):
            text = states[block].content
            if alone[place] and not holds[place] and not _is_about(question, said[0], text):
                (others if names_someone(text) else nobody)[place] = True
    return Rest(covers, near, others, nobody, alone)


def covers_of_rest(alike: Floats, share: Floats, called: Sequence[int]) -> tuple[Floats, NDArray[np.bool_]]:
    """The share of the question that each candidate covers, without the first name it has; and whether it has one.

    `alike` is a row for each word of the question, and `share` what each of them is worth.
    """
    covered: Floats = steady(alike.T, share).astype(np.float32)
    holds = np.zeros(alike.shape[1], dtype=np.bool_)
    for place in called:
        first = (alike[place] >= _THE_SAME) & ~holds
        left = max(1.0 - float(share[place]), 1e-9)
        covered[first] = np.clip((covered[first] - share[place]) / left, 0, 1)
        holds |= first
    return covered, holds


def _units(found: Candidates, read: dict[str, Reading]) -> _Units:
    blocks = list(found.sources)
    links = [found.links.get(block) for block in blocks]
    order = [*blocks, *(block for block in found.with_beside() if block not in found.sources and block in read)]
    readings = [read[block] for block in order]
    counts = np.array([len(each.parts) for each in readings], dtype=np.int64)
    ends = np.cumsum(counts)
    starts, mine, nothing = ends - counts, int(ends[len(blocks) - 1]), int(ends[-1])
    place = {block: at for at, block in enumerate(order)} | {"": len(order)}
    short = np.array([*(each.is_short for each in readings), False])
    first = np.where(short, np.append(starts, nothing), nothing)  # only a short text lends its words
    borrows = short[: len(blocks)]

    def beside(turns: Iterable[str]) -> Places:
        units = np.full(mine, nothing, dtype=np.int64)
        there = first[[place.get(turn, len(order)) for turn in turns]]
        units[starts[: len(blocks)][borrows]] = there[borrows]
        return units

    owner = np.repeat(np.arange(len(order)), counts)
    before = beside(link.before if link else "" for link in links)
    after = beside(link.after if link else "" for link in links)
    part_of = np.arange(nothing) - starts[owner]
    return _Units(blocks, order[len(blocks) :], readings, owner, part_of, mine, before, after, links)


def _alike(question: Question, units: _Units, lexicon: Lexicon) -> tuple[Floats, Floats, Places]:
    """For each word of the question and each unit, the similarity of the most similar word; the last is empty.

    And how often the word itself occurs there, in any of its endings; and how many telling words each unit has.
    """
    rows = [part.words for reading in units.readings for part in reading.parts]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    alike = np.zeros((len(question.words), len(rows) + 1), dtype=np.float32)
    held = np.zeros_like(alike)
    filled = np.flatnonzero(lengths)
    if len(filled) and question.words:
        flat = np.concatenate(rows)
        there = np.zeros(int(flat.max()) + 1, dtype=np.int64)  # each word once, however often it occurs
        there[flat] = 1
        starts = (np.cumsum(lengths) - lengths)[filled]
        known = lexicon.alike(question.words, np.flatnonzero(there), _POWER)
        every = known.take((np.cumsum(there) - 1)[flat], axis=1)
        alike[:, filled] = np.maximum.reduceat(every, starts, axis=1)
        held[:, filled] = np.add.reduceat(every >= _THE_SAME, starts, axis=1)
    return alike, held, lengths


def _with_names(
    question: Question, rarity: Floats, found: Candidates, units: _Units, covered: Floats, states: Mapping[str, State]
) -> Floats:  # fmt: skip
    """Of a belief, whom or what it is about counts as one more word of the question: the rarest of them."""
    if not question.names:
        return covered
    weight = float(rarity.max()) / max(float(rarity.sum()), 1e-9) if len(rarity) else 1.0
    for unit, place in enumerate(units.owner[: units.mine].tolist()):
        block = units.blocks[place]
        first = found.sources[block][0]
        if first.what == "belief":
            covered[unit] = (covered[unit] + weight * _is_about(question, first, states[block].content)) / (1 + weight)
    return covered


def _nearness(
    units: _Units, file: VectorFile | None, vector: Floats | None, toward: Floats | None
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """The cosine of each unit, and of each unit together with the turn before it; and that to `toward`."""
    count = units.mine
    near, pair = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    if file is None or vector is None:
        return near, pair, near
    first, counts = file.rows.first_of([*units.blocks, *units.beside])
    row_of = np.where(units.part_of < counts[units.owner], first[units.owner] + units.part_of, -1)
    row_of = np.append(row_of, -1)  # -1 for a unit without a vector, and for the last, which is empty
    has = np.flatnonzero(row_of >= 0)
    every = np.zeros(len(row_of), dtype=np.float32)
    vectors = np.asarray(file.matrix)[row_of[has]]
    every[has] = steady(vectors, vector)
    before = units.before
    with_before = np.where(row_of[before] >= 0, (every[:count] + every[before]) / 2, every[:count])
    onward = every
    if toward is not None:
        onward = np.zeros_like(every)
        onward[has] = steady(vectors, toward)
    return every[:count], with_before.astype(np.float32), onward[:count]


def _best_parts(units: _Units, covered: Floats, near: Floats) -> Places:
    mine = units.owner[: units.mine]
    if len(mine) == len(units.blocks):
        return np.arange(len(mine))
    order = np.lexsort((np.arange(len(mine)), -(covered + near), mine))
    first = np.concatenate([[True], mine[order][1:] != mine[order][:-1]])
    best: Places = order[first]
    return best


def _of_session(values: Floats, sessions: Places) -> Floats:
    """The best value of each candidate's conversation; outside of any, its own."""
    spoken = sessions >= 0
    found = values.astype(np.float32)
    if spoken.any():
        best = np.zeros(int(sessions.max()) + 1, dtype=np.float32)
        np.maximum.at(best, sessions[spoken], found[spoken])
        found[spoken] = best[sessions[spoken]]
    return found


def _of_session_top(values: Floats, sessions: Places) -> Floats:
    """The mean of the best few values of each candidate's conversation; outside of any, it is one of one."""
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


def _speaker(question: Question, found: Candidates, states: Mapping[str, State]) -> Floats:
    """1 where the one whom the question names said it; of a belief: where it is about whom or what it names."""
    if not question.speakers and not question.names:
        return np.zeros(len(found.sources), dtype=np.float32)

    def speaks(source: SourceRow, block: str) -> float:
        if source.what == "episode":
            return float(source.agent in question.speakers)
        if _is_about(question, source, states[block].content):
            return 1.0
        return -1.0 if is_person(source.about) else 0.0

    every = [max(speaks(each, block) for each in said) for block, said in found.sources.items()]
    return np.array(every, dtype=np.float32)


def _is_about(question: Question, source: SourceRow, text: str) -> bool:
    """True if a belief is about whom or what the question names; without an entity, if its words name it."""
    if source.about in question.about:
        return True
    said = set(words_of(text))
    return any(name in said or (" " in name and name in text.casefold()) for name in question.names)


def _date(question: Question, found: Candidates, states: Mapping[str, State]) -> Floats:
    """The fit of the time of each to the time that the question names."""
    if not question.spans:
        return np.zeros(len(found.sources), dtype=np.float32)
    every = [_fits(question, said, states[block].content) for block, said in found.sources.items()]
    return np.array(every, dtype=np.float32)


def _fits(question: Question, sources: list[SourceRow], text: str) -> float:
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


def _form(
    question: Question, units: _Units, found: Candidates, read: dict[str, Reading], best: Places
) -> dict[str, Floats]:  # fmt: skip
    parts = [each.parts[part] for each, part in zip(units.readings, units.part_of[best].tolist(), strict=False)]
    answers = [link is not None and link.before != "" and read[link.before].asks for link in units.links]
    form = {
        "answers": np.array(answers, np.float32), "asks": np.array([part.asked for part in parts], np.float32),
        "when": np.zeros(len(parts), np.float32), "naming": np.zeros(len(parts), np.float32),
    }  # fmt: skip
    if question.is_when:
        form["when"] = np.array([part.times for part in parts], np.float32)
    if question.is_naming:
        agents = {source.agent for said in found.sources.values() for source in said}
        speakers = {part for agent in agents for part in agent.lower().split()}
        form["naming"] = np.array([not part.names <= speakers for part in parts], np.float32)
    return form

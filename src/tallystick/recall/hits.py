"""Hits: the words of a block's sources, who said them, and the reason in a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile, must_be_recorded
from tallystick.projections.index.rows import BACK, WITHHELD, Source
from tallystick.projections.index.segmentation import has_no_spaces
from tallystick.recall.filters import tags_of
from tallystick.recall.question import Question
from tallystick.records.recall import Hit
from tallystick.text.recall_words import stem, words

_MOST_WORDS = 6
_ALIKE = 3  # characters with which words of one stem begin
_CLOSE = 0.6  # of the best candidate's nearness
SIGNALS = ("words", "meaning", "speaker", "date")  # the measured signals that mean something by themselves


def said_by(content: str, sources: Iterable[Source]) -> Iterator[tuple[Source, str]]:
    """The words of each source of a block."""
    return ((source, (content if source.said is None else source.said).strip()) for source in sources)


def hits_of(
    question: Question, block: str, content: str, sources: Sequence[Source], score: float,
    signals: dict[str, float], *, is_now: bool = True,
) -> Iterator[Hit]:  # fmt: skip
    """One hit for each spelling: "Password: ABC" is not "password: abc"."""
    spellings: dict[str, list[Source]] = {}
    for source, text in said_by(content, sources):
        spellings.setdefault(text, []).append(source)
    for text, said_so in spellings.items():
        own = [source for source in said_so if not source.echo]
        named = (s for s in own or said_so if s.agent in question.speakers or s.about in question.about)
        first = next(named, (own or said_so)[0])  # whom the question names, else the newest
        rest = [source for source in own if source is not first]
        why = _why(question, text, [first, *rest], signals)
        if is_now and first.sight == WITHHELD:
            why += f"; withheld, because {first.by} is not trusted"
        elif is_now and first.sight == BACK:
            why += "; what took its place is withheld"
        yield _hit(text, score, why, [first, *rest], block, signals)


def _hit(text: str, score: float, why: str, sources: Sequence[Source], block: str, signals: dict[str, float]) -> Hit:
    first = sources[0]
    return Hit(
        _name(first), text, score, why, first.what, first.kind, first.trust, first.about, first.confidence,
        first.happened or first.at, first.since_seq, tuple(map(_name, sources)), signals, first.agent, first.session,
        tags_of(first), block, first.standing > 0, tuple(orjson.loads(first.triple)) if first.triple else (),
        first.by,
    )  # fmt: skip


def _why(question: Question, text: str, sources: Sequence[Source], signals: Mapping[str, float]) -> str:
    first, reasons = sources[0], list[str]()
    if common := _common_words(question, text):
        reasons.append(f"says {', '.join(common)}")
    if signals.get("meaning", 0.0) >= _CLOSE:
        reasons.append("close in meaning")
    if signals.get("speaker", 0.0) > 0:
        reasons.append(f"said by {first.agent}" if first.what == "episode" else "about whom the question names")
    if signals.get("date"):
        reasons.append("at that time")
    if (times := sum(not source.echo for source in sources)) > 1:
        reasons.append(f"said {times} times")
    if first.standing:
        reasons.append("always served" if first.standing > 1 else f"a standing {first.kind}")
    if first.quarantined:
        reasons.append("needs approval")
    return "; ".join(reasons) or "near what answers"


def _common_words(question: Question, text: str) -> list[str]:
    """The words of the question that a text has, in any of their endings."""
    low = text.lower().replace("’", "'")
    near = [word for word in question.words if word[:_ALIKE] in low]
    begin = {word[:_ALIKE] for word in near}
    stems = {stem(word) for word in words(text) if word[:_ALIKE] in begin} if near else set()
    return [word for word in near if stem(word) in stems or (has_no_spaces(word) and word in text)][:_MOST_WORDS]


def _name(source: Source) -> str:
    return source.name or source.id


def as_served(index: IndexFile, hits: Sequence[tuple[str, float]], user: str) -> dict[str, Hit]:
    """The hits of some sources as they were served, by source; those whose words are gone are left out."""
    ids = orjson.dumps([source for source, _ in hits]).decode()
    sources = {row[0]: Source(*row) for row in index.db.execute(sql.SOURCES, (ids,))}
    mine = {name: source for name, source in sources.items() if source.user == user and source.block_id}
    blocks = orjson.dumps([source.block_id for source in mine.values()]).decode()
    contents = {row[0]: row[1] for row in index.db.execute(sql.FREE, (blocks,))}
    found, said = {}, list[tuple[Source, str]]()
    for name, score in hits:
        source = mine.get(name)
        block = source.block_id if source else None
        if source and block is not None and block in contents:
            said.append((source, source.said or contents[block]))
            found[name] = _hit(said[-1][1], score, "as it was served", [source], block, {})
    must_be_recorded(index.ledger, said, is_now=False)
    return found

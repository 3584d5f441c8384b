"""Recall by words: what holds most of the question's words, the rarer ones counting more.

Words that say nothing by themselves are left out of the question, unless it has no others. Each hit tells which of the
words it was found by; what several beliefs or episodes say is one hit with several sources.
"""

from __future__ import annotations

from collections.abc import Iterator

from keepsake.projections.index.block import Source
from keepsake.projections.index.file import IndexFile
from keepsake.projections.index.fulltext import Found, Scope, matching, search, sources_of, words_of
from keepsake.recall.decay import recency, share
from keepsake.records.hit import Hit

_ROOM = 4  # candidates for each hit that is wanted
_LEAST = 40

_SAY_NOTHING = frozenset(
    """
    a about am an and any are as at be been but by can could d did do does for from had has have he her him his how i if
    in into is it its just ll m may me might my no not of on or our re s shall she should so some t than that the their
    them then there these they this those to us ve was we were what when where which who whom whose why will with would
    you your
    """.split()  # noqa: SIM905
)


def by_words(index: IndexFile, question: str, scope: Scope, k: int) -> list[Hit]:
    """At most `k` hits, the best first."""
    every = words_of(question)
    words = [word for word in every if word not in _SAY_NOTHING] or every
    found = search(index, words, scope, max(_LEAST, _ROOM * k))
    if not found:
        return []
    names = [each.block for each in found]
    said = {word: matching(index, word, names) for word in words}
    held = {name: [word for word in words if name in said[word]] for name in names}
    best = sorted(found, key=lambda each: (-len(held[each.block]), each.rank))[:k]
    sources = sources_of(index, [each.block for each in best], scope)
    hours, most = index.bookmark().clock.hours, max(each.reinforced for each in found)
    hits = [
        _hit(text, said_so, held[each.block], _signals(each, len(held[each.block]) / len(words), hours, most))
        for each in best
        for text, said_so in _by_their_words(each, sources[each.block])
    ]
    return hits[:k]


def _signals(found: Found, words: float, hours: float, most: int) -> dict[str, float]:
    """What speaks for a block. The order of hits comes from the words alone."""
    return {
        "words": words, "confidence": found.confidence, "recency": recency(found.decay, hours - found.last),
        "reinforcement": share(found.reinforced, most),
    }  # fmt: skip


def _by_their_words(found: Found, sources: list[Source]) -> Iterator[tuple[str, list[Source]]]:
    """The sources of a block, those together that said it alike: "Password: ABC" is not "password: abc"."""
    said: dict[str, list[Source]] = {}
    for source in sources:
        text = found.content if source.said is None else source.said
        said.setdefault(text.strip(), []).append(source)
    yield from said.items()


def _hit(text: str, sources: list[Source], words: list[str], signals: dict[str, float]) -> Hit:
    first = sources[0]
    why = f"says {', '.join(words)}"
    if len(sources) > 1:
        why += f"; said {len(sources)} times"
    if first.quarantined:
        why += "; waits for a person's yes"
    return Hit(
        _name(first), text, signals["words"], why, first.what, first.kind, first.trust, first.about,
        first.confidence, first.happened or first.at, first.since_seq, tuple(map(_name, sources)), signals,
    )  # fmt: skip


def _name(source: Source) -> str:
    return source.name or source.id

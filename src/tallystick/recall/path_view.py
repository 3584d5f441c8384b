"""What a path makes of what it sees: the nearest of equal words, and how it used what it has from above."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.rows import Source, is_constitutional
from tallystick.projections.index.search import Scope, SourceRow
from tallystick.recall.candidates import Candidates
from tallystick.recall.hits import as_served
from tallystick.recall.index_cache import IndexCache
from tallystick.recall.support import State
from tallystick.recall.vectors import Vectors
from tallystick.records.recall import NearMiss


def nearest_alone(found: Candidates, states: Mapping[str, State], scope: Scope) -> None:
    """Of blocks that say the same on several paths, leave the nearest; of those that were merged, the one above."""
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
    """The same states, with what the paths of the reader did with them: how often used, when last, and what came of it.

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
    """How sure the blocks are whose sources proved right or wrong here."""
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
    """How much good and bad came of using these blocks, as far as the reader's paths have seen it.

    Whoever says it, no bad comes of words that somebody holds as constitutional.
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


def out_of_sight(seen: IndexCache, vectors: Vectors, scope: Scope) -> int:
    """How many of the user's vectors belong to paths that the reader does not see. Counted once for each state."""
    key = scope.user, scope.paths, len(vectors.file)
    if key not in seen.unseen:
        blocks = [row[0] for row in seen.index.db.execute(sql.OUT_OF_SIGHT, key[:2])]
        seen.unseen[key] = int(vectors.first_of(blocks)[1].sum()) if blocks else 0
    return seen.unseen[key]


def hidden(index: IndexFile, blocks: Iterable[str], scope: Scope) -> list[NearMiss]:
    """Of the blocks that nobody says here: those that would be seen, if a nearer path did not say otherwise."""
    if scope.is_main():
        return []
    rows = index.db.execute(sql.HIDDEN, {**scope.values(), "ids": _list(blocks)})
    by = {source: path for source, path in rows if path is not None}
    hits = as_served(index, [(source, 0.0) for source in sorted(by)], scope.user)
    return [NearMiss(hit, f"hidden by path {by[source]!r}, which says otherwise") for source, hit in hits.items()]


def _list(names: Iterable[str]) -> str:
    return orjson.dumps(list(names)).decode()

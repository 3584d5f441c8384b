"""Which beliefs contradict or repeat one another, and which of them to keep.

The better supported one: by trust first, then by how many state it, by its use, and by age. Only beliefs about the same
thing are compared for contradictions, and only those with the same gist for repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from tallystick.projections.index.rows import Source
from tallystick.projections.index.tidy import Kept
from tallystick.records.belief import Belief
from tallystick.records.policy import RANK
from tallystick.records.proposal import CHOOSE, CONTRADICTION, MERGE, REPEAT, Proposal, in_short
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.state import State
from tallystick.text.claims import Conflict, claim_of, conflict, gist

AT_ONCE = 40  # beliefs about one thing, or with one gist: the best supported; the rest comes next time

_SUPPORT = ("it is more trusted", "more say it", "it proved better in use", "it is newer")
# What repeats agree in: one belief in their place must lose nothing of either.
_ALIKE = (
    "kind", "about", "session", "agent", "path", "triple", "valid_from", "valid_to", "expires", "always",
    "is_hypothesis",
)  # fmt: skip


def contradictions(groups: Iterable[list[Kept]], user: str) -> list[Proposal]:
    """Of two that cannot both hold, keep the better supported; the surest contradictions first."""
    found = [(pair.score, _choice(kept, other, pair, user)) for group in groups for kept, other, pair in _pairs(group)]
    return [proposal for _, proposal in sorted(found, key=lambda each: (-each[0], each[1].ids))]


def _pairs(group: list[Kept]) -> Iterator[tuple[Kept, Kept, Conflict]]:
    """Each that is contradicted by a better one that is not contradicted itself."""
    best = sorted(group, key=_support, reverse=True)[:AT_ONCE]
    claims = [claim_of(each.text, tuple(orjson.loads(each.source.triple or "[]"))) for each in best]
    standing: list[int] = []
    for at, claim in enumerate(claims):
        for better in standing:
            against = claims[better]
            is_possible = may_overlap(best[better].source, best[at].source)
            found = conflict(against, claim) if against and claim and is_possible else None
            if found:
                yield best[better], best[at], found
                break
        else:
            standing.append(at)


def _support(kept: Kept) -> tuple[float, ...]:
    source = kept.source
    is_approved = source.approved_seq is not None and not source.borne_out
    trusted = RANK["human"] if is_approved else RANK[source.trust]
    return trusted, kept.said, source.proved(), source.since_seq


def _choice(kept: Kept, other: Kept, found: Conflict, user: str) -> Proposal:
    better = next(why for why, one, two in zip(_SUPPORT, _support(kept), _support(other), strict=True) if one != two)
    return Proposal(
        kind=CONTRADICTION, ids=(kept.source.id, other.source.id), texts=(in_short(kept.text), in_short(other.text)),
        why=f"{in_short(found.why)}; the first is kept because {better}", action=CHOOSE, user=user,
    )  # fmt: skip


def may_overlap(one: Belief | Source, other: Belief | Source) -> bool:
    """Whether there can be a time at which both are true."""
    return not any(
        until and since and until <= since
        for until, since in ((one.valid_to, other.valid_from), (other.valid_to, one.valid_from))
    )


def repeats(known: State, texts: Iterable[tuple[str, str]], user: str) -> Iterator[Proposal]:
    """Beliefs that say the same in nearly the same words, and differ in nothing that would be lost."""
    said: dict[str, list[str]] = {}
    for name, text in texts:
        said.setdefault(gist(text), []).append(name)
    for names in said.values():
        if len(names) > 1:
            yield from _merges(known, names, user)


def _merges(known: State, names: list[str], user: str) -> Iterator[Proposal]:
    """Of beliefs with one gist, those together that agree in everything else."""
    beliefs = [held.belief() for name in names if (held := known.find(name, user=user, short=False))]
    groups: dict[tuple[object, ...], list[Belief]] = {}
    for belief in sorted(beliefs, key=lambda belief: _standing(known, belief), reverse=True):
        shared = (belief.trust, _trust(known, belief), *(getattr(belief, name) for name in _ALIKE))
        groups.setdefault(shared, []).append(belief)
    for first, *others in groups.values():
        alike = [other for other in others if other.data in ({}, first.data) and other.views in ({}, first.views)]
        if alike:
            together = (first, *alike)[:AT_ONCE]
            yield Proposal(
                kind=REPEAT, ids=tuple(belief.id for belief in together),
                texts=tuple(in_short(belief.text) for belief in together),
                why=f"{len(together)} beliefs say the same", action=MERGE, user=user,
            )  # fmt: skip


def _standing(known: State, belief: Belief) -> tuple[float, ...]:
    """The oldest is kept, unless another is more trusted, surer, or has a key that a person gave it."""
    return RANK[_trust(known, belief)], belief.confidence, belief.key != belief.id, -belief.seq


def _trust(known: State, belief: Belief) -> str:
    """Approved by a person counts as stated by one."""
    return "human" if known.reviews.is_approved(belief.id) else belief.trust


def merged(together: Sequence[CurrentVersion]) -> dict[str, Any]:
    """What changes in the first when the others become part of it: it gets the tags and the reasons of all."""
    beliefs, refs = [held.belief() for held in together], {held.ref for held in together}
    found = {
        name: tuple(dict.fromkeys(item for belief in beliefs for item in getattr(belief, name)))
        for name in ("tags", "evidence", "rests_on")
    }
    return {**found, "rests_on": tuple(ref for ref in found["rests_on"] if ref not in refs)}

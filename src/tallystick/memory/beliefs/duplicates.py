"""Which beliefs contradict or repeat one another, and which of them is to be kept.

The better supported one: who said it counts first, then how many say it, then how it proved in use, then that it is
newer. Nothing compares everything with everything: what may contradict shares what it speaks of, and what repeats
shares its gist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from tallystick.projections.index.tidy import Kept
from tallystick.records.belief import Belief
from tallystick.records.policy import RANK
from tallystick.records.proposal import CHOOSE, CONTRADICTION, MERGE, REPEAT, Proposal, in_short
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion
from tallystick.text.claims import Conflict, claim_of, conflict, gist

AT_ONCE = 40  # of those that speak of one thing, or say the same: the best supported; the rest comes next time

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
    """Each that is contradicted by a better one that itself stands."""
    best = sorted(group, key=_support, reverse=True)[:AT_ONCE]
    claims = [claim_of(each.text, _triple(each)) for each in best]
    standing: list[int] = []
    for at, claim in enumerate(claims):
        for better in standing:
            against = claims[better]
            found = conflict(against, claim) if against and claim and _may_clash(best[better], best[at]) else None
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


def _triple(kept: Kept) -> tuple[str, ...]:
    return tuple(orjson.loads(kept.source.triple)) if kept.source.triple else ()


def _may_clash(one: Kept, other: Kept) -> bool:
    """Whether there is a time in the world at which both are said to hold."""
    first, second = one.source, other.source
    return not (_is_over(first.valid_to, second.valid_from) or _is_over(second.valid_to, first.valid_from))


def _is_over(until: str | None, since: str | None) -> bool:
    return bool(until and since and until <= since)


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
    """The oldest goes on, unless another is more trusted, surer, or has a name that a person gave it."""
    return RANK[_trust(known, belief)], belief.confidence, belief.key != belief.id, -belief.seq


def _trust(known: State, belief: Belief) -> str:
    """What a person said yes to is the person's word."""
    return "human" if known.reviews.is_approved(belief.id) else belief.trust


def merged(together: Sequence[CurrentVersion]) -> dict[str, Any]:
    """What changes in the first when the others become part of it: it has the tags and the reasons of all."""
    beliefs, refs = [held.belief() for held in together], {held.ref for held in together}
    found = {
        name: tuple(dict.fromkeys(item for belief in beliefs for item in getattr(belief, name)))
        for name in ("tags", "evidence", "rests_on")
    }
    return {**found, "rests_on": tuple(ref for ref in found["rests_on"] if ref not in refs)}

"""Decisions about deltas: the beliefs that are stated, changed or closed because of one.

A fact is a belief with a triple and a lineage, so a delta comes down to changes of beliefs, and passes the same gate.

- The same claim again corroborates: the lineage grows, and with it the confidence. A source that is trusted less adds
  no weight, nor does an echo of what recall served. A source that is trusted more states it again, in its own words.
- Another object for the same user, agent, subject and predicate replaces the one before, unless the predicate may have
  several, or it happened before the current one: then it is a fact that has ended.
- What was retracted stays retracted: nothing from before brings it back.
- A delta whose episodes made the same claim already changes nothing, whatever became of it since.
- The id in a payload names the fact that it states, also where that replaces another one.
- An unknown name in `replaces` is refused, and nothing of the delta is done.
- A review that is pending or was rejected is not requested again for the same episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.decide.subjects import standing
from tallystick.records.clock import comparable, held_time, stamp
from tallystick.records.display import Displayable
from tallystick.records.errors import MemoryScopeError, NotFound, Refused
from tallystick.records.fact import (
    TRIPLE,
    claims_in,
    has_claimed,
    reason_of,
    sources_in,
    step_of,
    text_of,
    triple_of,
    view_of,
)  # fmt: skip
from tallystick.records.policy import is_above
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.episodes import EpisodeRef
from tallystick.state.state import State

if TYPE_CHECKING:
    from tallystick.records.delta import Delta, DeltaScope
    from tallystick.records.review import Review

Earned = Callable[[int], float]  # number of independent witnesses → confidence

CLOSED = "superseded"


@dataclass(frozen=True, slots=True)
class Evidence(Displayable):
    """The evidence for a delta: its episodes, as far as they are known, the least of their trusts, and when."""

    told: tuple[EpisodeRef, ...]
    trust: str
    happened: str  # the latest of their times
    earned: Earned

    @property
    def sources(self) -> list[str]:
        return [told.source for told in self.told]


class FactChange(NamedTuple):
    """One change: `put` fields, `revise` or `close` a fact with fields, or `note` that nothing changes.

    `name` is the current version: a key may be the first version's id, which may have moved.
    """

    act: str
    fields: dict[str, Any]
    name: str = ""
    reason: str = ""


def plans(known: State, delta: Delta, evidence: Evidence, several: frozenset[str]) -> list[FactChange]:
    """The changes because of a delta, in order; empty if all of it is known."""
    if delta.scope is None:
        raise MemoryScopeError("a delta needs a scope: the user, and agent, of its facts")
    if delta.kind == "noop":
        found = [held for held in _named(known, delta.corroborates, delta.scope) if held.status == "active"]
        if not found:
            return [_note(delta, evidence, "nothing changes")]
        return [plan for held in found for plan in _corroborate(known, held, delta, evidence)]
    if delta.kind == "delete":
        found = _targets(known, delta.replaces, delta.scope)
        return _closed([held for held in found if held.status == "active"], delta, evidence)
    if delta.kind == "add":
        return _add(known, delta, evidence, several)
    return _update(known, delta, evidence, several)


def placed(delta: Delta, owner: str, holders: Callable[[str], Iterable[tuple[str, str]]], path: str = "") -> Delta:
    """The delta with its scope. One without gets the user in its payload, else of its facts, else `owner`.

    `holders` gives the user and agent of the facts of a name.
    """
    from tallystick.records.delta import DeltaScope

    if delta.scope is not None:
        return delta
    payload: dict[str, Any] = getattr(delta, "fact_payload", {})
    for name in ("user", "agent"):
        if not isinstance(payload.get(name, ""), str):
            raise MemoryScopeError(f"{name} in a payload must be a string, not {type(payload[name]).__name__}")
    names = getattr(delta, "replaces", None) or getattr(delta, "corroborates", None)
    names = names or (delta.source_episode_ids if delta.kind == "noop" else [])
    have = [pair for name in names for pair in holders(name) if payload.get("user") in (None, "", pair[0])]
    if len({user for user, _ in have}) > 1:
        raise MemoryScopeError(f"several users have facts named {names[0]!r:.80}; give the delta a scope")
    user, agent = have[0] if have else (payload.get("user") or owner, "")
    scope = DeltaScope(user=user, agent=payload.get("agent", agent), path=path)
    return delta.model_copy(update={"scope": scope})


def given_id(payload: Mapping[str, Any]) -> str:
    """The id that a caller gives a fact in its payload; empty if there is none."""
    name = payload.get("id")
    return str(name) if isinstance(name, str | int) and not isinstance(name, bool) else ""


def must_be_met(unmet: Sequence[str], user: str) -> None:
    """NotFound, if there are unknown names in `replaces`."""
    if unmet:
        names, verb = ", ".join(f"{name!r:.80}" for name in unmet), "names" if len(unmet) == 1 else "name"
        raise NotFound(f"{names} {verb} no fact of {user!r}, nor an episode of one; check `replaces`")


def _add(known: State, delta: Any, evidence: Evidence, several: frozenset[str]) -> list[FactChange]:
    triple, since = triple_of(delta.fact_payload), _since(delta, evidence)
    if not triple:
        return [_put(delta, evidence)]
    rivals = known.claiming(delta.scope.user, delta.scope.path, delta.scope.agent, *triple[:2])
    if _is_known(known, rivals, delta, evidence, triple):
        return []
    same = [held for held in rivals if held.body()["triple"][2] == triple[2]]
    for held in same:
        if held.status == "active" and _lasts(held, since):
            return _corroborate(known, held, delta, evidence)
    gone = [held for held in same if held.status != "active"]
    if gone and _is_of_before(evidence, gone, since):
        return [_note(delta, evidence, "it was retracted, and there is nothing newer", gone)]
    standing = [held for held in rivals if _stands(held, delta)]
    if not standing or triple[1] in several:
        return [_put(delta, evidence)]
    return _replace(known, standing, delta, evidence)


def _update(known: State, delta: Any, evidence: Evidence, several: frozenset[str]) -> list[FactChange]:
    triple, scope = triple_of(delta.fact_payload), delta.scope
    found = _targets(known, delta.replaces, scope, triple)
    if triple:
        rivals = known.claiming(scope.user, scope.path, scope.agent, *triple[:2])
        if _is_known(known, [*found, *rivals], delta, evidence, triple):
            return []
        for held in found:
            if held.status == "active" and tuple(held.body().get("triple", ())) == triple:
                return _corroborate(known, held, delta, evidence)
    elif any(_has_heard(held, delta, evidence) for held in found):
        return []
    standing = [held for held in found if _stands(held, delta)]
    if not standing:  # what it replaces is closed or retracted; its claim may still be new
        return _add(known, delta, evidence, several)
    return _replace(known, standing, delta, evidence)


def _replace(known: State, standing: list[CurrentVersion], delta: Any, evidence: Evidence) -> list[FactChange]:
    """The new fact in place of these and of one with its id; or, if it was before them, as one that has ended."""
    name, scope = given_id(delta.fact_payload), delta.scope
    own = known.find(name, user=scope.user, path=scope.path, short=False) if name else None
    is_own = own is not None and own.status == "active" and known.sees(own, scope.path)
    first, *others = [own, *(held for held in standing if held is not own)] if own and is_own else standing
    since, began = _since(delta, evidence), held_time(first.body().get("valid_from", ""))
    if began and since and since < began:
        ended = _moment(delta.fact_payload, "valid_to")
        return [_put(delta, evidence, until=min(filter(None, (ended, began))))]
    fields = _fields(delta, evidence, before=first)
    if name and own is None and first.path == scope.path:
        fields["key"] = name
    return [_revise(first, fields, delta), *_closed(others, delta, evidence)]


def _closed(found: Iterable[CurrentVersion], delta: Any, evidence: Evidence) -> list[FactChange]:
    closed = []
    for held in found:
        body = held.body()
        until = max(evidence.happened, held_time(body.get("valid_from", "")))
        changes = {"status": CLOSED, "valid_to": until, "views": _views(body, delta, evidence)}
        closed.append(_revise(held, changes, delta, "close"))
    return closed


def _corroborate(known: State, held: CurrentVersion, delta: Any, evidence: Evidence) -> list[FactChange]:
    """One more witness, unless it counts already: for this fact, or for a withdrawn one of the same claim."""
    body = held.body()
    triple = tuple(body.get("triple", ()))
    rivals = known.claiming(held.user, delta.scope.path, body.get("agent", ""), *triple[:2]) if triple else [held]
    if evidence.told and (
        _has_heard(held, delta, evidence) or (triple and _is_known(known, rivals, delta, evidence, triple))
    ):
        return []
    gone = [each for each in rivals if each.status != "active" and tuple(each.body().get("triple", ())) == triple]
    if evidence.told and gone and _is_of_before(evidence, gone, evidence.happened):
        return [_note(delta, evidence, "it is about a time before it was retracted", gone)]
    if evidence.told and all(known.distrusts.is_echo(told.source) for told in evidence.told):
        return [_note(delta, evidence, "it repeats what recall had served", [held])]
    trust = body.get("trust", "human")
    if is_above(trust, evidence.trust):
        return [_note(delta, evidence, "its source is trusted less than the current fact", [held])]
    if is_above(evidence.trust, trust) and delta.kind != "noop":
        fields = _fields(delta, evidence, before=held)
        began = body.get("valid_from", "")
        earlier = began and held_time(began) < fields["valid_from"]
        return [_revise(held, fields | {"valid_from": began} if earlier else fields, delta)]
    before = set(sources_in(body.get("views")))
    sources = (each for each in before | set(evidence.sources) if not known.distrusts.is_echo(each))
    witnesses = [told for source in sources if (told := known.episodes.of(source))]
    firmness = min(1.0, delta.confidence / evidence.earned(1))  # a witness who is not sure counts less
    sure = round(evidence.earned(len({(told.session, told.agent) for told in witnesses})) * firmness, 4)
    changes = {"confidence": max(held.confidence, sure), "views": _views(body, delta, evidence)}
    return [_revise(held, changes, delta)]


def _put(delta: Any, evidence: Evidence, until: str = "") -> FactChange:
    return FactChange("put", _fields(delta, evidence, until=until) | {"reason": reason_of(delta.kind, delta.rule_id)})


def _revise(held: CurrentVersion, changes: dict[str, Any], delta: Any, act: str = "revise") -> FactChange:
    """A change of the current version: a fact's key may be the id of one with older words."""
    return FactChange(act, changes, held.body()["id"], reason_of(delta.kind, delta.rule_id))


def _fields(delta: Any, evidence: Evidence, before: CurrentVersion | None = None, until: str = "") -> dict[str, Any]:
    """A fact as a belief, as sure as the delta says and its witnesses allow. Nothing is kept from the one before."""
    payload, scope = delta.fact_payload, delta.scope
    witnesses = {(told.session, told.agent) for told in evidence.told}
    fields: dict[str, Any] = {
        "text": text_of(payload), "triple": triple_of(payload),
        "confidence": min(float(delta.confidence), evidence.earned(max(len(witnesses), 1))),
        "trust": evidence.trust, "valid_from": _since(delta, evidence),
        "valid_to": until or _moment(payload, "valid_to"), "source_type": "promoted",
        "views": _views(before.body() if before else {}, delta, evidence, payload),
        "agent": before.body().get("agent", "") if before else scope.agent,  # also where nothing else is carried over
    }  # fmt: skip
    if before is None:
        fields |= {"user": scope.user, "path": scope.path}
        if name := given_id(payload):
            fields["key"] = name
    if not fields["text"]:
        raise Refused("a fact needs words: its payload must have a text, a content, or a whole triple", "required")
    return fields


def _views(
    body: dict[str, Any], delta: Any, evidence: Evidence, payload: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The views of a version, with one more step in its lineage. The step of a claim has its triple."""
    views, step = body.get("views") or {}, step_of(delta, evidence.sources)
    claimed = body.get("triple") if payload is None else triple_of(payload)
    if claimed and delta.kind != "delete":
        step |= dict(zip(TRIPLE, claimed, strict=True))
    view = view_of(views) | {"lineage": [step]}
    return {**views, "fact": view if payload is None else view | {"payload": dict(payload)}}


def _note(delta: Any, evidence: Evidence, why: str, about: Iterable[CurrentVersion] = ()) -> FactChange:
    scope: DeltaScope = delta.scope
    body = {"user": scope.user, "agent": scope.agent, "path": scope.path, "step": step_of(delta, evidence.sources)}
    return FactChange("note", {**body, "corroborates": [held.ref for held in about], "why": why})


def _since(delta: Any, evidence: Evidence) -> str:
    return _moment(delta.fact_payload, "valid_from") or evidence.happened


def _moment(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    return comparable(value) if isinstance(value, str) else ""


# -- reading ----------------------------------------------------------------------------------------------------------


def asked_before(known: State, plan: FactChange, evidence: Evidence, user: str) -> Review | None:
    """The review that the same episodes caused, about the same fact or claim, if it was rejected, or is pending and its
    requester is trusted no less."""
    held = known.find(plan.name, user=user, short=False) if plan.name else None
    versions = set(known.ids_of(held)) if held else set[str]()
    for review in known.reviews.because_of(evidence.sources) if evidence.told else ():
        changes, claimed = review.action.changes, plan.fields.get("triple")
        is_same = changes.get("status") == plan.fields.get("status") and not versions.isdisjoint(review.action.target)
        if is_same or (claimed and tuple(changes.get("triple", ())) == tuple(claimed)):
            waits = review.status == "waiting" and not is_above(evidence.trust, review.action.trust)
            if waits or review.status == "rejected":
                return review
    return None


def once(plan: FactChange, delta: Delta, evidence: Evidence) -> str:
    """The idempotency key of a fact, however often its delta comes; empty for one with a triple, which is enough."""
    if plan.fields["triple"]:
        return ""
    content = [evidence.sources or list(delta.source_episode_ids), plan.fields["text"]]
    return f"fact:{sha256(repr(content).encode()).hexdigest()[:32]}"


def is_above_its_asker(known: State, plan: FactChange, delta: Delta, evidence: Evidence) -> bool:
    """True if a plan changes something that is trusted more than its requester."""
    if plan.act == "note" or not plan.name or delta.scope is None:
        return False
    return is_above(standing(known, plan.name, delta.scope.user), evidence.trust)


def _targets(
    known: State, names: Sequence[str], scope: DeltaScope, triple: tuple[str, ...] = ()
) -> list[CurrentVersion]:  # fmt: skip
    met = {name: _named(known, [name], scope, triple) for name in names}
    must_be_met([name for name, found in met.items() if not found], scope.user)
    return list({held.ref: held for found in met.values() for held in found}.values())


def holders(known: State, name: str, user: str, path: str) -> list[tuple[str, str]]:
    """The user and agent of the facts of a name, as a path sees them."""
    from tallystick.records.delta import DeltaScope

    found = _named(known, [name], DeltaScope(user=user, path=path))
    return [(user, held.body().get("agent", "")) for held in found]


def _named(known: State, names: Iterable[str], scope: DeltaScope, triple: tuple[str, ...] = ()) -> list[CurrentVersion]:
    """The facts of these names, as a path sees them: a fact's own name, or that of an episode it comes from.

    A name may be both, and more than one episode's. Then it means those with the same subject and predicate as
    `triple`, if there are any.
    """
    found: dict[str, CurrentVersion] = {}
    for name in names:
        held = known.find(name, user=scope.user, path=scope.path, short=False)
        told = known.episodes.find(scope.user, name)
        sources = [one.source for one in told] or [name]
        coming = [fact for source in sources for fact in known.coming_from(scope.user, source)]
        both = [*([held] if held else []), *coming] if triple else []
        alike = [fact for fact in both if tuple(fact.body().get("triple", ()))[:2] == triple[:2]]
        each = alike or ([held] if held else coming)
        found.update({fact.ref: fact for fact in each if known.sees(fact, scope.path)})
    return list(found.values())


def _stands(held: CurrentVersion, delta: Any) -> bool:
    """True if it is active, and has not ended."""
    return held.status == "active" and _lasts(held, stamp(delta.promotion_ts))


def _lasts(held: CurrentVersion, then: str) -> bool:
    """True if it has not ended by then."""
    until = held.body().get("valid_to", "")
    return not until or held_time(until) > then


def _is_known(
    known: State, rivals: Iterable[CurrentVersion], delta: Any, evidence: Evidence, triple: tuple[str, ...]
) -> bool:  # fmt: skip
    """True if every episode of a delta counts for this claim already, or was noted.

    An episode that is not in this memory goes by its name; while the same fact is active, it adds nothing.
    """
    sources = set(evidence.sources or delta.source_episode_ids)
    for held in rivals:
        body = held.body()
        heard = {source for source, value in claims_in(body.get("views")) if value in ("", triple[2])}
        if all(source in heard or known.rules.is_noted(source, held.ref) for source in sources):
            return True
        if not evidence.told and held.status == "active" and tuple(body.get("triple", ())) == triple:
            return True
    scope: DeltaScope = delta.scope
    for source in sources:  # or a fact took this claim from that episode, and states something else by now
        coming = (held for held in known.coming_from(scope.user, source) if known.sees(held, scope.path))
        if not any(has_claimed(held.body().get("views"), source, triple) for held in coming):
            return False
    return True


def _has_heard(held: CurrentVersion, delta: Any, evidence: Evidence) -> bool:
    """True if the episodes of a delta are in a fact's lineage; by name, if they are not in this memory."""
    return set(evidence.sources or delta.source_episode_ids) <= set(sources_in(held.body().get("views")))


def _is_of_before(evidence: Evidence, gone: Sequence[CurrentVersion], then: str) -> bool:
    """True if no episode of a delta is newer than these retractions, or it is about a time before they ended."""
    latest = max((told.seq for told in evidence.told), default=-1)
    return latest < max(held.seq for held in gone) or any(held.status == CLOSED and _lasts(held, then) for held in gone)

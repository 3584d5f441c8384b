"""What becomes of a delta: which beliefs are stated, changed or closed because of it.

A fact is a belief with a triple and a lineage, so a delta comes down to what can be said of beliefs, and passes the
same gate. What is decided here:

- The same thing said again corroborates: the lineage grows, and with it the confidence. Who is trusted less than what
  stands adds no weight to it.
- Another object for the same user, agent, subject and predicate takes the place of the one before, unless several may
  hold, or it happened before the one that stands: then it is a fact that has ended.
- What was retracted stays retracted: nothing told before brings it back.
- A delta whose episodes are in the lineage already says nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keepsake.records.beliefs import Held
from keepsake.records.book import Book
from keepsake.records.clock import comparable
from keepsake.records.episodes import Told
from keepsake.records.errors import NotFound, Refused
from keepsake.records.lineage import sources_in, step_of, steps_in, text_of, triple_of, view_of
from keepsake.records.policy import is_above

if TYPE_CHECKING:
    from keepsake.records.delta import Delta, DeltaScope

Earned = Callable[[int], float]  # how many independent witnesses → how sure that makes us

CLOSED = "superseded"


class Evidence(NamedTuple):
    """What stands behind a delta: its episodes, as far as they are known, the least of their trusts, and when."""

    told: tuple[Told, ...]
    trust: str
    happened: str  # the latest of their times
    earned: Earned

    @property
    def sources(self) -> list[str]:
        return [told.source for told in self.told]


class Plan(NamedTuple):
    """One thing to be said: `put` fields, `revise` or `close` the fact `name` with fields, or `note` what was seen."""

    act: str
    fields: dict[str, Any]
    name: str = ""
    reason: str = ""


def plans(known: Book, delta: Delta, evidence: Evidence, several: frozenset[str]) -> list[Plan]:
    """What is to be said because of a delta, in order; nothing if all of it is known. Refused, with the reason."""
    if delta.scope is None:
        raise Refused("a delta without a scope is nobody's: give it the user, and the agent, whose facts it changes")
    if delta.kind == "noop":
        return _seen_again(known, delta, evidence)
    if delta.kind == "delete":
        found = _targets(known, delta.replaces, delta.scope)
        return _closed([held for held in found if held.status == "active"], delta, evidence)
    if delta.kind == "add":
        return _add(known, delta, evidence, several)
    return _update(known, delta, evidence)


# -- each kind ---------------------------------------------------------------------------------------------------------


def _add(known: Book, delta: Any, evidence: Evidence, several: frozenset[str]) -> list[Plan]:
    triple, scope = triple_of(delta.fact_payload), delta.scope
    if not triple:
        return [_put(delta, evidence)]
    rivals = known.claiming(scope.user, scope.path, scope.agent, *triple[:2])
    if _is_known(rivals, evidence, triple):
        return []
    same = [held for held in rivals if held.body()["triple"][2] == triple[2]]
    for held in same:
        if held.status == "active":
            return _corroborate(known, held, delta, evidence)
    if same and _is_older(evidence, same):
        return [_note(delta, evidence, "it was retracted, and nothing was told since", same)]
    standing = [held for held in rivals if _stands(held)]
    if not standing or triple[1] in several:
        return [_put(delta, evidence)]
    return _replace(standing, delta, evidence)


def _update(known: Book, delta: Any, evidence: Evidence) -> list[Plan]:
    found = _targets(known, delta.replaces, delta.scope)
    triple = triple_of(delta.fact_payload)
    if triple:
        scope = delta.scope
        rivals = known.claiming(scope.user, scope.path, scope.agent, *triple[:2])
        if _is_known([*found, *rivals], evidence, triple):
            return []
        for held in found:
            if held.status == "active" and tuple(held.body().get("triple", ())) == triple:
                return _corroborate(known, held, delta, evidence)
    standing = [held for held in found if _stands(held)]
    if not standing:  # what it was to replace is closed or retracted; what is new in it may still hold
        return _add(known, delta, evidence, frozenset())
    return _replace(standing, delta, evidence)


def _replace(standing: list[Held], delta: Any, evidence: Evidence) -> list[Plan]:
    """The new in the place of what stands; or, if it happened before that, as a fact that has ended."""
    first, *others = standing
    since = _since(delta, evidence)
    began = first.body().get("valid_from", "")
    if began and since and since < began:
        return [_put(delta, evidence, until=began)]
    plan = Plan("revise", _fields(delta, evidence, before=first), first.key, _reason(delta))
    return [plan, *_closed(others, delta, evidence)]


def _closed(found: Iterable[Held], delta: Any, evidence: Evidence) -> list[Plan]:
    closed = []
    for held in found:
        body = held.body()
        until = max(evidence.happened, body.get("valid_from", ""))
        changes = {"status": CLOSED, "valid_to": until, "views": _views(body, delta, evidence)}
        closed.append(Plan("close", changes, held.key, _reason(delta)))
    return closed


def _seen_again(known: Book, delta: Any, evidence: Evidence) -> list[Plan]:
    found = [held for held in _named(known, delta.corroborates, delta.scope) if held.status == "active"]
    if not found:
        return [_note(delta, evidence, "nothing changes")]
    return [plan for held in found for plan in _corroborate(known, held, delta, evidence)]


def _corroborate(known: Book, held: Held, delta: Any, evidence: Evidence) -> list[Plan]:
    body = held.body()
    before = set(sources_in(body.get("views")))
    if evidence.told and before.issuperset(evidence.sources):
        return []
    if is_above(body.get("trust", "human"), evidence.trust):
        return [_note(delta, evidence, "who says it is trusted less than what stands", [held])]
    witnesses = [told for source in before | set(evidence.sources) if (told := known.episodes.of(source))]
    sure = evidence.earned(len({(told.session, told.agent) for told in witnesses}))
    changes = {"confidence": max(held.confidence, sure), "views": _views(body, delta, evidence)}
    return [Plan("revise", changes, held.key, _reason(delta))]


# -- what is said ------------------------------------------------------------------------------------------------------


def _put(delta: Any, evidence: Evidence, until: str = "") -> Plan:
    return Plan("put", _fields(delta, evidence, until=until))


def _fields(delta: Any, evidence: Evidence, before: Held | None = None, until: str = "") -> dict[str, Any]:
    """A fact as a belief. What a payload leaves out is not taken over from the one before."""
    payload, scope = delta.fact_payload, delta.scope
    said: dict[str, Any] = {
        "text": text_of(payload), "triple": triple_of(payload), "confidence": delta.confidence,
        "trust": evidence.trust, "valid_from": _since(delta, evidence),
        "valid_to": until or _moment(payload, "valid_to"), "source_type": "promoted",
        "views": _views(before.body() if before else {}, delta, evidence, payload),
    }  # fmt: skip
    if before is None:
        said |= {"user": scope.user, "agent": scope.agent, "path": scope.path}
        if isinstance(name := payload.get("id"), str) and name:
            said["key"] = name
    if not said["text"]:
        raise Refused("a fact is said in words: its payload has a text, a content, or a whole triple")
    return said


def _views(
    body: dict[str, Any], delta: Any, evidence: Evidence, payload: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The views of a version, with one more step in its lineage."""
    views = body.get("views") or {}
    view = view_of(views) | {"lineage": [*steps_in(views), step_of(delta, evidence.sources)]}
    return {**views, "fact": view if payload is None else view | {"payload": dict(payload)}}


def _note(delta: Any, evidence: Evidence, why: str, about: Iterable[Held] = ()) -> Plan:
    scope: DeltaScope = delta.scope
    body = {"user": scope.user, "agent": scope.agent, "path": scope.path, "step": step_of(delta, evidence.sources)}
    return Plan("note", {**body, "corroborates": [held.ref for held in about], "why": why})


def _since(delta: Any, evidence: Evidence) -> str:
    return _moment(delta.fact_payload, "valid_from") or evidence.happened


def _moment(payload: dict[str, Any], name: str) -> str:
    said = payload.get(name)
    return comparable(said) if isinstance(said, str) else ""


def _reason(delta: Any) -> str:
    return f"{delta.kind} by rule {delta.rule_id}"


# -- what is known -----------------------------------------------------------------------------------------------------


def _targets(known: Book, names: Sequence[str], scope: DeltaScope) -> list[Held]:
    found = _named(known, names, scope)
    if not found:
        raise NotFound(f"{names[0]!r} names no fact of {scope.user!r}, and no episode that one comes from")
    return found


def _named(known: Book, names: Iterable[str], scope: DeltaScope) -> list[Held]:
    """The facts that names name, of that user and path: a fact's own, or an episode's, for what comes from it."""
    found: dict[str, Held] = {}
    for name in names:
        held = known.find(name, user=scope.user, path=scope.path, short=False)
        told = () if held else known.episodes.find(scope.user, name)
        each = [held] if held else [fact for one in told for fact in known.coming_from(scope.user, one.source)]
        found.update({fact.ref: fact for fact in each if fact.path == scope.path})
    return list(found.values())


def _stands(held: Held) -> bool:
    """Whether it is held, and has not ended."""
    return held.status == "active" and not held.body().get("valid_to")


def _is_known(rivals: Iterable[Held], evidence: Evidence, triple: tuple[str, ...]) -> bool:
    """Whether every episode behind a delta has been taken into account for this claim already."""
    if not evidence.told:
        return any(held.status == "active" and tuple(held.body()["triple"]) == triple for held in rivals)
    sources = set(evidence.sources)
    return any(sources.issubset(sources_in(held.body().get("views"))) for held in rivals)


def _is_older(evidence: Evidence, closed: Iterable[Held]) -> bool:
    """Whether nothing behind a delta was told after these were closed."""
    latest = max((told.seq for told in evidence.told), default=-1)
    return latest < max(held.seq for held in closed)

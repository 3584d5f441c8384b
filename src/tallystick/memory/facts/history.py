"""What facts were, read from the ledger: every version, until when each was true, and by which it was replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tallystick.records.belief import Belief
from tallystick.records.clock import held_time
from tallystick.records.event import Event
from tallystick.records.fact import Fact
from tallystick.records.fact_view import fact_of, view_of
from tallystick.records.policy import is_above
from tallystick.state.beliefs import Beliefs


def of_facts(events: Iterable[Event], user: str, last: int | None = None) -> dict[str, list[Belief]]:
    """Of each fact of a user, by its identity, all versions, oldest first. None after event `last` is read."""
    known, found = Beliefs(), dict[str, list[Belief]]()
    for event in events:
        if last is not None and event.seq > last:
            break
        if event.body is None or not known.knows(event.op):
            continue
        known.apply(event)
        said = event.body.get("belief", {})
        path, name = said.get("path", ""), said.get("id") or event.body.get("id", "")
        held = known.find(name, user=said.get("user", user), path=path, short=False) if name else None
        if held is not None and held.user == user:
            belief = held.belief()
            if held.ref in found or belief.triple or view_of(belief.views):
                found.setdefault(held.ref, []).append(belief)
    return found


def seen_from(path: str, known: Beliefs, found: dict[str, list[Belief]]) -> dict[str, list[Belief]]:
    """Those of the facts that are seen from a path. One of a branch's own began as the ancestor's it was made from."""
    seen = {}
    for ref, versions in found.items():
        held = known.version(ref)
        if held is None or known.sees(held, path):
            seen[ref] = [*_begun(known, ref, found), *versions]
    return seen


def _begun(known: Beliefs, ref: str, found: dict[str, list[Belief]]) -> list[Belief]:
    """The versions of the ancestors' from which a branch's belief was made, oldest first."""
    begun: list[Belief] = []
    while base := known.version(next(iter(known.links.over(ref)), "")):
        versions, name = found.get(base.ref, []), known.links.over(ref)[0]
        upto = next((at for at, belief in enumerate(versions) if belief.id == name), -1)
        begun, ref = [*versions[: upto + 1], *begun], base.ref
    return begun


def chained(versions: list[Belief]) -> list[Fact]:
    """Versions as facts: each that was replaced says by which, and until when it was true."""
    facts = []
    for number, belief in enumerate(versions):
        after = versions[number + 1] if number + 1 < len(versions) else None
        until = "" if after is None or _says_the_same(belief, after) else after.valid_from
        facts.append(fact_of(belief, superseded_by=after.id if after else "", until=until))
    return facts


def true_once(found: Iterable[list[Belief]], several: frozenset[str]) -> list[Fact]:
    """The versions that were true for some time, as far as is held now, each until the next took its place.

    What was told late ends what was true before it, if only one value holds at a time; but nobody ends what is trusted
    more.
    """
    true = [pair for each in found for pair in _true_of(each)]
    begins: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for belief, _ in true:
        if belief.triple and belief.valid_from:
            begins.setdefault(_claim(belief), []).append((held_time(belief.valid_from), belief.trust))
    return [
        _ended(belief, fact, begins[_claim(belief)])
        if belief.triple and belief.valid_from and fact.valid_to and belief.triple[1] not in several else fact
        for belief, fact in true
    ]  # fmt: skip


def _true_of(versions: list[Belief]) -> list[tuple[Belief, Fact]]:
    """The versions of one fact that were true. What was retracted never was; what was replaced by something that is
    true from no later on was put right, and never was either."""
    if versions[-1].status not in ("active", "superseded"):
        return []
    different = [
        belief for belief, after in zip(versions, [*versions[1:], None], strict=True)
        if after is None or not _says_the_same(belief, after)
    ]  # fmt: skip
    facts = []
    for belief, after in zip(different, [*different[1:], None], strict=True):
        if after is None:
            facts.append((belief, fact_of(belief)))
        elif after.valid_from and held_time(after.valid_from) > held_time(belief.valid_from or ""):
            ended = min(filter(None, (belief.valid_to, after.valid_from)), key=held_time)
            facts.append((belief, fact_of(belief, superseded_by=after.id, until=ended)))
    return facts


def _ended(belief: Belief, fact: Fact, begins: list[tuple[str, str]]) -> Fact:
    since, until = held_time(belief.valid_from), held_time(fact.valid_to)
    between = [began for began, trust in begins if since < began < until and not is_above(belief.trust, trust)]
    return replace(fact, valid_to=min(between)) if between else fact


def _claim(belief: Belief) -> tuple[str, ...]:
    return belief.path, belief.agent, *belief.triple[:2]


def _says_the_same(one: Belief, other: Belief) -> bool:
    return (one.text, one.triple) == (other.text, other.triple)

"""What facts were, read from the ledger: every version, until when each was true, and by which it was replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from keepsake.records.belief import Belief
from keepsake.records.beliefs import Beliefs
from keepsake.records.clock import comparable
from keepsake.records.event import Event
from keepsake.records.fact import Fact
from keepsake.records.lineage import fact_of, view_of


def of_facts(
    events: Iterable[Event], user: str, is_by: Callable[[Event], bool] | None = None
) -> dict[str, list[Belief]]:
    """Of each fact of a user, by its identity, all versions, oldest first. `is_by` says where to stop reading."""
    known, found = Beliefs(), dict[str, list[Belief]]()
    for event in events:
        if is_by is not None and not is_by(event):
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


def chained(versions: list[Belief]) -> list[Fact]:
    """Versions as facts: each that was replaced says by which, and until when it was true."""
    facts = []
    for number, belief in enumerate(versions):
        after = versions[number + 1] if number + 1 < len(versions) else None
        until = "" if after is None or _says_the_same(belief, after) else after.valid_from
        facts.append(fact_of(belief, superseded_by=after.id if after else "", until=until))
    return facts


def true_once(versions: list[Belief]) -> list[Fact]:
    """The versions that were true for some time, as far as is held now, each until the next took its place.

    What was retracted never was. What was replaced by something that is true from no later on was put right, and never
    was either.
    """
    if versions[-1].status not in ("active", "superseded"):
        return []
    different = [
        belief for belief, after in zip(versions, [*versions[1:], None], strict=True)
        if after is None or not _says_the_same(belief, after)
    ]  # fmt: skip
    facts = []
    for belief, after in zip(different, [*different[1:], None], strict=True):
        if after is None:
            facts.append(fact_of(belief))
        elif after.valid_from and comparable(after.valid_from) > comparable(belief.valid_from or ""):
            ended = min(filter(None, (belief.valid_to, after.valid_from)), key=comparable)
            facts.append(fact_of(belief, superseded_by=after.id, until=ended))
    return facts


def _says_the_same(one: Belief, other: Belief) -> bool:
    return (one.text, one.triple) == (other.text, other.triple)

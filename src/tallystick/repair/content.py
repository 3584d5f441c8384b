"""What is wrong with what the events say of one another, as findings.

It is asked of a ledger that is whole. Where lines are damaged, or events are not here, a name may lead to nothing for
that reason alone; then nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.repair import references as links
from tallystick.repair.findings import Finding, found
from tallystick.repair.references import Loose, Round, Spot
from tallystick.repair.scan import Survey

_LONGEST = 64  # characters of a name

_KINDS = {
    links.MEMORY: "", links.EPISODES: "the episode ", links.REVIEW: "the review ", links.RULES: "the rule ",
    links.PATHS: "the path ", links.NODES: "the node ",
}  # fmt: skip
_SAYS = {
    links.RESTS: "{by} rests on {what}, which no event brought",
    links.REPLACES: "{by} takes the place of {what}, which no event brought",
    links.EVIDENCE: "{by} names {what}, which is not in this memory",
    links.ORPHAN: "{by} speaks of {what}, which no event brought",
    links.PATH: "{by} speaks of {what}, which nobody branched",
    links.EDGE: "the edge {by} leads to {what}, which is not there",
}
_LEADS = {
    links.REST_RING: "beliefs that rest on one another",
    links.REPLACE_RING: "versions that replace one another",
    links.PATH_RING: "paths that descend from one another",
    links.NODE_RING: "nodes that were merged into one another",
}


def is_whole(seen: Survey) -> bool:
    """Whether everything that was ever said can be read here."""
    return not (seen.flaws or seen.gaps or seen.unreadable) and seen.living is not None


def findings(seen: Survey) -> Iterator[Finding]:
    """What leads to nothing, and what leads round."""
    if is_whole(seen):
        yield from (_loose(each) for each in seen.links.loose(seen.state))
        yield from (_round(each) for each in seen.links.rounds(seen.state))


def _loose(each: Loose) -> Finding:
    what = _KINDS[each.kind] + _short(each.name)
    text = _SAYS[each.code].format(by=_short(each.by), what=what)
    return found(each.code, place_of(each.spot), f"event {each.spot.seq}: {text}")


def _round(each: Round) -> Finding:
    return found(each.code, place_of(each.spot), f"event {each.spot.seq}: {_LEADS[each.code]}: {each.ring.shown()}")


def place_of(spot: Spot) -> str:
    """Where an event stands, as a person says it."""
    inside = spot.path.name if spot.path.parent.name != "sealed" else f"sealed/{spot.path.name}"
    return f"{inside}, line {spot.line}, byte {spot.offset}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"

"""What statements say otherwise than older ones, as it was decided when they were recorded, folded from events.

    belief.put/1, belief.supersede/1
        {…, "compared": {"rules": the version of the rules, "marks": [
            {"id": an older version, "kind": "outdated" or "conflict", "was": [from, to], "now": [from, to]}, …]}}

"was" and "now" are places in the words of the older and of the newer one: no words are kept. What the rules found was
recorded with the statement, so newer rules change nothing that was said before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tallystick.records.belief import CORRECTS, OUTDATED, Mark
from tallystick.records.event import Event
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE, ERASE
from tallystick.state.beliefs import Beliefs, CurrentVersion
from tallystick.state.tables import TUPLE, Part, Table, Tables, follows

COMPARED = "compared"  # in the body of an event

Found = tuple[str, list[int], list[int]]  # the kind, and the places in the older and in the newer words


def _found(mark: dict[str, Any]) -> Found:
    return mark["kind"], mark["was"], mark["now"]


def _agrees(key: tuple[str, str], found: Found, events: Sequence[Event]) -> bool:
    body = events[-1].body or {}
    marks = body.get(COMPARED, {}).get("marks", ())
    is_newer = body.get("belief", {}).get("id") == key[1]
    return is_newer and any(each["id"] == key[0] and _found(each) == found for each in marks)


class Comparisons(Part):
    """The marks of pairs of versions."""

    def declare(self, tables: Tables) -> None:
        self._marks: Table[Found] = tables.kept("compared", TUPLE, _agrees)  # (older, newer)
        self._newer: Table[str] = tables.kept("compared.newer")  # (newer, older) → ""

    @follows(BELIEF_PUT, BELIEF_SUPERSEDE)
    def _compare(self, _: Event, body: dict[str, Any]) -> None:
        for mark in body.get(COMPARED, {}).get("marks", ()):
            self._marks.set((mark["id"], body["belief"]["id"]), _found(mark))
            self._newer.set((body["belief"]["id"], mark["id"]), "")

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            pairs = [(name, newer) for _, newer in self._marks.ever(name)]
            pairs += [(older, name) for _, older in self._newer.ever(name)]
            for older, newer in pairs:
                self._marks.erase((older, newer))
                self._newer.erase((newer, older))

    def has_any(self) -> bool:
        """Whether anything was ever marked, as far as is known now."""
        return self._marks.count(most=1) > 0

    def of(self, known: Beliefs, held: CurrentVersion) -> Iterator[tuple[CurrentVersion, Mark]]:
        """What other beliefs say otherwise than one, as long as both are believed in these words."""
        for version in known.ids_of(held):
            for (_, newer), (kind, was, now) in self._marks.under(version):
                if other := _in_these_words(known, version, held, newer):
                    yield other, _mark(kind, held, was, other, now)
            for (_, older), _ in self._newer.under(version):
                found = self._marks.get((older, version))
                if found and (other := _in_these_words(known, version, held, older)):
                    kind, was, now = found
                    yield other, _mark(CORRECTS if kind == OUTDATED else kind, held, now, other, was)


def _in_these_words(known: Beliefs, version: str, held: CurrentVersion, name: str) -> CurrentVersion | None:
    """The other belief, if both are current in the words that were compared."""
    other = known.version(name)
    if other is None or other.user != held.user or other.ref == held.ref:
        return None
    if not held.status == other.status == "active":
        return None
    return None if known.read_before(name, other) or known.read_before(version, held) else other


def _mark(kind: str, held: CurrentVersion, here: list[int], other: CurrentVersion, there: list[int]) -> Mark:
    one, two = held.belief(), other.belief()
    return Mark(kind, two.id, one.text[slice(*here)].strip(), two.text[slice(*there)].strip())

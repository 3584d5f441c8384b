"""Episodes become deltas in the light of what is held: what is new, what is said again, and what takes another's place.

What an episode's metadata says outright goes first; what a reader makes of its words comes after. A claim is compared
with the facts of the same user, agent, path, subject and predicate, and with what the same run has made of episodes
before it:

    nothing stands                       AddDelta
    the same stands                      NoopDelta that corroborates it; UpdateDelta, if a more trusted one says it
    another object stands                UpdateDelta, or AddDelta if several may hold
    it is denied, and stands             DeleteDelta
    it is denied, and nothing stands     NoopDelta
    nothing is claimed, with a reader    NoopDelta; without one, AddDelta with the words as they are

An episode that is not worth it, or that its teller marks so, is a NoopDelta: seen, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from tallystick.consolidate.classify import Nonsense, Run, key_of, triple_in, what_of
from tallystick.consolidate.confidence import earned
from tallystick.records.clock import stamp
from tallystick.records.delta import (
    AddDelta,
    DeleteDelta,
    Delta,
    DeltaScope,
    NoopDelta,
    UpdateDelta,
    check_provenance,
)
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.extraction import Extracted, Extractor, Malformed
from tallystick.records.policy import is_above
from tallystick.records.rule import ConsolidationRule


class CurrentFact(NamedTuple):
    """A fact that stands: its id, or that of the episode that it will come from; its object; what it comes from, and
    which object that claimed; since when, and on whose word."""

    name: str
    object: str
    claims: frozenset[tuple[str, str]] = frozenset()
    since: str = ""
    trust: str = "human"


Holding = Callable[[DeltaScope, str, str], list[CurrentFact]]  # the facts of a subject and predicate that stand
Worth = Callable[[Episode], bool]


class ReadAhead:
    """What a reader found, at hand: it may be slow, and whoever weighs may hold a lock.

    An episode that it cannot read is a finding. A reader that cannot be reached (Busy) ends the run.
    """

    def __init__(self, reader: Extractor, episodes: Iterable[Episode]) -> None:
        self.name, self._reader = reader.name, reader
        self._found = {episode.seq: self._read(episode) for episode in episodes if _is_to_be_read(episode)}

    def _read(self, episode: Episode) -> list[Extracted] | str:
        try:
            return self._reader.extract(episode)
        except Refused as error:
            return f"{self.name} could not read it: {error}"

    def extract(self, episode: Episode) -> list[Extracted]:
        found = self._found.get(episode.seq, [])
        if isinstance(found, str):
            raise Nonsense(found)
        return found


def _is_to_be_read(episode: Episode) -> bool:
    """Whether its metadata leaves it to a reader what is claimed."""
    said = episode.metadata
    return said.get("intent") in (None, "add") and not (said.get("subject") and said.get("predicate"))


class Weigher:
    """One run of a rule over episodes, oldest first."""

    def __init__(
        self,
        rule: ConsolidationRule,
        held: Holding,
        *,
        now: datetime,
        several: frozenset[str] = frozenset(),
        reader: Extractor | None = None,
        is_worth: Worth = lambda _: True,
        is_applied: bool = False,
    ) -> None:
        """`is_applied`, if each delta is applied before the next one is asked for: then what is held tells all."""
        self._run, self._is_applied = Run(rule, now, several), is_applied
        self._held, self._several, self._reader, self._is_worth = held, several, reader, is_worth
        self._stands: dict[tuple[str, ...], list[CurrentFact]] = {}

    def deltas(self, episode: Episode) -> Iterator[Delta | Malformed]:
        """What an episode proposes. One that makes no sense is a finding."""
        try:
            found = self._deltas(episode)
        except Nonsense as reason:
            yield Malformed(episode.id, str(reason))
            return
        for delta in found:
            check_provenance(delta)
            yield delta

    def _deltas(self, episode: Episode) -> Iterable[Delta]:
        intent = episode.metadata.get("intent")
        if intent not in (None, "add"):
            return [self._run.delta(episode)]
        triple = triple_in(episode.metadata)
        if not self._is_worth(episode):
            return [NoopDelta(**self._run.provenance(episode, 1))]
        if (key := key_of(episode, triple)) is not None:
            payload = {"content": episode.content, **triple, "object": what_of(episode, triple)}
            return [self._weighed(episode, key, payload, self._run.provenance(episode, 1))]
        if self._reader is None:
            return [self._run.delta(episode)]
        found = [self._read(episode, each) for each in self._reader.extract(episode)]
        return found or [NoopDelta(**self._run.provenance(episode, 1))]

    def _read(self, episode: Episode, found: Extracted) -> Delta:
        """What a reader found, as a delta, with the words that say it."""
        payload = {
            "subject": found.subject, "predicate": found.predicate, "object": found.object,
            "quote": episode.content[found.start : found.end],
        }  # fmt: skip
        payload |= {name: said for name in ("valid_from", "valid_to") if (said := getattr(found, name))}
        sure = earned(trust=episode.trust, witnesses=1, hedged=found.is_hedged, extractor=found.confidence)
        said = {**self._run.provenance(episode, 1), "confidence": sure}
        key = (episode.user, episode.agent, episode.path, found.subject, found.predicate)
        if found.is_denied:
            return self._denied(episode, key, found.object, said)
        return self._weighed(episode, key, payload, said, found.instead_of)

    def _weighed(
        self, episode: Episode, key: tuple[str, ...], payload: dict[str, Any], said: dict[str, Any], before: str = ""
    ) -> Delta:
        stands, value = self._standing(key), payload["object"]
        same = [each for each in stands if each.object == value or _is_in(episode, value, each)]
        poorer = [each for each in same if is_above(episode.trust, each.trust) and not _is_in(episode, value, each)]
        if same and not poorer:  # or it was taken into account before, and something else took its place since
            return NoopDelta(**said, corroborates=[each.name for each in same])
        gone = [each for each in stands if each.object == before] if key[-1] in self._several else stands
        gone = poorer or gone
        if not any(is_above(each.trust, episode.trust) for each in gone):  # or it will wait for a person's yes
            self._stands[key] = [*(each for each in stands if each not in gone), _new(episode, value)]
        if gone:
            return UpdateDelta(**said, fact_payload=payload, replaces=[each.name for each in gone])
        return AddDelta(**said, fact_payload=payload)

    def _denied(self, episode: Episode, key: tuple[str, ...], value: str, said: dict[str, Any]) -> Delta:
        """It closes what was true when it was said, not what has become true since."""
        stands, then = self._standing(key), stamp(episode.timestamp)
        gone = [each for each in stands if each.object == value and each.since <= then]
        if not gone:
            return NoopDelta(**said)
        if not any(is_above(each.trust, episode.trust) for each in gone):
            self._stands[key] = [each for each in stands if each not in gone]
        return DeleteDelta(**said, replaces=[each.name for each in gone])

    def _standing(self, key: tuple[str, ...]) -> list[CurrentFact]:
        """What stands, as far as this run has come."""
        if self._is_applied or key not in self._stands:
            user, agent, path, subject, predicate = key
            self._stands[key] = self._held(DeltaScope(user=user, agent=agent, path=path), subject, predicate)
        return self._stands[key]


def _new(episode: Episode, value: str) -> CurrentFact:
    return CurrentFact(episode.id, value, since=stamp(episode.timestamp), trust=episode.trust)


def _is_in(episode: Episode, value: str, standing: CurrentFact) -> bool:
    """Whether a fact comes from this claim of an episode, whatever it says now."""
    return bool(episode.source) and not standing.claims.isdisjoint({(episode.source, value), (episode.source, "")})

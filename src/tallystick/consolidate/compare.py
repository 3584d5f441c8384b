"""Deltas from episodes, compared with the current facts: what is new, what repeats, and what replaces another.

An episode's metadata goes first; what a reader finds in its words comes after. A claim is compared with the facts of
the same user, agent, path, subject and predicate, and with what the same run has made of episodes before it:

    no current fact                      AddDelta
    the same object                      NoopDelta that corroborates it; UpdateDelta, if the source is more trusted
    another object                       UpdateDelta, or AddDelta if several may hold
    it is denied, and is current         DeleteDelta
    it is denied, and no fact            NoopDelta
    nothing is claimed, with a reader    NoopDelta; without one, AddDelta with the words as they are

An episode that is not worth it, or that is marked so, is a NoopDelta: considered, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from tallystick.consolidate.classify import Nonsense, Run, key_of, triple_in, value_of
from tallystick.consolidate.confidence import earned
from tallystick.records.clock import stamp
from tallystick.records.delta import AddDelta, DeleteDelta, Delta, DeltaScope, NoopDelta, UpdateDelta, check_provenance
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.policy import is_above
from tallystick.records.rule import ConsolidationRule, Extracted, Extractor, Malformed


class CurrentFact(NamedTuple):
    """A current fact: its id, or that of the episode it will come from; its object; the episodes it comes from, and the
    object each claimed; since when, and the trust of its source."""

    name: str
    object: str
    claims: frozenset[tuple[str, str]] = frozenset()
    since: str = ""
    trust: str = "human"


Holding = Callable[[DeltaScope, str, str], list[CurrentFact]]  # the current facts of a subject and predicate
Worth = Callable[[Episode], bool]


class ReadAhead:
    """An extractor that has read the episodes already: it may be slow, and the caller may hold a lock.

    An episode that it cannot read is a finding. A reader that cannot be reached (Busy) ends the run.
    """

    def __init__(self, reader: Extractor, episodes: Iterable[Episode]) -> None:
        self.name = reader.name
        self._found: dict[int, list[Extracted] | str] = {}
        for episode in episodes:
            metadata = episode.metadata
            if metadata.get("intent") in (None, "add") and not (metadata.get("subject") and metadata.get("predicate")):
                try:
                    self._found[episode.seq] = reader.extract(episode)
                except Refused as error:
                    self._found[episode.seq] = f"{self.name} could not read it: {error}"

    def extract(self, episode: Episode) -> list[Extracted]:
        found = self._found.get(episode.seq, [])
        if isinstance(found, str):
            raise Nonsense(found)
        return found


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
        """`is_applied`, if each delta is applied before the next one is asked for: then `held` knows it already."""
        self._run, self._is_applied = Run(rule, now, several), is_applied
        self._held, self._several, self._reader, self._is_worth = held, several, reader, is_worth
        self._stands: dict[tuple[str, ...], list[CurrentFact]] = {}

    def deltas(self, episode: Episode) -> Iterator[Delta | Malformed]:
        """The deltas of an episode. A malformed one is a finding."""
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
            payload = {"content": episode.content, **triple, "object": value_of(episode, triple)}
            return [self._weighed(episode, key, payload, self._run.provenance(episode, 1))]
        if self._reader is None:
            return [self._run.delta(episode)]
        found = [self._read(episode, each) for each in self._reader.extract(episode)]
        return found or [NoopDelta(**self._run.provenance(episode, 1))]

    def _read(self, episode: Episode, found: Extracted) -> Delta:
        """The delta of a claim that a reader found, with the words that it quotes."""
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
        if same and not poorer:  # or it was considered before, and something else took its place since
            return NoopDelta(**said, corroborates=[each.name for each in same])
        gone = [each for each in stands if each.object == before] if key[-1] in self._several else stands
        gone = poorer or gone
        if not any(is_above(each.trust, episode.trust) for each in gone):  # or it will need approval
            new = CurrentFact(episode.id, value, since=stamp(episode.timestamp), trust=episode.trust)
            self._stands[key] = [*(each for each in stands if each not in gone), new]
        if gone:
            return UpdateDelta(**said, fact_payload=payload, replaces=[each.name for each in gone])
        return AddDelta(**said, fact_payload=payload)

    def _denied(self, episode: Episode, key: tuple[str, ...], value: str, said: dict[str, Any]) -> Delta:
        """A denial closes what was true when it was said, not what has become true since."""
        stands, then = self._standing(key), stamp(episode.timestamp)
        gone = [each for each in stands if each.object == value and each.since <= then]
        if not gone:
            return NoopDelta(**said)
        if not any(is_above(each.trust, episode.trust) for each in gone):
            self._stands[key] = [each for each in stands if each not in gone]
        return DeleteDelta(**said, replaces=[each.name for each in gone])

    def _standing(self, key: tuple[str, ...]) -> list[CurrentFact]:
        """The current facts, as far as this run has come."""
        if self._is_applied or key not in self._stands:
            user, agent, path, subject, predicate = key
            self._stands[key] = self._held(DeltaScope(user=user, agent=agent, path=path), subject, predicate)
        return self._stands[key]


def _is_in(episode: Episode, value: str, standing: CurrentFact) -> bool:
    """Whether a fact comes from this claim of an episode, whatever it is now."""
    return bool(episode.source) and not standing.claims.isdisjoint({(episode.source, value), (episode.source, "")})

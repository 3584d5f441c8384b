"""Deltas from episodes, by their metadata. Pure: the same episodes give the same deltas.

    metadata["intent"]                                  delta
    "noop"                                              NoopDelta: considered, nothing changes
    "delete", with `replaces`                           DeleteDelta
    "update", with `replaces`                           UpdateDelta
    none, or "add"                                      AddDelta
    none, or "add", and the subject and predicate       UpdateDelta, replacing the earlier episode
    came before in the same run

"Before" is by the same user to the same agent on the same path: nothing crosses users. A predicate that may have
several values (`knows`, `likes`) adds each time. A malformed episode becomes a finding, and the run goes on.

The run keeps one short entry for each subject and predicate, not the episodes.

Deltas from episodes, compared with the current facts: what is new, what repeats, and what replaces another.

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
from functools import lru_cache
from typing import Any, NamedTuple

from tallystick.consolidate.confidence import earned
from tallystick.records.clock import stamp
from tallystick.records.delta import AddDelta, DeleteDelta, Delta, DeltaScope, NoopDelta, UpdateDelta, check_provenance
from tallystick.records.display import plain, rows_html
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.policy import is_above
from tallystick.records.rule import ConsolidationRule, Extracted, Extractor, Malformed

INTENTS = ("add", "update", "delete", "noop")
TRIPLE = ("subject", "predicate", "object")

_WITNESSES = 32  # counted at most; more add hardly anything
_SHOWN = 40  # characters of a value in a reason
_FEW = 10  # deltas in a repr


class Brief(NamedTuple):
    """The fields of an episode that are read, where nobody needs the others."""

    id: str
    content: str
    user: str
    session: str
    agent: str
    path: str
    trust: str
    metadata: dict[str, Any]


EpisodeLike = Episode | Brief
Key = tuple[str, str, str, str, str]  # user, agent, path, subject, predicate


class _Latest(NamedTuple):
    """The last value of a subject and predicate, its episode, and the sessions in which it came."""

    episode_id: str
    value: str
    sessions: tuple[str, ...]


class Deltas(list[Delta]):
    """The deltas of one run, and its findings: malformed episodes."""

    def __init__(self, found: Iterable[Delta | Malformed]) -> None:
        super().__init__()
        self.findings: list[Malformed] = []
        for each in found:
            (self.findings if isinstance(each, Malformed) else self).append(each)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Deltas and findings as plain data."""
        return {"deltas": [plain(each) for each in self], "findings": [plain(each) for each in self.findings]}

    def _repr_html_(self) -> str:
        return rows_html(self)

    def __repr__(self) -> str:
        """The first few: an event loop prints what its task returned, and there may be a hundred thousand."""
        more = f", … {len(self) - _FEW:,} more" if len(self) > _FEW else ""
        return f"[{', '.join(map(repr, self[:_FEW]))}{more}]"


class Nonsense(Exception):
    """The reason why an episode is malformed."""


def classify(
    rule: ConsolidationRule, episodes: Iterable[EpisodeLike], *, now: datetime, several: frozenset[str] = frozenset()
) -> Iterator[Delta | Malformed]:
    """A delta or a finding for each episode, in their order: oldest first, by time and then by arrival.

    `now` is when they are promoted. `several` names the predicates that may have several values at once.
    """
    run = Run(rule, now, several)
    for episode in episodes:
        try:
            delta = run.delta(episode)
        except Nonsense as reason:
            yield Malformed(episode.id, str(reason))
        else:
            check_provenance(delta)
            yield delta


class Run:
    """One pass over the episodes."""

    def __init__(self, rule: ConsolidationRule, now: datetime, several: frozenset[str]) -> None:
        self._rule, self._now, self._several = rule, now, several
        self._latest: dict[Key, _Latest] = {}

    def delta(self, episode: EpisodeLike) -> Delta:
        intent = episode.metadata.get("intent")
        if intent is not None and (type(intent) is not str or intent not in INTENTS):
            raise Nonsense(f"intent {_shown(intent)} is not known; it is one of {', '.join(INTENTS)}, or left out")
        if not episode.id:
            raise Nonsense("it has no id, so nothing could be traced back to it")
        triple = triple_in(episode.metadata)
        key, value = key_of(episode, triple), value_of(episode, triple)
        before = self._latest.get(key) if key else None
        if intent == "noop":
            same = [before.episode_id] if before and before.value == value else []
            return NoopDelta(**self.provenance(episode, 1), corroborates=same)
        if intent == "delete":
            replaced = _replaced(episode)
            if key:
                self._latest.pop(key, None)
            return DeleteDelta(**self.provenance(episode, 1), replaces=replaced)
        if intent == "update":
            replaced = _replaced(episode)
        else:
            replaced = [before.episode_id] if before and key and key[-1] not in self._several else []
        witnesses = 1
        if key:  # count the sessions in which the same came since the value was last another one
            sessions = before.sessions if before and before.value == value else (episode.session,)
            if episode.session not in sessions and len(sessions) < _WITNESSES:
                sessions = (*sessions, episode.session)
            self._latest[key] = _Latest(episode.id, value, sessions)
            witnesses = len(sessions)
        payload = {"content": episode.content, **triple}
        if replaced:
            return UpdateDelta(**self.provenance(episode, witnesses), fact_payload=payload, replaces=replaced)
        return AddDelta(**self.provenance(episode, witnesses), fact_payload=payload)

    def provenance(self, episode: EpisodeLike, witnesses: int) -> dict[str, Any]:
        """The fields that every delta has."""
        stated = episode.metadata.get("confidence")
        if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
            stated = 1.0
        hedged = episode.metadata.get("hedged") is True
        return {
            "source_episode_ids": [episode.id], "promotion_ts": self._now, "rule_id": self._rule.id,
            "confidence": _confidence(trust=episode.trust, witnesses=witnesses, hedged=hedged, stated=stated),
            "scope": _scope(user=episode.user, agent=episode.agent, path=episode.path),
            "channels": self._rule.then_emits.copy(),
        }  # fmt: skip


_confidence = lru_cache(maxsize=1024)(earned)
_scope = lru_cache(maxsize=1024)(DeltaScope)


def triple_in(metadata: dict[str, Any]) -> dict[str, str]:
    """Subject, predicate and object, as far as they are given."""
    triple = {}
    for name in TRIPLE:
        value = metadata.get(name)
        if type(value) is str:
            if value:
                triple[name] = value
        elif value is not None:
            raise Nonsense(f"{name} must be text, not {type(value).__name__}")
    return triple


def key_of(episode: EpisodeLike, triple: dict[str, str]) -> Key | None:
    if "subject" in triple and "predicate" in triple:
        return episode.user, episode.agent, episode.path, triple["subject"], triple["predicate"]
    return None


def value_of(episode: EpisodeLike, triple: dict[str, str]) -> str:
    return triple.get("object", episode.content)


def _replaced(episode: EpisodeLike) -> list[str]:
    """The ids that a delete or an update names: a list, or one."""
    given = episode.metadata.get("replaces")
    names = [given] if isinstance(given, str) else given
    if not names:
        raise Nonsense(f"intent {episode.metadata['intent']!r} needs `replaces`: the ids to replace")
    if not isinstance(names, list) or not all(type(name) is str and name for name in names):
        raise Nonsense(f"replaces must be a list of ids, not {_shown(given)}")
    if episode.id in names:
        raise Nonsense("it replaces itself")
    return list(dict.fromkeys(names))


def _shown(value: object) -> str:
    if not isinstance(value, str):
        return type(value).__name__
    return ascii(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")


# -- against the current facts -----------------------------------------------------------------------------------------


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
        self, rule: ConsolidationRule, held: Holding, *, now: datetime, several: frozenset[str] = frozenset(),
        reader: Extractor | None = None, is_worth: Worth = lambda _: True, is_applied: bool = False,
    ) -> None:  # fmt: skip
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
        if found.is_denied:  # a denial closes what was true when it was said, not what has become true since
            stands, then = self._standing(key), stamp(episode.timestamp)
            gone = [each for each in stands if each.object == found.object and each.since <= then]
            if not gone:
                return NoopDelta(**said)
            if not any(is_above(each.trust, episode.trust) for each in gone):
                self._stands[key] = [each for each in stands if each not in gone]
            return DeleteDelta(**said, replaces=[each.name for each in gone])
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

    def _standing(self, key: tuple[str, ...]) -> list[CurrentFact]:
        """The current facts, as far as this run has come."""
        if self._is_applied or key not in self._stands:
            user, agent, path, subject, predicate = key
            self._stands[key] = self._held(DeltaScope(user=user, agent=agent, path=path), subject, predicate)
        return self._stands[key]


def _is_in(episode: Episode, value: str, standing: CurrentFact) -> bool:
    """Whether a fact comes from this claim of an episode, whatever it is now."""
    return bool(episode.source) and not standing.claims.isdisjoint({(episode.source, value), (episode.source, "")})

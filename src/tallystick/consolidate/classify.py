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
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from tallystick.consolidate.confidence import earned
from tallystick.records.delta import AddDelta, DeleteDelta, Delta, DeltaScope, NoopDelta, UpdateDelta, check_provenance
from tallystick.records.display import plain, rows_html
from tallystick.records.rule import ConsolidationRule, Malformed

Key = tuple[str, str, str, str, str]  # user, agent, path, subject, predicate

INTENTS = ("add", "update", "delete", "noop")
TRIPLE = ("subject", "predicate", "object")

_WITNESSES = 32  # counted at most; more add hardly anything
_SHOWN = 40  # characters of a value in a reason
_FEW = 10  # deltas in a repr


class EpisodeLike(Protocol):
    """The fields of an episode that are read."""

    @property
    def id(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def trust(self) -> str: ...
    @property
    def metadata(self) -> dict[str, Any]: ...


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
            if isinstance(each, Malformed):
                self.findings.append(each)
            else:
                self.append(each)

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
        stated: object = episode.metadata.get("confidence")
        if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
            stated = None
        hedged = episode.metadata.get("hedged") is True
        return {
            "source_episode_ids": [episode.id],
            "promotion_ts": self._now,
            "rule_id": self._rule.id,
            "confidence": _confidence(trust=episode.trust, witnesses=witnesses, hedged=hedged, stated=stated),
            "scope": _scope(user=episode.user, agent=episode.agent, path=episode.path),
            "channels": self._rule.then_emits.copy(),
        }


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

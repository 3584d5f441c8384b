"""Episodes become deltas, by what their metadata says. Pure: the same episodes give the same deltas.

    metadata["intent"]                                  delta
    "noop"                                              NoopDelta: seen, nothing changes
    "delete", with `replaces`                           DeleteDelta
    "update", with `replaces`                           UpdateDelta
    none, or "add"                                      AddDelta
    none, or "add", and the subject and predicate       UpdateDelta, replacing the earlier episode
    were said before in the same run

"Said before" is by the same user to the same agent on the same path: nothing crosses users. A predicate that may have
several values (`knows`, `likes`) adds each time. An episode that makes no sense becomes a finding, and the run goes on.

What is remembered along the way is one short entry for each subject and predicate, not the episodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from tallystick.consolidate.confidence import earned
from tallystick.records.delta import (
    AddDelta,
    DeleteDelta,
    Delta,
    DeltaScope,
    NoopDelta,
    UpdateDelta,
    check_provenance,
)
from tallystick.records.display import plain, rows_html
from tallystick.records.extraction import Malformed
from tallystick.records.rule import ConsolidationRule

Key = tuple[str, str, str, str, str]  # user, agent, path, subject, predicate

INTENTS = ("add", "update", "delete", "noop")
TRIPLE = ("subject", "predicate", "object")

_WITNESSES = 32  # that are told apart; more say hardly more
_SHOWN = 40  # of a value, in a reason
_FEW = 10  # of the deltas, in words


class EpisodeLike(Protocol):
    """What is looked at of an episode."""

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


class _Said(NamedTuple):
    """Who said something last of a subject and predicate, what, and in which sessions the same was said."""

    episode_id: str
    what: str
    sessions: tuple[str, ...]


class Deltas(list[Delta]):
    """The deltas of one run, and its findings: episodes that no delta could be made of."""

    def __init__(self, found: Iterable[Delta | Malformed]) -> None:
        super().__init__()
        self.findings: list[Malformed] = []
        for each in found:
            if isinstance(each, Malformed):
                self.findings.append(each)
            else:
                self.append(each)

    def to_dict(self) -> dict[str, Any]:
        """All there is, for printing or sending."""
        return {"deltas": [plain(each) for each in self], "findings": [plain(each) for each in self.findings]}

    def _repr_html_(self) -> str:
        return rows_html(self)

    def __repr__(self) -> str:
        """The first few: an event loop shows what its task returned, and there may be a hundred thousand."""
        more = f", … {len(self) - _FEW:,} more" if len(self) > _FEW else ""
        return f"[{', '.join(map(repr, self[:_FEW]))}{more}]"


class Nonsense(Exception):
    """Why an episode is malformed."""


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
        self._said: dict[Key, _Said] = {}

    def delta(self, episode: EpisodeLike) -> Delta:
        said = episode.metadata
        intent = said.get("intent")
        if intent is not None and (type(intent) is not str or intent not in INTENTS):
            raise Nonsense(f"intent {_shown(intent)} is not known; it is one of {', '.join(INTENTS)}, or left out")
        if not episode.id:
            raise Nonsense("it has no id, so nothing could be traced back to it")
        triple = triple_in(said)
        key = key_of(episode, triple)
        if intent == "noop":
            return NoopDelta(**self.provenance(episode, 1), corroborates=self._same(key, episode, triple))
        if intent == "delete":
            replaced = _replaced(episode)
            if key:
                self._said.pop(key, None)
            return DeleteDelta(**self.provenance(episode, 1), replaces=replaced)
        replaced = _replaced(episode) if intent == "update" else self._earlier(key)
        witnesses = self._note(key, episode, triple)
        payload = {"content": episode.content, **triple}
        if replaced:
            return UpdateDelta(**self.provenance(episode, witnesses), fact_payload=payload, replaces=replaced)
        return AddDelta(**self.provenance(episode, witnesses), fact_payload=payload)

    def _earlier(self, key: Key | None) -> list[str]:
        """The episode that said something of the same subject and predicate before, if that has one value only."""
        known = self._said.get(key) if key and key[-1] not in self._several else None
        return [known.episode_id] if known else []

    def _same(self, key: Key | None, episode: EpisodeLike, triple: dict[str, str]) -> list[str]:
        """The episode that said the very same before."""
        known = self._said.get(key) if key else None
        return [known.episode_id] if known and known.what == what_of(episode, triple) else []

    def _note(self, key: Key | None, episode: EpisodeLike, triple: dict[str, str]) -> int:
        """Remember who said it, and count the sessions in which the same was said since it was last said otherwise."""
        if key is None:
            return 1
        what, known = what_of(episode, triple), self._said.get(key)
        sessions = known.sessions if known and known.what == what else (episode.session,)
        if episode.session not in sessions and len(sessions) < _WITNESSES:
            sessions = (*sessions, episode.session)
        self._said[key] = _Said(episode.id, what, sessions)
        return len(sessions)

    def provenance(self, episode: EpisodeLike, witnesses: int) -> dict[str, Any]:
        """What every delta must say."""
        said = episode.metadata
        stated = _stated(said["confidence"]) if "confidence" in said else None
        return {
            "source_episode_ids": [episode.id],
            "promotion_ts": self._now,
            "rule_id": self._rule.id,
            "confidence": _confidence(episode.trust, witnesses, said.get("hedged") is True, stated),
            "scope": _scope(episode.user, episode.agent, episode.path),
            "channels": self._rule.then_emits.copy(),
        }


def triple_in(said: dict[str, Any]) -> dict[str, str]:
    """Subject, predicate and object, as far as they are given."""
    triple = {}
    for name in TRIPLE:
        value = said.get(name)
        if type(value) is str:
            if value:
                triple[name] = value
        elif value is not None:
            raise Nonsense(f"{name} is text, not {type(value).__name__}")
    return triple


def key_of(episode: EpisodeLike, triple: dict[str, str]) -> Key | None:
    if "subject" in triple and "predicate" in triple:
        return episode.user, episode.agent, episode.path, triple["subject"], triple["predicate"]
    return None


def what_of(episode: EpisodeLike, triple: dict[str, str]) -> str:
    return triple.get("object", episode.content)


def _replaced(episode: EpisodeLike) -> list[str]:
    """What a delete or an update names: a list of ids, or one."""
    given = episode.metadata.get("replaces")
    names = [given] if isinstance(given, str) else given
    if not names:
        raise Nonsense(f"intent {episode.metadata['intent']!r} needs `replaces`: the ids that it means")
    if not isinstance(names, list) or not all(type(name) is str and name for name in names):
        raise Nonsense(f"replaces is a list of ids, not {_shown(given)}")
    if episode.id in names:
        raise Nonsense("it replaces itself")
    return list(dict.fromkeys(names))


def _stated(stated: object) -> float | None:
    """The confidence its teller names, if it is one."""
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        return None
    return float(stated)


def _shown(value: object) -> str:
    if not isinstance(value, str):
        return type(value).__name__
    return ascii(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")


@lru_cache(maxsize=1024)
def _confidence(trust: str, witnesses: int, hedged: bool, stated: float | None) -> float:
    return earned(trust=trust, witnesses=witnesses, hedged=hedged, stated=stated)


@lru_cache(maxsize=1024)
def _scope(user: str, agent: str, path: str) -> DeltaScope:
    return DeltaScope(user=user, agent=agent, path=path)

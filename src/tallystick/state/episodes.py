"""The recorded episodes, folded from events: their authors and names, without their text.

The text is in the ledger and in the index. This keeps what decisions need: whether an author's name for an episode is
used in its scope, whether it was retracted, and which events an erasure of it reaches.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from tallystick.records.belief import OWNER
from tallystick.records.episode import RETRACTED
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.ids import SHORT_EVENT_ID
from tallystick.records.operations import EPISODE_PUT, EPISODE_RESTORE, EPISODE_RETRACT, ERASE
from tallystick.state.tables import SHORT, Part, Table, Tables, codec_of, follows, ordinal

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class EpisodeRef(NamedTuple):
    """One episode: the event that recorded it, its scope, and a digest of its content."""

    source: str  # the event's own id, by which the index knows it
    seq: int
    session: str
    agent: str
    gist: str  # to recognise the same content, and its words where the event was moved away
    path: str = ""
    trust: str = "human"
    user: str = OWNER
    name: str = ""  # its author's, or the event's own id


class Episodes(Part):
    """The episodes, by user and name."""

    def declare(self, tables: Tables) -> None:
        ref = codec_of(EpisodeRef)
        self._episodes: Table[EpisodeRef] = tables.table("episode", ref, self._is_recorded)  # by source
        self._in_order: Table[str] = tables.table("episode.of")  # (user, seq) → source
        self._names: Table[str] = tables.table("episode.name")  # (user, its author's name, seq) → source
        self._short: Table[str] = tables.table("episode.short")  # (user, last six characters, source)
        self._retracted: Table[str] = tables.table("episode.retracted")  # by source
        self._counts: Table[int] = tables.table("episode.count")  # by user
        self._last: tuple[Event, EpisodeRef] | tuple[None, None] = (None, None)  # which is checked at once

    @follows(EPISODE_PUT)
    def _put(self, event: Event, _: dict[str, Any]) -> None:
        ref = ref_of(event)
        self._last, user, name = (event, ref), ref.user, ref.name
        self._episodes.set(event.id, ref)
        self._in_order.set((user, ordinal(event.seq)), event.id)
        if name == event.id:
            self._short.set((user, name[-SHORT:], name), "")
        else:
            self._names.set((user, name, ordinal(event.seq)), event.id)
        self._counts.set(user, self.held(user) + 1)

    @follows(EPISODE_RETRACT)
    def _retract(self, _: Event, body: dict[str, Any]) -> None:
        for source in body["ids"]:
            self._retracted.set(source, "")

    @follows(EPISODE_RESTORE)
    def _restore(self, _: Event, body: dict[str, Any]) -> None:
        for source in body["ids"] if body["was"] == RETRACTED else ():
            self._retracted.drop(source)

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for source in body.get("ids", ()):
            if ref := self._episodes.get(source):
                self._remove(ref)
            self._retracted.drop(source)  # whoever reads the ledger again finds that retraction empty

    def _remove(self, ref: EpisodeRef) -> None:
        self._episodes.drop(ref.source)
        self._in_order.drop((ref.user, ordinal(ref.seq)))
        self._names.drop((ref.user, ref.name, ordinal(ref.seq)))
        self._short.drop((ref.user, ref.source[-SHORT:], ref.source))
        count = self.held(ref.user) - 1
        self._counts.set(ref.user, count) if count else self._counts.drop(ref.user)

    def _is_recorded(self, source: str, ref: EpisodeRef, events: Sequence[Event]) -> bool:
        event, (last, made) = events[-1], self._last
        return event.op == EPISODE_PUT and ref == (made if event is last else ref_of(event)) and ref.source == source

    def find(self, user: str, name: str) -> tuple[EpisodeRef, ...]:
        """Every episode of that name; a name may be used once in each session of each agent."""
        self.tables.prefetch([(self._episodes, name), (self._counts, user)])  # which is counted if there is none
        own = self._of_user(user, name)
        own = own if own and own.name == name else None
        named = (self._of_user(user, source) for source in self._names.values(user, name))
        return tuple(ref for ref in (own, *named) if ref)

    def named(self, user: str, name: str) -> tuple[EpisodeRef, ...]:
        """Every episode of that name: its author's, the id of its event, or the last six characters of such an id.
        Refused, if several end so."""
        if refs := self.find(user, name):
            return refs
        if SHORT_EVENT_ID.match(name):
            ends = [source for (_, _, source), _ in self._short.under(user, name)]
            if len(ends) > 1:
                raise Refused(f"{name} names {len(ends)} episodes; write more of the id", "ambiguous")
            name = ends[0] if ends else name
        mine = self._of_user(user, name)
        return (mine,) if mine else ()

    def _of_user(self, user: str, source: str) -> EpisodeRef | None:
        ref = self._episodes.get(source)
        return ref if ref and ref.user == user else None

    def _ref(self, source: str) -> EpisodeRef:
        ref = self._episodes.get(source)
        assert ref is not None, source
        return ref

    def name_of(self, source: str) -> str:
        return self._ref(source).name

    def of(self, source: str) -> EpisodeRef | None:
        """The episode that an event recorded, by the event's id; None if there is none, or it is erased."""
        return self._episodes.get(source)

    def on(self, user: str, path: str) -> list[str]:
        """The episodes on that very path, by their events."""
        return [source for source in self._sources(user) if self._ref(source).path == path]

    def _sources(self, user: str, after: str = "") -> list[str]:
        """The episodes of a user, oldest first, by their events."""
        sources = list(self._in_order.values(user, after=after))
        self._episodes.prefetch(sources)
        return [source for source in sources if self._of_user(user, source)]

    def is_retracted(self, source: str) -> bool:
        return source in self._retracted

    def stands(self, source: str) -> bool:
        """True if an episode exists and was not retracted."""
        return source in self._episodes and source not in self._retracted

    def standing(self, user: str) -> list[str]:
        """The episodes of that user that were not retracted, by their events."""
        return [source for source in self._sources(user) if source not in self._retracted]

    def held(self, user: str) -> int:
        """The number of episodes of that user."""
        return self._counts.get(user) or 0

    def waiting(self, user: str, through: int, counts: Callable[[str], bool] = operator.not_) -> int:
        """The number of episodes after an event for rules to consider: not retracted, and their path `counts`."""
        refs = map(self._ref, self._sources(user, after=ordinal(through)))
        return sum(ref.source not in self._retracted and counts(ref.path) for ref in refs)

    def owner(self, source: str) -> str | None:
        """The user of the episode of that event; None if there is none, or it is erased."""
        ref = self._episodes.get(source)
        return ref.user if ref else None


def ref_of(event: Event) -> EpisodeRef:
    episode = (event.body or {})["episode"]
    return EpisodeRef(
        event.id, event.seq, episode.get("session", ""), episode.get("agent", ""), gist_of(episode),
        episode.get("path", ""), episode.get("trust", "human"), episode.get("user", OWNER),
        episode.get("id", event.id),
    )  # fmt: skip


def gist_of(episode: dict[str, Any]) -> str:
    """A digest of its words, then of the rest. It is never written where an erasure would not reach it."""
    rest = [episode.get(name) for name in ("timestamp", "metadata", "source_node", "path", "trust")]
    return gist_of_words(episode["content"]) + sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def gist_of_words(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def mark_of(user: str, name: str) -> str:
    """The mark of an erased episode's name, so that it is not imported again.

    Only a name with a UUID in it leaves a mark, since it cannot be guessed. Else it is empty.
    """
    return f"mark-{sha256(f'{user}:{name}'.encode()).hexdigest()[:24]}" if _UUID.search(name) else ""

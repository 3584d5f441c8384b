"""The recorded episodes, folded from events: their authors and names, without their text.

The text is in the ledger and in the index. This keeps what decisions need: whether an author's name for an episode is
used in its scope, whether it was retracted, and which events an erasure of it reaches.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.ids import SHORT_EVENT_ID
from tallystick.records.operations import EPISODE_PUT, EPISODE_RETRACT, ERASE
from tallystick.state.part import Part, follows

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LONG_AGO = "1970-01-01T00:00:00Z"


class EpisodeRef(NamedTuple):
    """One episode: the event that recorded it, its scope, and a digest of its content."""

    source: str  # the event's own id, by which the index knows it
    seq: int
    session: str
    agent: str
    gist: str  # to recognise the same content
    path: str = ""
    trust: str = "human"


class Episodes(Part):
    """The episodes, by user and name."""

    def clear(self) -> None:
        self._refs: dict[tuple[str, str], tuple[EpisodeRef, ...]] = {}
        self._owners: dict[str, tuple[str, str]] = {}  # source → (user, name)
        self._retracted: dict[str, None] = {}  # sources
        self._of: dict[str, dict[str, EpisodeRef]] = {}  # user → source → episode

    @follows(EPISODE_PUT)
    def _put(self, event: Event, body: dict[str, Any]) -> None:
        episode = body["episode"]
        user, name = episode.get("user", OWNER), episode.get("id", event.id)
        ref = EpisodeRef(
            event.id, event.seq, episode.get("session", ""), episode.get("agent", ""), gist_of(episode),
            episode.get("path", ""), episode.get("trust", "human"),
        )  # fmt: skip
        self._set(self._refs, (user, name), (*self._refs.get((user, name), ()), ref))
        self._set(self._owners, event.id, (user, name))
        self._set(self._of.setdefault(user, {}), event.id, ref)

    @follows(EPISODE_RETRACT)
    def _retract(self, _: Event, body: dict[str, Any]) -> None:
        for source in body["ids"]:
            self._set(self._retracted, source, None)

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for source in body.get("ids", ()):
            if source in self._owners:
                self._remove(source)
            self._drop(self._retracted, source)  # whoever reads the ledger again finds that retraction empty

    def _remove(self, source: str) -> None:
        key = self._owners[source]
        rest = tuple(ref for ref in self._refs[key] if ref.source != source)
        if rest:
            self._set(self._refs, key, rest)
        else:
            self._drop(self._refs, key)
        self._drop(self._of[key[0]], source)
        self._drop(self._owners, source)

    def find(self, user: str, name: str) -> tuple[EpisodeRef, ...]:
        """Every episode of that name; a name may be used once in each session of each agent."""
        return self._refs.get((user, name), ())

    def named(self, user: str, name: str) -> tuple[EpisodeRef, ...]:
        """Every episode of that name: its author's, the id of its event, or the last six characters of such an id.
        Refused, if several end so."""
        if refs := self.find(user, name):
            return refs
        if SHORT_EVENT_ID.match(name):
            ends = [each for each in self._of.get(user, ()) if each.endswith(name) and self._owners[each][1] == each]
            if len(ends) > 1:
                raise Refused(f"{name} names {len(ends)} episodes; write more of the id", "ambiguous")
            name = ends[0] if ends else name
        mine = self._of.get(user, {}).get(name)
        return (mine,) if mine else ()

    def name_of(self, source: str) -> str:
        """The author's name for the episode of an event."""
        return self._owners[source][1]

    def of(self, source: str) -> EpisodeRef | None:
        """The episode that an event recorded, by the event's id; None if there is none, or it is erased."""
        known = self._owners.get(source)
        return next(ref for ref in self._refs[known] if ref.source == source) if known else None

    def on(self, user: str, path: str) -> list[str]:
        """The episodes on that very path, by their events."""
        return [source for source, ref in self._of.get(user, {}).items() if ref.path == path]

    def is_retracted(self, source: str) -> bool:
        return source in self._retracted

    def stands(self, source: str) -> bool:
        """True if an episode exists and was not retracted."""
        return source in self._owners and source not in self._retracted

    def standing(self, user: str) -> list[str]:
        """The episodes of that user that were not retracted, by their events."""
        return [source for source in self._of.get(user, ()) if source not in self._retracted]

    def held(self, user: str) -> int:
        """The number of episodes of that user."""
        return len(self._of.get(user, ()))

    def waiting(self, user: str, through: int, counts: Callable[[str], bool] = operator.not_) -> int:
        """The number of episodes after an event for rules to consider: not retracted, and their path `counts`."""
        refs = (ref for ref in self._of.get(user, {}).values() if ref.seq > through)
        return sum(ref.source not in self._retracted and counts(ref.path) for ref in refs)

    def labels(self) -> Iterator[tuple[str, str, int, str]]:
        """The user, path and event of every episode. The time is not known here."""
        for user, refs in self._of.items():
            yield from ((user, ref.path, ref.seq, _LONG_AGO) for ref in refs.values())

    def owner(self, source: str) -> str | None:
        """The user of the episode of that event; None if there is none, or it is erased."""
        known = self._owners.get(source)
        return known[0] if known else None

    def dump(self) -> dict[str, Any]:
        return {
            "told": [[*key, [list(ref) for ref in each]] for key, each in self._refs.items()],
            "retracted": list(self._retracted),
        }  # fmt: skip

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for user, name, each in dumped.get("told", ()):
            self._refs[user, name] = tuple(EpisodeRef(*ref) for ref in each)
            self._owners.update({ref.source: (user, name) for ref in self._refs[user, name]})
            self._of.setdefault(user, {}).update({ref.source: ref for ref in self._refs[user, name]})
        self._retracted.update(dict.fromkeys(dumped.get("retracted", ())))


def gist_of(episode: dict[str, Any]) -> str:
    """A digest to recognise the same episode. It is never written where an erasure would not reach it."""
    content = [episode.get(name) for name in ("content", "timestamp", "metadata", "source_node", "path", "trust")]
    return sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def mark_of(user: str, name: str) -> str:
    """The mark of an erased episode's name, so that it is not imported again.

    Only a name with a UUID in it leaves a mark, since it cannot be guessed. Else it is empty.
    """
    return f"mark-{sha256(f'{user}:{name}'.encode()).hexdigest()[:24]}" if _UUID.search(name) else ""

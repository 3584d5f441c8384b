"""Other names of people and things, as statements gave them, folded from events.

    belief.put/1, belief.supersede/1, episode.put/1
                  {…, "names": {"rules": the version of the rules, "same": [[a name, another], …]}}

What the rules found was recorded with the statement, so newer rules change nothing that was said before. A pair holds
as long as its statement does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tallystick.records.belief import OWNER
from tallystick.records.episode import RETRACTED
from tallystick.records.event import Event
from tallystick.records.operations import (
    BELIEF_INVALIDATE,
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    BELIEF_TOMBSTONE,
    EPISODE_PUT,
    EPISODE_RESTORE,
    EPISODE_RETRACT,
    ERASE,
)
from tallystick.state.tables import TUPLE, Part, Table, Tables, follows

NAMES = "names"  # in the body of an event
TRUSTED = "human"  # nobody else says who is who

Taught = tuple[str, str, list[list[str]]]  # the user, the path, and the pairs


def taught_by(event: Event) -> Taught | None:
    """What a statement says of names; None, if nothing, or if it does not hold."""
    body = event.body or {}
    said = body.get("belief") or body.get("episode")
    if said is None or NAMES not in body:
        return None
    if said.get("status", "active") != "active" or said.get("trust", TRUSTED) != TRUSTED:
        return None
    return said.get("user", OWNER), said.get("path", ""), body[NAMES]["same"]


def _agrees(_: str, taught: Taught, events: Sequence[Event]) -> bool:
    return taught == taught_by(events[-1])


class Aliases(Part):
    """The pairs of names that hold."""

    def declare(self, tables: Tables) -> None:
        self._taught: Table[Taught] = tables.kept("alias.taught", TUPLE, _agrees)  # by version, or by episode
        self._names: Table[str] = tables.kept("alias.name")  # (user, name, other name, version) → path

    @follows(BELIEF_PUT, BELIEF_SUPERSEDE, EPISODE_PUT)
    def _state(self, event: Event, body: dict[str, Any]) -> None:
        for name in body.get("replaces", ()):
            self._end(name)
        if taught := taught_by(event):
            name = body["belief"]["id"] if "belief" in body else event.id
            self._taught.set(name, taught)
            for key in _keys(name, taught):
                self._names.set(key, taught[1])

    @follows(BELIEF_TOMBSTONE, BELIEF_INVALIDATE)
    def _gone(self, _: Event, body: dict[str, Any]) -> None:
        self._end(body["id"])

    @follows(EPISODE_RETRACT)
    def _retract(self, _: Event, body: dict[str, Any]) -> None:
        """What it says of names is kept, in case that it is restored."""
        for name, taught in self._taught_by(body["ids"]):
            for key in _keys(name, taught):
                self._names.drop(key)

    @follows(EPISODE_RESTORE)
    def _restore(self, _: Event, body: dict[str, Any]) -> None:
        for name, taught in self._taught_by(body["ids"]) if body["was"] == RETRACTED else ():
            for key in _keys(name, taught):
                self._names.set(key, taught[1])

    def _taught_by(self, names: Iterable[str]) -> Iterator[tuple[str, Taught]]:
        return ((name, taught) for name in names if (taught := self._taught.get(name)))

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            for taught in self._taught.history(name):
                for key in _keys(name, taught):
                    self._names.erase(key)
            self._taught.erase(name)

    def _end(self, name: str) -> None:
        if taught := self._taught.get(name):
            self._taught.drop(name)
            for key in _keys(name, taught):
                self._names.drop(key)

    def of(self, user: str, name: str, paths: Sequence[str] = ("",)) -> Mapping[str, list[str]]:
        """The other names of one name on these paths, each with the statements that say so."""
        found: dict[str, list[str]] = {}
        for (_, _, other, version), path in self._names.under(user, name):
            if path in paths and (taught := self._taught.get(version)) and _has(taught, name, other):
                found.setdefault(other, []).append(version)
        return found


def _keys(version: str, taught: Taught) -> Iterator[tuple[str, str, str, str]]:
    user, _, pairs = taught
    for one, other in pairs:
        yield user, one, other, version
        yield user, other, one, version


def _has(taught: Taught, one: str, other: str) -> bool:
    return [one, other] in taught[2] or [other, one] in taught[2]

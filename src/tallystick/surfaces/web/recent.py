"""What was learned lately, newest first: read from the end of the ledger backwards, so a long ledger costs no more.

What was forgotten, taken back or erased since is left out. Turns of one conversation that follow one another are one
line, which tells how many. Of a damaged ledger, what can be read is shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from typing import TYPE_CHECKING

from tallystick.records.episode import Episode
from tallystick.records.errors import Damaged, TallystickError
from tallystick.records.policy import DEFAULT
from tallystick.surfaces.present.time import day_name, day_of
from tallystick.surfaces.web.page_view import page_of

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.event import Event

MOST = 12  # lines
_STRETCH = 128  # events that are read in one go
_FAR = 2048  # events that are looked at, at most
_GONE = ("episode.retract/1", "episode.fade/1")


@dataclass(frozen=True, slots=True)
class Learned:
    """A belief or an episode, as one line of a list."""

    what: str  # belief or episode
    id: str  # the version, or the event: as an address names it
    text: str
    at: str  # when it was recorded
    trust: str
    page: str = ""
    agent: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    how: str = ""  # revised, because
    waits: bool = False  # for a person's yes
    turns: int = 1


@dataclass(frozen=True, slots=True)
class RecentDay:
    """What was learned on one day, in the zone of this machine."""

    name: str
    learned: list[Learned]


def lately(memory: Memory, limit: int = MOST) -> list[RecentDay]:
    """The newest, by day."""
    found = list[Learned]()
    for each in _newest(memory):
        if found and _goes_on(found[-1], each):
            found[-1] = replace(found[-1], turns=found[-1].turns + 1)
        elif len(found) == limit:
            break
        else:
            found.append(each)
    return [RecentDay(day_name(day), list(group)) for day, group in groupby(found, key=lambda each: day_of(each.at))]


def _goes_on(last: Learned, each: Learned) -> bool:
    """Whether it is of the same conversation, on the same day, as the one that came after it."""
    is_turn = last.what == each.what == "episode" and bool(each.session)
    return is_turn and last.session == each.session and day_of(last.at) == day_of(each.at)


def _newest(memory: Memory) -> Iterator[Learned]:
    seen, gone = set[str](), set[str]()
    for event in _backwards(memory):
        if event.body is None:
            continue
        if event.op in _GONE:
            gone.update(event.body["ids"])
        elif event.op == "episode.put/1":
            if event.id not in gone and not event.body["episode"].get("path"):
                yield _of_episode(Episode.of(event))
        elif event.op in ("belief.put/1", "belief.supersede/1"):
            learned = _of_belief(memory, event.body["belief"]["id"], seen)
            if learned is not None:
                yield learned


def _backwards(memory: Memory) -> Iterator[Event]:
    """The newest first, down to where the ledger is damaged."""
    end = memory.ledger.size
    for stop in range(end, max(end - _FAR, 0), -_STRETCH):
        start = max(stop - _STRETCH, 0)
        segment = _segment(memory, start, stop)
        if segment is None:
            good = bisect_left(range(start, stop), True, key=lambda at: _segment(memory, at, stop) is not None)
            yield from reversed(_segment(memory, start + good, stop) or [])
            return
        yield from reversed(segment)


def _segment(memory: Memory, start: int, stop: int) -> list[Event] | None:
    """The events between these; None if one of them cannot be read."""
    try:
        return list(takewhile(lambda event: event.seq < stop, memory.log(start)))
    except Damaged:
        return None


def _of_belief(memory: Memory, name: str, seen: set[str]) -> Learned | None:
    """The belief as it is held now; None if it is not, or stands further up already."""
    try:
        belief = memory.get(name)
    except TallystickError:
        return None
    if belief is None or not belief.is_held or not belief.text or belief.key in seen:
        return None
    seen.add(belief.key)
    waits = belief.trust in DEFAULT.quarantined and not memory.is_shown(belief.id)
    page = "" if waits or belief.path else page_of(memory, belief.about)  # what waits stands on no page yet
    return Learned(
        "belief", belief.id, belief.text, belief.at, belief.trust, page, belief.agent,
        belief.session, belief.tags, belief.reason, waits,
    )  # fmt: skip


def _of_episode(episode: Episode) -> Learned:
    return Learned(
        "episode", episode.source, episode.content, episode.recorded, episode.trust, "", episode.agent, episode.session
    )  # fmt: skip

"""What the ledger says, for those who serve rows: nothing is served that was never recorded.

Rows may be edited by whoever can write their file. So before words leave, they are compared with the event that
recorded them: the words themselves, whose they are, who said them, and what released them from quarantine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tallystick.records.belief import Mark
from tallystick.records.event import Event
from tallystick.records.policy import DEFAULT
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.episodes import EpisodeRef

NO_EVENT = Event(-1, "", "", "", "", "", None)  # in place of an event that is not there, or not as it was written


class LedgerView(NamedTuple):
    """One open ledger, and its state."""

    end: int  # its last event
    has_doubts: bool  # about the times of events
    recorded: Callable[[Iterable[int]], Mapping[int, Event | None]]  # events by number; None: they were moved away
    held: Callable[[str], CurrentVersion | EpisodeRef | None]  # what the state says of a version, or of an episode
    is_clear: Callable[[str], bool]  # whether a version or an episode was approved, or corroborated
    is_distrusted: Callable[[Event, Mapping[str, Any]], bool]  # whether a user distrusts who stated this there
    front: Callable[[str, str], Mapping[str, Any]]  # what is said of the page of a user about an entity
    names: Callable[[str, str], Collection[str]]  # the names of an entity of a user, now and before
    # The other names of one, on these paths after that event, each with the statements that say so.
    aliases: Callable[[str, str, Sequence[str], int], Mapping[str, Sequence[str]]]
    marks: Callable[[str, str, int], Sequence[Mark]]  # of a belief, as seen from a path after that event

    def is_released(self, event: Event) -> bool:
        """True if what an event states may be shown: it was never quarantined, or somebody approved it."""
        body = event.body or {}
        if said_in(event).get("trust", "human") not in DEFAULT.quarantined or "approved" in body:
            return True
        name = body["belief"]["id"] if "belief" in body else event.id
        before = () if "quarantined" in body else body.get("replaces", ())
        return any(map(self.is_clear, (name, *before)))


def said_in(event: Event) -> Mapping[str, Any]:
    """The belief or the episode that an event states; empty, if it states none."""
    body = event.body or {}
    said: Mapping[str, Any] = body.get("belief") or body.get("episode") or {}
    return said

"""An export that is taken in by what it says is there, and not by how that came to be.

So comes in what was exported without history, and what the policy judges statement by statement: through the same gate
as what anybody says here, and with no more trust. Only what is held comes in; it is known by its id, and its history
begins here.
"""

from __future__ import annotations

from typing import Any

from tallystick.decide import episodes as decide_episode
from tallystick.exchange.ndjson import Line, Reader
from tallystick.memory.core.masking import Cleared
from tallystick.memory.exchange.export_reader import ExportReader
from tallystick.records.belief import Belief
from tallystick.records.clock import parse_moment
from tallystick.records.episode import Episode
from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.event import Event
from tallystick.records.policy import lower
from tallystick.records.transfer import TakenIn

BRANCHED = "it was said on a branch of that memory; its main line alone comes in"
_BELIEF = frozenset(Belief.__dataclass_fields__) - {"seq", "at", "answer", "withheld"}
_EPISODE = frozenset(Episode.__dataclass_fields__) - {"seq", "recorded", "source", "withheld"}
_THERE = ("reason", "weakened")  # what a version says of the one before it


class SnapshotImporter:
    """One file, record by record."""

    def __init__(self, taking: ExportReader) -> None:
        self._taking, self._state, self._user = taking, taking.state, taking.user
        self._counts = {"belief": 0, "episode": 0, "known": 0, "events": 0, "quarantined": 0}
        self._kept: list[tuple[str, str]] = []
        self._left: list[tuple[str, str]] = []

    def run(self, reader: Reader) -> TakenIn:
        acts = {"belief": self._belief, "episode": self._episode}
        for line in reader:
            if line.kind in acts:
                with self._taking.at(line.number):
                    self._must_be_theirs(line)
                    acts[line.kind](line.told)
        counts = self._counts
        return TakenIn(
            user=self._user, is_whole=False, events=counts["events"], beliefs=counts["belief"],
            episodes=counts["episode"], known=counts["known"], source=self._taking.source,
            quarantined=counts["quarantined"], kept=tuple(self._kept), left=tuple(self._left),
        )  # fmt: skip

    def _must_be_theirs(self, line: Line) -> None:
        if line.told.get("user") != self._user:
            raise Refused("it is of another user than the file is", "mismatch")

    def _belief(self, told: dict[str, Any]) -> None:
        belief = Belief.from_body({name: value for name, value in told.items() if name in _BELIEF})
        if self._state.taken(belief.id):
            self._counts["known"] += 1
            return
        if not belief.is_held or not belief.text:
            self._left.append((belief.key, "it is not held any more" if belief.text else "it has no words"))
            return
        if belief.path and not self._taking.mine:
            self._left.append((belief.id, BRANCHED))
            return
        if not self._state.is_open(self._user, belief.path):
            self._left.append((belief.key, f"its path {belief.path!r:.60} has ended here"))
            return
        fields = {name: getattr(belief, name) for name in _BELIEF if name not in _THERE}
        fields["trust"] = self._trust(belief.trust)
        fields["rests_on"] = tuple(name for name in belief.rests_on if self._state.owner(name) == self._user)
        if not self._taking.mine:
            fields["key"] = belief.id
        elif self._state.find(belief.key, user=self._user, path=belief.path, short=False):
            self._kept.append((belief.key, f"names another belief here; it came in as {belief.id}"))
            fields["key"] = belief.id
        try:
            self._took("belief", self._taking.speaker.put(self._taking.with_secrets(fields), ""))
        except NeedsApproval:
            raise
        except Refused as error:  # it was let in there, and is not here: too long with its trust, say
            self._left.append((belief.key, str(error)))

    def _episode(self, told: dict[str, Any]) -> None:
        fields = {name: value for name, value in told.items() if name in _EPISODE}
        happened = parse_moment(fields.pop("timestamp"))
        episode = Episode.of(Event(0, "", "", "", "", "", {"episode": {**fields, "timestamp": happened}}))
        episode = self._taking.masked(episode, trust=self._trust(episode.trust))
        if told.get("retracted") or told.get("faded"):
            self._left.append((episode.id, "it was taken back, or had faded"))
        elif episode.path and not self._taking.mine:
            self._left.append((episode.id, BRANCHED))
        elif not self._state.is_open(self._user, episode.path):
            self._left.append((episode.id, f"its path {episode.path!r:.60} has ended here"))
        else:
            known = self._state.episodes
            write = self._taking.folder.ledger.write
            events = write(lambda: Cleared(decide_episode.put(known, episode)), by=self._taking.source)
            self._took("episode", events)

    def _took(self, kind: str, events: list[Event]) -> None:
        self._counts[kind if events else "known"] += 1
        self._counts["events"] += len(events)
        said = ((event.body or {}).get(kind, {}).get("trust", "human") for event in events)
        self._counts["quarantined"] += any(trust in self._taking.speaker.policy.quarantined for trust in said)

    def _trust(self, said: str) -> str:
        """As it was there; but no more than the other memory's, unless it is the person's own."""
        return lower((said, self._taking.speaker.trust))

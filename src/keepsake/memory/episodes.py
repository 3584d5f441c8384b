"""`m.episodes`: what was said or happened, verbatim."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from keepsake.decide import episode as decide
from keepsake.memory.gated import Gated
from keepsake.records.clock import parse_moment
from keepsake.records.episode import Episode
from keepsake.records.episodes import OBSERVE
from keepsake.records.errors import NotFound
from keepsake.stores.shelf import Shelf


class EpisodesOf:
    """The episodes of one user. Their words are in the ledger, and nowhere in memory."""

    def __init__(self, shelf: Shelf, gated: Gated, user: str) -> None:
        self._shelf, self._gated, self._user = shelf, gated, user

    def observe(self, *, timestamp: datetime | str | None, trust: str | None, **said: Any) -> Episode:
        """Record an episode, and return it as it is recorded."""
        if isinstance(timestamp, str):
            timestamp = datetime.fromisoformat(parse_moment(timestamp))
        happened = timestamp or datetime.fromisoformat(self._shelf.ledger.now())
        episode = Episode(timestamp=happened, trust=self._gated.asker(trust), **said)
        events = self._shelf.ledger.write(lambda: decide.put(self._shelf.book.episodes, episode))
        return Episode.of(events[0]) if events else self.get(episode.id, user=episode.user)

    def find(self, name: str, *, user: str | None = None) -> Episode | None:
        """An episode by its id: the teller's own, or the one it was given. Of several, the newest."""
        with self._shelf.ledger.reading():
            told = self._shelf.book.episodes.find(self._user if user is None else user, name)
            return self._read(told[-1].seq) if told else None

    def get(self, name: str, *, user: str | None = None) -> Episode:
        """The same, but a name that names nothing is an error."""
        episode = self.find(name, user=user)
        if episode is None:
            raise NotFound(f"nothing is known as {name!r}; `keepsake log` shows what is")
        return episode

    def _read(self, seq: int) -> Episode:
        for event in self._shelf.ledger.events(seq, seq + 1):
            if event.op == OBSERVE and event.body is not None:
                return Episode.of(event)
        raise NotFound(f"the words of event {seq} are gone")

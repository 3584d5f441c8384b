"""What may be said of episodes, and which events say it."""

from __future__ import annotations

from keepsake.records.episode import Episode
from keepsake.records.episodes import OBSERVE, Episodes, gist_of
from keepsake.records.errors import Refused
from keepsake.records.event import Draft


def put(known: Episodes, episode: Episode) -> list[Draft]:
    """Record what happened. The same thing told again under its name is no event; another thing under it is refused."""
    body = episode.to_body()
    for told in known.find(episode.user, episode.id) if episode.id else ():
        if (told.session, told.agent) == (episode.session, episode.agent):
            if told.gist == gist_of(body):
                return []
            raise Refused(f"{episode.id!r} was told before, and otherwise; give this another id: what happened stays")
    return [Draft(OBSERVE, {"episode": body})]

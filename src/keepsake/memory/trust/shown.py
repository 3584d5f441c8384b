"""What is shown to whoever asks: what recall may serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keepsake.decide.trust import is_in_doubt
from keepsake.records.clock import held_time
from keepsake.state.state import Book
from keepsake.state.version import Held

if TYPE_CHECKING:
    from keepsake.memory.episodes.store import EpisodesOf


def is_shown(known: Book, held: Held, body: dict[str, Any], now: str) -> bool:
    """Whether it waits for nobody's yes, its source is relied on, and its time is not over. `body` is what it holds."""
    if is_in_doubt(known, body.get("trust", "human"), body["id"]):
        return False
    if "expires" in body and held_time(body["expires"]) <= now:
        return False
    against = known.distrusts.against(
        held.user, by=held.by, seq=held.seq, agent=body.get("agent", ""), session=body.get("session", ""),
        trust=body.get("trust", "human"),
    )  # fmt: skip
    return against is None


def is_episode_shown(episodes: EpisodesOf, known: Book, name: str, user: str) -> bool:
    """The same of an episode, by its id; of several of that id, of the newest."""
    episode = episodes.find(name, user=user)
    if episode is None or episodes.withheld(name, user=user) is not None:
        return False
    sources = [told.source for told in known.episodes.find(user, name)] or [name]
    source = sources[-1]
    is_there = known.episodes.stands(source) and not known.uses.is_faded(source)
    return is_there and not is_in_doubt(known, episode.trust, source)

"""Decisions about episodes: put, retract."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.decide.aliases import names_in
from tallystick.records.belief import OWNER
from tallystick.records.episode import Episode
from tallystick.records.errors import KeyReused, NotFound
from tallystick.records.event import Draft
from tallystick.records.operations import EPISODE_PUT, EPISODE_RETRACT
from tallystick.records.policy import is_above
from tallystick.state.episodes import Episodes, gist_of


def put(known: Episodes, episode: Episode, echo: Sequence[str] = ()) -> list[Draft]:
    """Record an episode; `echo` is what it repeats of what recall served.

    The same content again under its name is no event; other content under it is refused, unless the author of the first
    is trusted less: no tool or web page reserves a name.
    """
    body = episode.to_body()
    named = known.find(episode.user, episode.id) if episode.id else ()
    if told := [each for each in named if (each.session, each.agent) == (episode.session, episode.agent)]:
        if gist_of(body) in [each.gist for each in told]:
            return []
        if not all(is_above(episode.trust, each.trust) for each in told):
            raise KeyReused(f"{episode.id!r} is the id of another episode; give this one another id")
    echoed = {"echo": list(echo)} if echo else {}
    return [Draft(EPISODE_PUT, {"episode": body, **echoed, **names_in(body)})]


def retract(known: Episodes, names: Sequence[str], *, user: str = OWNER, reason: str = "") -> list[Draft]:
    """Retract episodes: they stay in history, and are not used. Retracted ones are no event."""
    sources: list[str] = []
    for name in names:
        told = known.named(user, name)
        if not told:
            raise NotFound(f"no episode named {name!r}; run `tallystick log` to list them")
        sources += [each.source for each in told if not known.is_retracted(each.source)]
    if not sources:
        return []
    body = {"ids": list(dict.fromkeys(sources)), "user": user}
    return [Draft(EPISODE_RETRACT, {**body, "reason": reason} if reason else body)]

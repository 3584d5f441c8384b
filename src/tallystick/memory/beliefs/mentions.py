"""The entities that a recorded statement is about, names or means: derived each time that it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tallystick.decide.mentions import links_in
from tallystick.projections.index import statements as sql
from tallystick.projections.index.search import NOW, Scope
from tallystick.records.entity import Link

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.memory.episodes.store import EpisodeStore
    from tallystick.projections.index.file import IndexFile


class _Said(NamedTuple):
    text: str
    about: str
    agent: str


def links_of(context: Context, episodes: EpisodeStore, name: str, user: str, path: str) -> list[Link]:
    """The links of a belief or an episode; NotFound, if there is none of that name. Withheld words have none.

    Whom "she" means may be said by the statement before in the same session, where the index is available.
    """
    folder = context.folder
    with folder.ledger.reading():
        state = folder.state
        if held := state.find(name, user=user, path=path):
            belief, on = held.belief(), held.path
            version = belief.id
            said, session, seq = _Said(belief.text, belief.about, belief.agent), belief.session, belief.seq
        else:
            episode, on = episodes.get(name, user=user), path
            version = episode.source
            said, session, seq = _Said(episode.content, "", episode.agent), episode.session, episode.seq
        if folder.outlet is not None and folder.outlet.reader.withholds(version):
            return []
        before = named_before(context, user, on, session, seq)
        return links_in(state, said.text, user, on, about=said.about, agent=said.agent, before=before)


def named_before(context: Context, user: str, path: str, session: str, seq: int = NOW) -> list[str]:
    """The entities that the last statement of a session before an event is about or names, the surest first."""
    folder = context.folder
    if not session or folder.root is None or folder.ledger.in_batch():
        return []
    state = folder.state
    scope = Scope(user, path=path, session=session, now=folder.ledger.now()).on(state.paths)
    if scope.is_nobodys():
        return []
    found = context.index.glance(lambda file: _last(file, scope, seq))
    links = links_in(state, found.text, user, path, about=found.about, agent=found.agent) if found else ()
    return [link.entity for link in links]


def _last(file: IndexFile, scope: Scope, seq: int) -> _Said | None:
    row = file.db.execute(sql.SAID_LAST, {**scope.values(), "before": seq}).fetchone()
    return None if row is None else _Said(*row)

"""One episode, word for word: what came before and after it in its session, and what was learned from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute, Route

from tallystick.records.episode import Episode
from tallystick.records.errors import NotFound
from tallystick.records.fact import text_of
from tallystick.records.operations import EPISODE_PUT
from tallystick.surfaces.present.text import one_line
from tallystick.surfaces.web.filters import visible_lines
from tallystick.surfaces.web.render import render, with_memory

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory

AROUND = 4  # turns on either side
_REACH = 300  # events on either side that are searched for turns of the session


async def _show(request: Request) -> Response:
    name = request.path_params["name"]
    return render(request, "episode.html", turn=await with_memory(request, lambda memory: _view(memory, name)))


def _view(memory: Memory, name: str) -> dict[str, Any]:
    episode = memory.episodes.find(name)
    if episode is None:
        raise NotFound(f"no episode named {name[:80]!r}; see the timeline")
    session = list(_session(memory, episode)) if episode.session else []
    return {
        "episode": episode,
        "words": visible_lines(episode.content),
        "before": [each for each in session if each.seq < episode.seq][-AROUND:],
        "after": [each for each in session if each.seq > episode.seq][:AROUND],
        "learned": [(fact, text_of(fact.payload)) for fact in memory.episodes.learned(episode.source)],
        "metadata": [(one_line(str(key)), one_line(str(value))) for key, value in episode.metadata.items()],
        "is_recalled": memory.is_shown(episode.source),
    }


def _session(memory: Memory, episode: Episode) -> Iterator[Episode]:
    """Episodes of the same session, near this one in the ledger."""
    for event in memory.log(max(0, episode.seq - _REACH), op=EPISODE_PUT):
        if event.seq > episode.seq + _REACH:
            return
        if event.body is not None and (other := Episode.of(event)).session == episode.session:
            yield other


routes: list[BaseRoute] = [Route("/episodes/{name:path}", _show, methods=["GET"])]

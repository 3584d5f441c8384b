"""One episode: what was said, word for word, what was said around it, and what was learned from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route

from tallystick.records.episode import Episode
from tallystick.records.errors import NotFound
from tallystick.records.fact_view import text_of
from tallystick.records.operations import EPISODE_PUT
from tallystick.surfaces.present.text import one_line
from tallystick.surfaces.web.plain_text import visible
from tallystick.surfaces.web.render import ask, shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.fact import Fact

AROUND = 4  # turns on either side
_LOOKED_AT = 300  # events on either side, among which turns of the session are looked for


@dataclass(frozen=True, slots=True)
class Turn:
    """One episode in its session."""

    episode: Episode
    words: str
    before: tuple[Episode, ...]
    after: tuple[Episode, ...]
    learned: tuple[tuple[Fact, str], ...]  # each with its words
    about_it: tuple[tuple[str, str], ...]  # what else was told of it
    is_shown: bool


def shown_of(memory: Memory, name: str) -> Turn:
    """The episode of that name, with its session around it."""
    episode = memory.episodes.find(name)
    if episode is None:
        raise NotFound(f"nothing was told as {name[:80]!r}; the timeline shows what was")
    around = list(_around(memory, episode)) if episode.session else []
    before = [each for each in around if each.seq < episode.seq]
    after = [each for each in around if each.seq > episode.seq]
    about_it = tuple((one_line(str(key)), one_line(str(value))) for key, value in episode.metadata.items())
    return Turn(
        episode, visible(episode.content), tuple(before[-AROUND:]), tuple(after[:AROUND]),
        tuple((fact, text_of(fact.payload)) for fact in memory.episodes.learned(episode.source)), about_it,
        memory.is_shown(episode.source),
    )  # fmt: skip


def _around(memory: Memory, episode: Episode) -> Iterator[Episode]:
    """What was said in the same session, near it in the ledger."""
    until = episode.seq + _LOOKED_AT
    for event in memory.log(max(0, episode.seq - _LOOKED_AT), op=EPISODE_PUT):
        if event.seq > until:
            return
        if event.body is not None and (told := Episode.of(event)).session == episode.session:
            yield told


async def _one(request: Request) -> Response:
    name = request.path_params["name"]
    return shown(request, "episode.html", turn=await ask(request, lambda memory: shown_of(memory, name)))


routes: list[BaseRoute] = [Route("/episodes/{name:path}", _one, methods=["GET"])]

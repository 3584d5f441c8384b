"""Graph: a thing and what it is related to, as a picture.

    GET /graph              who and what there is; with `q`, those whose names hold these words
    GET /graph?at=NAME      one with its neighbours; `expand=NAME`, as often as need be, adds those of others
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route

from tallystick.surfaces.web.graph_view import EXPANDED, listed, picture
from tallystick.surfaces.web.render import ask, is_piece, shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.surfaces.web.graph_view import Known, Picture


async def _graph(request: Request) -> Response:
    said = request.query_params
    name, words, expand = said.get("at", "").strip(), said.get("q", "").strip(), said.getlist("expand")[: 4 * EXPANDED]

    def look(memory: Memory) -> tuple[Picture | None, tuple[Known, ...], int]:
        drawn = picture(memory, name, expand) if name else None
        return drawn, *(((), 0) if drawn else listed(memory, words or name))

    drawn, entities, count = await ask(request, look)
    if drawn:
        return shown(request, "graph_picture.html" if is_piece(request) else "graph_at.html", picture=drawn)
    return shown(request, "graph.html", entities=entities, count=count, words=words or name, missed=name)


routes: list[BaseRoute] = [Route("/graph", _graph, methods=["GET"])]

"""One belief: what it says, why it stands, what stands on it, every version it had, and where it comes from.

    GET  /beliefs/{name}          by its key, any of its ids, or the end of one; `edit` shows the form
    POST /beliefs/{name}          what `do` says: change, forget, helped, misled
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route

from tallystick.records.errors import Refused
from tallystick.surfaces.web.belief_view import shown_of
from tallystick.surfaces.web.filters import segment
from tallystick.surfaces.web.render import ask, form_of, shown, then
from tallystick.surfaces.web.revise import DONE, begin, forgotten, reworded, shown_form

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory


async def _one(request: Request) -> Response:
    name, said = request.path_params["name"], request.query_params
    if "edit" in said:
        return shown_form(request, await ask(request, lambda memory: begin(memory, name)))
    found = await ask(request, lambda memory: shown_of(memory, name, path=said.get("path", "")))
    if isinstance(found, str):
        return then(f"/episodes/{segment(found)}")
    return shown(request, "belief.html", it=found, done=DONE.get(said.get("done", ""), ""))


async def _taken(request: Request) -> Response:
    form = await form_of(request)
    what = form.get("do", "")
    if what == "change":
        return await reworded(request, form, _change)
    if what not in _ACTS:
        raise Refused("this form says nothing that can be done to a belief; open its page again")
    done = await ask(request, lambda memory: _ACTS[what](memory, form))
    return then(f"/beliefs/{segment(form.get('version', ''))}?done={done}")


def _change(memory: Memory, version: str, text: str, reason: str) -> str:
    if not text.strip():
        raise Refused("there is nothing to say instead; to take it back, forget it", "required")
    return memory.revise(version, text, reason=reason).id


def _helped(memory: Memory, form: Mapping[str, str]) -> str:
    memory.outcome([form.get("version", "")], 1.0, reason=form.get("reason", "").strip())
    return "counted"


def _misled(memory: Memory, form: Mapping[str, str]) -> str:
    memory.outcome([form.get("version", "")], 0.0, reason=form.get("reason", "").strip())
    return "counted"


_ACTS = {"forget": forgotten, "helped": _helped, "misled": _misled}

routes: list[BaseRoute] = [  # a key may hold a slash
    Route("/beliefs/{name:path}", _one, methods=["GET"]),
    Route("/beliefs/{name:path}", _taken, methods=["POST"]),
]

"""Entities: merging two that are one, and splitting one that is two. What would change is shown first.

    GET  /merge    `name` and `into`: what would go along
    POST /merge    merge them
    GET  /split    `name`: its beliefs, to be chosen; with `belief` (repeatable) and `to`: what would be moved
    POST /split    move them; `beliefs` are ids with spaces between
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.entity import Filing
from tallystick.records.errors import NotFound, Refused, TallystickError
from tallystick.surfaces.web.changes import shown
from tallystick.surfaces.web.render import page_status, page_titles, read_form, redirect, render, suggested, with_memory

_LISTED = 300  # beliefs to choose from


async def merge(request: Request) -> Response:
    if request.method == "POST":
        form = await read_form(request)
        name, into = form.get("name", ""), form.get("into", "")
        done = await with_memory(request, lambda memory: memory.graph.merge(name, into, sure=True).filing)
        return redirect(f"/timeline/{done.seq if done else ''}?done=merged")
    name, into = (request.query_params.get(each, "").strip() for each in ("name", "into"))

    def look(memory: Memory) -> dict[str, Any]:
        if not name or not into:
            return {}
        found = memory.graph.merge(name, into, dry_run=True)
        given = {"name": found.likeness.gone, "into": found.likeness.keep}
        return {"filing": found.filing, "given": given, "reasons": found.likeness.reasons}

    return await _page(request, "merge", look, {"name": name, "into": into})


async def split(request: Request) -> Response:
    if request.method == "POST":
        form = await read_form(request)
        name, to, ids = form.get("name", ""), form.get("to", ""), form.get("beliefs", "").split()
        done = await with_memory(request, lambda memory: memory.graph.split(name, ids, to))
        return redirect(f"/timeline/{done.seq}?done=split")
    query = request.query_params
    name, to, chosen = query.get("name", "").strip(), query.get("to", "").strip(), query.getlist("belief")

    def look(memory: Memory) -> dict[str, Any]:
        if chosen and to:
            given = {"name": name, "to": to, "beliefs": " ".join(chosen)}
            return {"filing": memory.graph.split(name, chosen, to, dry_run=True), "given": given}
        about = next(iter(memory.entities.called(name)), name)
        return {"beliefs": memory.beliefs.query(about=about)[:_LISTED]}

    return await _page(request, "split", look, {"name": name, "to": to, "chosen": chosen})


async def _page(request: Request, verb: str, look: Any, typed: dict[str, Any]) -> Response:
    def work(memory: Memory) -> dict[str, Any]:
        titles, error = page_titles(memory), None
        try:
            found = look(memory)
        except (Refused, NotFound) as caught:
            found, error = {}, caught
        filing: Filing | None = found.get("filing")
        lines, fields = shown(filing.changes) if filing else [], suggested(titles)
        unique = {value for value, _ in fields} & {titles.get(typed["name"], "")}
        typed["name"] = next(iter(unique), typed["name"])
        return {"filing": None, "given": {}, "beliefs": [], "reasons": (), **found, "lines": lines,
                "titles": titles, "suggested": fields, "error": error}  # fmt: skip

    found = await with_memory(request, work)
    error: TallystickError | None = found["error"]
    status = page_status(error) if error else 200
    return render(request, "refile.html", verb=verb, found=found, typed=typed, status=status)

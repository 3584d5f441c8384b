"""Changes: what differs between two moments; and undoing one, which is shown first.

    GET  /changes    `since` and `until` as people name moments, `about` one entity
    GET  /undo       what undoing `event` would put back: an event's number or id, or a belief; without it, the last
    POST /undo       undo it
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.belief import Change
from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.present.beliefs import STEPS
from tallystick.surfaces.present.changes import WHAT
from tallystick.surfaces.present.names import read_moment
from tallystick.surfaces.present.text import short
from tallystick.surfaces.web.filters import diff
from tallystick.surfaces.web.render import page_status, page_titles, read_form, redirect, render, suggested, with_memory

_LISTED = 200  # changes of a page
_FIELD = 200  # characters of a field


def shown(changes: tuple[Change, ...] | list[Change]) -> list[dict[str, Any]]:
    """Each change in words: what became of it, the difference of its text, and of what it is about."""
    found = []
    for each in changes[:_LISTED]:
        before, after = each.before, each.after
        is_new_text = before and after and before.text != after.text
        moved = (before.about, after.about) if before and after and before.about != after.about else None
        found.append({
            "change": each, "belief": after or before, "verb": WHAT[each.what], "moved": moved,
            "words": diff(before.text, after.text) if before and after and is_new_text else (),
        })  # fmt: skip
    return found


async def show(request: Request) -> Response:
    typed = {name: request.query_params.get(name, "").strip()[:_FIELD] for name in ("since", "until", "about")}

    def work(memory: Memory) -> dict[str, Any]:
        titles, error, found = page_titles(memory), None, list[Change]()
        try:
            if typed["since"] or typed["until"] or typed["about"]:
                found = memory.diff(_moment(typed["since"]) or 0, _moment(typed["until"]), typed["about"])
        except Refused as caught:
            error = caught
        found.reverse()
        return {
            "lines": shown(found), "count": len(found), "error": error, "titles": titles,
            "suggested": suggested(titles),
        }  # fmt: skip

    found = await with_memory(request, work)
    status = page_status(found["error"]) if found["error"] else 200
    return render(request, "changes.html", found=found, typed=typed, status=status)


def _moment(said: str) -> Any:
    """A number or a time, in this machine's zone; else the words."""
    try:
        return read_moment(said) if said else None
    except Refused:
        return said


async def preview(request: Request) -> Response:
    event = request.query_params.get("event", "").strip()[:_FIELD]
    return await _preview(request, event)


async def _preview(request: Request, event: str, error: Refused | None = None) -> Response:
    def work(memory: Memory) -> dict[str, Any]:
        refused, undone = error, None
        try:
            undone = memory.undo(event or None, dry_run=True)
        except Refused as caught:
            if isinstance(caught, NotFound) and event:
                raise
            refused = refused or caught
        lines = shown(undone.changes) if undone else []
        verb = STEPS.get(undone.op) or undone.op.partition("/")[0].replace(".", " ") if undone else ""
        return {"undone": undone, "lines": lines, "verb": verb, "error": refused, "titles": page_titles(memory)}

    found = await with_memory(request, work)
    status = page_status(error) if error else 200  # a look says why it is refused
    return render(request, "undo.html", found=found, event=event, status=status)


async def undo(request: Request) -> Response:
    form = await read_form(request)
    event, reason = form.get("event", ""), form.get("reason", "").strip()
    if not event:
        raise Refused("name the change to undo; open it from the timeline", "required")
    try:
        done = await with_memory(request, lambda memory: memory.undo(event, reason=short(reason, 500)))
    except Refused as error:
        return await _preview(request, event, error)
    return redirect(f"/timeline/{done.seq}?done=undone")

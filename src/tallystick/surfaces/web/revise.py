"""Saying a belief otherwise, in a form: which version was read, what it said, what is typed, and what came between.

It becomes a version that takes the place of the one that was read. If that one was replaced meanwhile, or it is
refused, nothing is changed: the form comes back with the reason, both texts, and all that was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from tallystick.records.errors import Busy, Moved, NotFound, Refused, TallystickError
from tallystick.records.review import Applied
from tallystick.surfaces.present.diff import Piece
from tallystick.surfaces.server.http_status import status_of
from tallystick.surfaces.web.filters import segment
from tallystick.surfaces.web.plain_text import differing
from tallystick.surfaces.web.render import ask, is_piece, shown, then

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief

Change = Callable[["Memory", str, str, str], str]  # version, text, reason; the id of the version that holds then

DONE = {
    "changed": "Changed. What it said before is in its history.",
    "same": "Nothing was changed: it said that already.",
    "added": "Added.",
    "forgotten": "Forgotten. It stays in history, and is recalled no more.",
    "waits": "That needs a yes first: it waits among the reviews.",
    "archived": "Put away. It stays where it is, and is listed apart.",
    "active": "Taken up again.",
    "masked": "Kept, without what looks like a secret: that was masked.",
    "synced": "Looked at every file: what was edited there is taken in.",
    "counted": "Noted. Recall takes it into account.",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that is being changed."""

    version: str  # that was read, and that it takes the place of
    text: str  # as it is typed
    reason: str
    to: str  # where the form is sent, and where one goes back to
    trouble: str = ""  # why it was not taken
    now: str = ""  # what it says by now, if that is not what was read
    changes: tuple[Piece, ...] = ()  # from what was read to what it says now


def begin(memory: Memory, version: str, *, page: str = "") -> Draft:
    """The form for a belief as it is held now."""
    belief = memory.show(version)
    if page and memory.pages.name_of(belief.about).rpartition("/")[2] != f"{page}.md":
        raise NotFound(f"{version[:60]!r} is no entry of {page}; open the page again")
    return Draft(belief.id, belief.text, "", _to(belief, page))


def forgotten(memory: Memory, form: Mapping[str, str]) -> str:
    """Forget what the form says, exactly as it was read; what came of it, as `DONE` names it."""
    version = form.get("version", "")
    action = memory.action("forget", version, reason=form.get("reason", "").strip())
    if action.target != (version,):
        raise Moved("it was changed meanwhile; read it again, and decide again")
    return "forgotten" if isinstance(memory.propose(action), Applied) else "waits"


async def reworded(request: Request, form: Mapping[str, str], change: Change, *, page: str = "") -> Response:
    """Change what the form says, and look at it; or show the form again."""
    version, text, reason = form.get("version", ""), form.get("text", "").strip("\n"), form.get("reason", "").strip()

    def work(memory: Memory) -> tuple[str, str] | tuple[Draft, TallystickError]:
        try:
            newest = change(memory, version, text, reason)
        except (Moved, Refused, Busy) as error:
            if isinstance(error, NotFound):
                raise
            return _again(memory, Draft(version, text, reason, "", str(error)), error, page), error
        done = "same" if newest == version else "masked" if memory.masked else "changed"
        where = f"/pages/{segment(page)}" if page else f"/beliefs/{segment(newest)}"
        return "", f"{where}?done={done}" + (f"#entry-{segment(newest)}" if page else "")

    draft, then_what = await ask(request, work)
    if isinstance(draft, Draft) and isinstance(then_what, TallystickError):
        return shown_form(request, draft, status=shown_as(then_what))
    return then(str(then_what))


def shown_as(error: TallystickError) -> int:
    """The status of a page that tells of it. A question that waits is not what was asked for."""
    status = status_of(error)
    return HTTPStatus.CONFLICT if status == HTTPStatus.ACCEPTED else status


def shown_form(request: Request, draft: Draft, *, status: int = 200) -> Response:
    """The form by itself, or as a piece of the page that asks for it."""
    return shown(request, "rewording_form.html" if is_piece(request) else "rewording.html", status=status, draft=draft)


def _again(memory: Memory, draft: Draft, why: TallystickError, page: str) -> Draft:
    """What was typed. If the belief moved, the next try takes the place of what is held now."""
    belief = memory.show(draft.version)
    draft = replace(draft, to=_to(belief, page))
    if not isinstance(why, Moved):
        return draft
    versions = memory.history(draft.version)
    read = next((each.belief.text for each in versions if each.belief.id == draft.version), "")
    return replace(draft, version=belief.id, now=belief.text, changes=differing(read, belief.text))


def _to(belief: Belief, page: str) -> str:
    return f"/pages/{segment(page)}" if page else f"/beliefs/{segment(belief.id)}"

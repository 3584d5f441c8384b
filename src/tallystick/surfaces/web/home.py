"""Home: what was learned lately, what waits for a yes, whether the chain is whole; and a place to say something.

What is said here is said by the person whose memory it is. A text that is refused stays in its field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.routing import BaseRoute, Route

from tallystick.records.belief import Belief
from tallystick.records.errors import Refused
from tallystick.surfaces.present.beliefs import DONE
from tallystick.surfaces.present.reviews import ASKS
from tallystick.surfaces.server.http_status import status_of
from tallystick.surfaces.web.filters import several
from tallystick.surfaces.web.page_view import page_of
from tallystick.surfaces.web.recent import RecentDay, lately
from tallystick.surfaces.web.render import ask, command_of, form_of, is_piece, shown, then

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.status import PendingReview, Status

_NAMED = 5  # beliefs that an answer names
_FIRST = ('remember "Ana prefers tea"', "connect", "import FILE")
_NOTHING_TYPED: Mapping[str, str] = {"text": "", "about": "", "tags": ""}


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of what was said here."""

    done: str
    belief: Belief
    page: str
    against: tuple[Belief, ...]
    near: tuple[Belief, ...]
    masked: bool
    before: str  # the words whose place it took


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits for a person's yes, in short."""

    id: str
    asks: str
    text: str
    trust: str


@dataclass(frozen=True, slots=True)
class Home:
    status: Status
    days: list[RecentDay]
    waiting: list[Waiting]
    first: tuple[str, ...]  # commands to begin with
    answer: Answer | None = None

    @property
    def is_fresh(self) -> bool:
        """Nothing was ever said here."""
        return not self.days and not (self.status.beliefs or self.status.episodes or self.status.trouble)


async def home(request: Request) -> Response:
    asked = request.query_params
    found = await ask(request, lambda memory: _home(memory, asked.multi_items()))
    if is_piece(request):
        return shown(request, "home_piece.html", home=found)
    return _page(request, found)


async def remember(request: Request) -> Response:
    """Hold true what the form says, and tell what became of it."""
    fields = await form_of(request)
    said = {name: fields.get(name, "").strip() for name in _NOTHING_TYPED}
    try:
        answer = await ask(request, lambda memory: _remembered(memory, said))
    except Refused as error:
        found = await ask(request, lambda memory: _home(memory, []))
        return _page(request, found, status=status_of(error), typed=said, wrong=str(error))
    return then(f"/?{urlencode(answer)}")


def _page(
    request: Request, found: Home, *, status: int = 200, typed: Mapping[str, str] = _NOTHING_TYPED, wrong: str = ""
) -> Response:
    told = list(getattr(request.app.state, "told", ()))
    return shown(request, "home.html", status=status, home=found, typed=typed, wrong=wrong, told=told)


def _home(memory: Memory, asked: list[tuple[str, str]]) -> Home:
    status = memory.status()
    first = tuple(command_of(memory, each, takes_user=each != "connect") for each in _FIRST)
    waiting = [_waiting(memory, each) for each in status.reviews]
    return Home(status, lately(memory), waiting, first, _answer(memory, asked))


def _waiting(memory: Memory, asked: PendingReview) -> Waiting:
    """With the words that it is about: those that would be said, or those that are held."""
    action = memory.reviews.get(asked.id).action
    said, held = action.changes.get("text"), memory.get(action.target[0]) if action.target else None
    text = said if isinstance(said, str) else held.text if held else ""
    asks = "Remember" if action.verb == "remember" else ASKS[action.cell]
    return Waiting(asked.id, asks, text or asked.asks, asked.trust)


def _remembered(memory: Memory, said: Mapping[str, str]) -> list[tuple[str, str]]:
    """Say it. What is answered goes into the address of the page that shows it: names, and no words."""
    belief = memory.remember(said["text"], about=said["about"], tags=several(said["tags"]))
    answer = belief.answer
    assert answer is not None  # whoever states something is always answered
    told = [("said", belief.id), ("how", answer.what), *(("against", name) for name in answer.contradicts[:_NAMED])]
    return [*told, *(("near", name) for name in answer.near[:_NAMED]), *([("masked", "1")] if memory.masked else [])]


def _answer(memory: Memory, asked: list[tuple[str, str]]) -> Answer | None:
    """What the address says became of what was said; None, if it says nothing, or nothing that is known."""
    given = dict(asked)
    belief = memory.get(given["said"]) if given.get("said") else None
    if belief is None or given.get("how") not in DONE:
        return None
    named = {
        which: tuple(filter(None, (memory.get(name) for key, name in asked if key == which and name)))[:_NAMED]
        for which in ("against", "near")
    }
    return Answer(
        DONE[given["how"]], belief, page_of(memory, belief.about), named["against"], named["near"],
        "masked" in given, _before(memory, belief) if given["how"] in ("corrected", "revised") else "",
    )  # fmt: skip


def _before(memory: Memory, belief: Belief) -> str:
    """The words of the version before this one."""
    texts = [version.belief.text for version in memory.history(belief.id) if version.seq < belief.seq]
    return texts[-1] if texts and texts[-1] != belief.text else ""


routes: list[BaseRoute] = [Route("/", home, methods=["GET"]), Route("/", remember, methods=["POST"])]

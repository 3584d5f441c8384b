"""Home: what was learned recently, pending reviews, the state of the ledger; and a form to remember something.

The form speaks as the owner of the memory. Text that is refused stays in its field.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.belief import Belief
from tallystick.records.episode import Episode
from tallystick.records.errors import Damaged, Refused, TallystickError
from tallystick.records.event import Event
from tallystick.records.policy import DEFAULT
from tallystick.surfaces.present.beliefs import DONE
from tallystick.surfaces.present.names import day_name, day_of
from tallystick.surfaces.present.reviews import asks
from tallystick.surfaces.web.filters import words
from tallystick.surfaces.web.render import (
    command_for,
    page_of,
    page_status,
    page_titles,
    read_form,
    redirect,
    render,
    suggested,
    with_memory,
)

_NAMED = 5  # beliefs that the answer to a form names
_LINES = 12  # of what was learned recently
_CHUNK = 128  # events that are read at once
_REACH = 2048  # events that are read at most
_FIRST = ('remember "Ana prefers tea"', "connect", "import FILE")
_EMPTY: Mapping[str, str] = {"text": "", "about": "", "tags": ""}

Query = list[tuple[str, str]]


async def show(request: Request) -> Response:
    query = request.query_params.multi_items()
    return _page(request, await with_memory(request, lambda memory: _view(memory, query)))


async def remember(request: Request) -> Response:
    fields = await read_form(request)
    typed = {name: fields.get(name, "").strip() for name in _EMPTY}
    try:
        query = await with_memory(request, lambda memory: _save(memory, typed))
    except Refused as error:
        found = await with_memory(request, lambda memory: _view(memory, []))
        return _page(request, found, status=page_status(error), typed=typed, error=str(error))
    return redirect(f"/?{urlencode(query)}")


def _page(
    request: Request, found: dict[str, Any], *, status: int = 200, typed: Mapping[str, str] = _EMPTY, error: str = ""
) -> Response:
    return render(
        request, "home.html", piece="home_piece.html", status=status, home=found, typed=typed, error=error,
        notices=list(request.app.state.notices),
    )  # fmt: skip


def _view(memory: Memory, query: Query) -> dict[str, Any]:
    status, days, titles = memory.status(), _recent(memory), page_titles(memory)
    return {
        "status": status, "days": days, "reviews": [_review(memory, each.id) for each in status.reviews],
        "first": [command_for(memory, each, takes_user=each != "connect") for each in _FIRST],
        "is_new": not (days or status.beliefs or status.episodes or status.trouble), "answer": _answer(memory, query),
        "titles": titles, "suggested": suggested(titles),
    }  # fmt: skip


def _review(memory: Memory, name: str) -> dict[str, str]:
    """A pending review in short, with the new text, or the current text of what it is about."""
    review = memory.reviews.get(name)
    action, text = review.action, review.action.changes.get("text")
    if not isinstance(text, str):
        belief = memory.get(action.target[0]) if action.target else None
        text = belief.text if belief else ""
    return {"id": name, "asks": asks(review), "text": text or action.label, "trust": action.trust}


def _save(memory: Memory, typed: Mapping[str, str]) -> Query:
    """Remember it. Returns the query of the page that shows the result: only names, no text."""
    belief = memory.remember(typed["text"], about=typed["about"], tags=words(typed["tags"]))
    answer = belief.answer
    assert answer is not None  # remembering always has an answer
    return [
        ("said", belief.id), ("how", answer.what),
        *(("against", name) for name in answer.contradicts[:_NAMED]),
        *(("near", name) for name in answer.near[:_NAMED]),
        *([("masked", "1")] if memory.masked else []),
    ]  # fmt: skip


def _answer(memory: Memory, query: Query) -> dict[str, Any] | None:
    """The result of remembering, by the query of the page; None if that names nothing."""
    given = dict(query)
    belief = memory.get(given["said"]) if given.get("said") else None
    if belief is None or given.get("how") not in DONE:
        return None

    def named(field: str) -> list[Belief]:
        return [found for key, name in query if key == field and name and (found := memory.get(name))][:_NAMED]

    older = [version.belief.text for version in memory.history(belief.id) if version.seq < belief.seq]
    is_replaced = given["how"] in ("corrected", "revised") and older and older[-1] != belief.text
    return {
        "done": DONE[given["how"]], "belief": belief, "page": page_of(memory, belief.about),
        "against": named("against"), "near": named("near"), "masked": "masked" in given,
        "marks": memory.marks(belief.id),
        "before": older[-1] if is_replaced else "",
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Learned:
    """A belief or an episode, as one line of a list."""

    what: str  # belief or episode
    id: str  # the version, or the event: as an address names it
    text: str
    at: str  # when it was recorded
    trust: str
    agent: str
    session: str
    page: str = ""
    tags: tuple[str, ...] = ()
    reason: str = ""
    is_pending: bool = False  # needs approval before it is recalled
    turns: int = 1


def _recent(memory: Memory) -> list[tuple[str, list[Learned]]]:
    """Recently learned beliefs and episodes by day, newest first. Consecutive turns of a conversation are one line.

    The ledger is read backwards from its end, so a long one costs no more. What was forgotten, retracted or erased
    since is left out; of a damaged ledger, what can be read is shown.
    """
    found = list[Learned]()
    for each in _newest(memory):
        last = found[-1] if found else None
        is_turn = last is not None and last.what == each.what == "episode" and bool(each.session)
        if last and is_turn and last.session == each.session and day_of(last.at) == day_of(each.at):
            found[-1] = replace(last, turns=last.turns + 1)
        elif len(found) == _LINES:
            break
        else:
            found.append(each)
    return [(day_name(day), list(group)) for day, group in groupby(found, key=lambda each: day_of(each.at))]


def _newest(memory: Memory) -> Iterator[Learned]:
    keys, gone, restored = set[str](), set[str](), set[str]()
    for event in _backwards(memory):
        if event.body is None:
            continue
        if event.op == "episode.restore/1":
            restored.update(event.body["ids"])
        elif event.op in ("episode.retract/1", "episode.fade/1"):
            gone.update(set(event.body["ids"]) - restored)
        elif event.op == "episode.put/1":
            if event.id not in gone and not event.body["episode"].get("path"):
                turn = Episode.of(event)
                yield Learned("episode", turn.source, turn.content, turn.recorded, turn.trust, turn.agent, turn.session)
        elif event.op in ("belief.put/1", "belief.supersede/1"):
            yield from _belief(memory, event.body["belief"]["id"], keys)


def _backwards(memory: Memory) -> Iterator[Event]:
    """Events, newest first, down to where the ledger is damaged."""
    stop, much = memory.ledger.size, _CHUNK
    floor = max(stop - _REACH, 0)
    while stop > floor:
        try:
            yield from memory.log_page(before=stop, limit=much, reach=much).events
            stop -= much
        except Damaged:  # one by one, down to that line
            if much == 1:
                return
            much = 1


def _belief(memory: Memory, name: str, keys: set[str]) -> Iterator[Learned]:
    """The belief's current version, if there is one and it is not in the list already."""
    try:
        belief = memory.get(name)
    except TallystickError:
        return
    if belief is None or not belief.is_held or not belief.text or belief.key in keys:
        return
    keys.add(belief.key)
    is_pending = belief.trust in DEFAULT.quarantined and not memory.is_shown(belief.id)
    page = "" if is_pending or belief.path else page_of(memory, belief.about)  # what is pending is on no page yet
    yield Learned(
        "belief", belief.id, belief.text, belief.at, belief.trust, belief.agent, belief.session, page, belief.tags,
        belief.reason, is_pending,
    )  # fmt: skip

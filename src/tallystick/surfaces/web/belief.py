"""One belief: its text, reasons, dependents, versions and sources; and the forms that change it. And one episode.

    GET  /beliefs/{name}    by key, by any of its ids, or by the end of one; `edit` shows the form
    POST /beliefs/{name}    `do` is change, forget, helped or misled
    GET  /episodes/{name}   word for word, with what came before and after it, and what was learned from it

Long lists are cut, and say so. A change becomes a version in place of the one that was read. If that one has been
replaced, or the change is refused, nothing is changed: the form comes back with the reason and what was typed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.belief import Belief, Version, Why
from tallystick.records.episode import Episode
from tallystick.records.errors import Busy, Moved, NotFound, Refused, TallystickError
from tallystick.records.fact import steps_in, text_of
from tallystick.records.operations import EPISODE_PUT
from tallystick.records.review import Applied
from tallystick.surfaces.present.beliefs import STANDING, STEPS
from tallystick.surfaces.present.diff import Piece
from tallystick.surfaces.present.text import one_line, visible_lines
from tallystick.surfaces.web.filters import diff, segment
from tallystick.surfaces.web.markdown import html
from tallystick.surfaces.web.render import (
    page_of,
    page_status,
    page_titles,
    read_form,
    redirect,
    render,
    with_memory,
)

Change = Callable[["Memory", str, str, str], str]  # version, text, reason; returns the id of the current version

DONE = {
    "changed": "Changed. The previous version is in its history.",
    "same": "Nothing to change: it already says that.",
    "added": "Added.",
    "forgotten": "Forgotten. It stays in the history and is no longer recalled.",
    "waits": "This change needs approval first. It is now a pending review.",
    "archived": "Archived. The page is kept, and listed separately.",
    "active": "Restored.",
    "masked": "Saved. Part of it looks like a secret and was masked.",
    "synced": "Synced. Edits in files are imported.",
    "counted": "Saved. Recall takes it into account.",
}
AROUND = 4  # episodes of its session before and after one
_REACH = 300  # events on either side that are searched for them
_LIMIT = 50  # items of each list
_DEPTH = 8  # levels of reasons
_COMPARED = (
    "confidence", "status", "kind", "tags", "about", "is_hypothesis", "valid_from", "valid_to", "expires", "always",
    "trust",
)  # fmt: skip


async def show(request: Request) -> Response:
    name, query = request.path_params["name"], request.query_params
    if "edit" in query:
        return draft_form(request, await with_memory(request, lambda memory: new_draft(memory, name)))
    found = await with_memory(request, lambda memory: _view(memory, name, query.get("path", "")))
    if isinstance(found, str):
        return redirect(f"/episodes/{segment(found)}")
    done, undo = done_in(query)
    return render(request, "belief.html", it=found, done=done, undo=undo)


async def act(request: Request) -> Response:
    form = await read_form(request)
    action, version, reason = form.get("do", ""), form.get("version", ""), form.get("reason", "").strip()
    if action == "change":
        return await revise(request, form, _change)

    def work(memory: Memory) -> str:
        if action == "forget":
            return forget(memory, form)
        memory.outcome([version], 1.0 if action == "helped" else 0.0, reason=reason)
        return "counted"

    if action not in ("forget", "helped", "misled"):
        raise Refused("unknown action for a belief; reload its page and try again")
    done = await with_memory(request, work)
    more = f"&undo={segment(version)}" if done == "forgotten" else ""
    return redirect(f"/beliefs/{segment(version)}?done={done}{more}")


def done_in(query: Mapping[str, str]) -> tuple[str, str]:
    """What was done, for a notice, and the name of the change, to undo it."""
    return DONE.get(query.get("done", ""), ""), query.get("undo", "")


def _change(memory: Memory, version: str, text: str, reason: str) -> str:
    if not text.strip():
        raise Refused("the new text is empty; to remove a belief, forget it", "required")
    return memory.revise(version, text, reason=reason).id


def _view(memory: Memory, name: str, path: str) -> dict[str, Any] | str:
    """The belief of that name and everything around it; or the id of an episode, if that is what the name names."""
    belief = memory.get(name, path=path)
    if belief is None:
        if episode := memory.episodes.find(name):
            return episode.id
        raise NotFound(f"no belief named {name[:80]!r}; try the search")
    versions, answer = memory.history(belief.id, path=path), memory.similar(belief.id, path=path)
    withheld = memory.withheld(belief.id, path=path) if belief.is_held else None
    page = "" if belief.path else page_of(memory, belief.about)
    contradicted = [memory.show(each, path=path) for each in answer.contradicts]
    return {
        "belief": belief, "html": html(belief.text), "status": STANDING.get(belief.status, belief.status),
        "withheld": withheld.why if withheld else "", "page": page,
        "title": page_titles(memory).get(page, belief.about),
        "reasons": list(_reasons(memory.why(belief.id, path=path))),
        "dependents": memory.dependents(belief.id, path=path)[:_LIMIT], "steps": list(islice(_steps(versions), _LIMIT)),
        "versions": len(versions), "sources": list(_sources(memory, belief)),
        "contradicts": list(zip(contradicted, answer.why, strict=True)),
        "near": [memory.show(each, path=path) for each in answer.near], "marks": answer.marks,
        "links": [link for link in memory.links(belief.id, path=path) if link.entity != belief.about],
        "reviews": [review for review in memory.reviews.waiting() if belief.id in review.action.target],
    }  # fmt: skip


def _reasons(why: Why, depth: int = 0) -> Iterator[tuple[int, Belief, tuple[str, ...]]]:
    yield depth, why.belief, why.because
    if depth < _DEPTH:
        for below in why.rests_on:
            yield from _reasons(below, depth + 1)


def _steps(versions: list[Version]) -> Iterator[tuple[Version, str, tuple[Piece, ...], list[tuple[str, str, str]]]]:
    """Every version, newest first: what was done, what changed in the text, and which fields changed from what."""
    for at in range(len(versions) - 1, -1, -1):
        now, before = versions[at].belief, versions[at - 1].belief if at else versions[at].belief
        fields = [
            (name.replace("_", " "), _value(getattr(before, name)), _value(getattr(now, name))) for name in _COMPARED
            if getattr(before, name) != getattr(now, name)
        ]  # fmt: skip
        changes = diff(before.text, now.text) if before.text != now.text else ()
        yield versions[at], STEPS.get(versions[at].op, versions[at].op), changes, fields


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return STANDING.get(str(value), str(value)) or "none"


def _sources(memory: Memory, belief: Belief) -> Iterator[tuple[str, Episode | None, str]]:
    """The episodes that it comes from, newest first, each with the rule that made it a fact."""
    rules: dict[str, str] = {}
    for step in steps_in(belief.views):
        names = step.get("source_episode_ids")
        for name in names if isinstance(names, list) else ():
            if isinstance(name, str):
                rules[name] = str(step.get("rule_id", ""))
    for name in list(reversed(rules))[:_LIMIT]:
        yield name, memory.episodes.find(name), rules[name]


# -- the forms, also those of a page's entries -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draft:
    version: str  # that was read, and that is replaced
    text: str  # as typed
    reason: str
    to: str  # the address of the form, and of the page behind it
    error: str = ""
    now: str = ""  # the current text, if it is not what was read
    changes: tuple[Piece, ...] = ()  # from what was read to the current text


def new_draft(memory: Memory, version: str, *, page: str = "") -> Draft:
    """The form for the current version of a belief; refused if it is not an entry of `page`."""
    belief = memory.show(version)
    if page and memory.pages.name_of(belief.about).rpartition("/")[2] != f"{page}.md":
        raise NotFound(f"{version[:60]!r} is not an entry of {page}; reload the page")
    return Draft(belief.id, belief.text, "", _address(belief.id, page))


def draft_form(request: Request, draft: Draft, *, status: int = 200) -> Response:
    """The form on a page of its own, or as a piece of the page that asks for it."""
    return render(request, "revise.html", piece="revise_form.html", status=status, draft=draft)


def forget(memory: Memory, form: Mapping[str, str]) -> str:
    """Forget exactly the version that was read. Returns a name in `DONE`."""
    version = form.get("version", "")
    action = memory.action("forget", version, reason=form.get("reason", "").strip())
    if action.target != (version,):
        raise Moved("it has changed in the meantime; read it again and decide again")
    return "forgotten" if isinstance(memory.propose(action), Applied) else "waits"


async def revise(request: Request, form: Mapping[str, str], change: Change, *, page: str = "") -> Response:
    """Apply a change and show the result; or show the form again."""
    version, text, reason = form.get("version", ""), form.get("text", "").strip("\n"), form.get("reason", "").strip()

    def work(memory: Memory) -> str | tuple[Draft, TallystickError]:
        try:
            newest = change(memory, version, text, reason)
        except NotFound:
            raise
        except (Moved, Refused, Busy) as error:
            return _retry(memory, Draft(version, text, reason, "", str(error)), error, page), error
        done = "same" if newest == version else "masked" if memory.masked else "changed"
        query = f"?done={done}" + ("" if done == "same" else f"&undo={segment(newest)}")
        return _address(newest, page) + query + (f"#entry-{segment(newest)}" if page else "")

    outcome = await with_memory(request, work)
    if isinstance(outcome, str):
        return redirect(outcome)
    draft, error = outcome
    return draft_form(request, draft, status=page_status(error))


def _retry(memory: Memory, draft: Draft, error: TallystickError, page: str) -> Draft:
    """The same form with what was typed. If the belief has changed, the next try replaces its current version."""
    belief = memory.show(draft.version)
    draft = replace(draft, to=_address(belief.id, page))
    if not isinstance(error, Moved):
        return draft
    texts = {each.belief.id: each.belief.text for each in memory.history(draft.version)}
    changes = diff(texts.get(draft.version, ""), belief.text)
    return replace(draft, version=belief.id, now=belief.text, changes=changes)


def _address(version: str, page: str) -> str:
    return f"/pages/{segment(page)}" if page else f"/beliefs/{segment(version)}"


async def show_episode(request: Request) -> Response:
    name = request.path_params["name"]
    return render(request, "episode.html", turn=await with_memory(request, lambda memory: _episode(memory, name)))


def _episode(memory: Memory, name: str) -> dict[str, Any]:
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

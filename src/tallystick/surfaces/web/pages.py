"""Pages: everything known about one entity, to read and edit.

    GET  /pages                    all pages by kind; with `q`, the pages and entries that match
    GET  /pages/{name}             one page, newest entries first; `earlier` adds replaced ones, `before` goes on
    GET  /pages/{name}?edit=ID     the form for one entry; `file` shows the page as its Markdown file
    POST /pages                    a page's first entry; or, with `do=sync`, import edits from all files
    POST /pages/{name}             `do` is add, change, forget, archive or activate

Opening a page imports what was edited in its file, so the page shows what the file says. A replaced entry shows under
its successor, as a difference.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.belief import Belief
from tallystick.records.entity import PREFIXES, kind_of
from tallystick.records.errors import Busy, Refused, TallystickError
from tallystick.records.page import PageEntry, PageInfo, PageText
from tallystick.surfaces.present.diff import Piece
from tallystick.surfaces.present.names import called, page_name, resolved
from tallystick.surfaces.present.text import visible_lines
from tallystick.surfaces.web.belief import DONE, done_in, draft_form, forget, new_draft, revise
from tallystick.surfaces.web.filters import diff, segment
from tallystick.surfaces.web.markdown import all_html
from tallystick.surfaces.web.render import page_status, read_form, redirect, render, with_memory

AT_ONCE = 50  # entries of a page
_VERSIONS = 20  # of an entry
_PAGES = 300  # of one kind
_MATCHES = 50
_KINDS = {
    "user": "You", "person": "People", "project": "Projects", "org": "Organisations", "tool": "Tools",
    "event": "Events", "topic": "Topics",
}  # fmt: skip
_TAGS = re.compile(r"[\s,#]+")
_NOT_A_NAME = re.compile(r"[^\w]+")


async def list_pages(request: Request) -> Response:
    words = request.query_params.get("q", "").strip()
    found = await with_memory(request, lambda memory: _overview(memory, words))
    done = DONE.get(request.query_params.get("done", ""), "")
    return render(request, "pages.html", piece="pages_list.html", found=found, done=done, once=token_hex(8))


def _overview(memory: Memory, words: str) -> dict[str, Any]:
    """All pages, or those whose names match `words` and the entries that do."""
    seq = memory.ledger.size - 1  # before the list is read: later events cause another look
    infos = memory.pages.list(include_dormant=True, include_archived=True)
    found = [(called(info), info) for info in infos if _matches(info, words)]  # each with the name that opens it
    groups = []
    for kind, title in _KINDS.items():
        active = [(name, info) for name, info in found if info.status == "active" and kind_of(info.about) == kind]
        if active:
            groups.append({"title": title, "pages": active[:_PAGES], "count": len(active)})
    entries = memory.pages.search(words, top_k=_MATCHES, include_superseded=True) if words else []
    return {
        "words": words, "groups": groups,
        "archived": [(name, info) for name, info in found if info.status != "active"][:_PAGES],
        "matches": [(called(entry), entry) for entry in entries],
        "titles": {called(info): info.title for info in infos},
        "is_empty": not any(info.entry_count for info in infos), "seq": seq, "kinds": _KINDS,
    }  # fmt: skip


def _matches(info: PageInfo, words: str) -> bool:
    named = f"{called(info)} {info.title} {info.description} {' '.join(info.tags)}".casefold()
    return all(word in named for word in words.casefold().split())


async def create(request: Request) -> Response:
    """Add a page's first entry, which makes the page; or import what was edited in any file."""
    form = await read_form(request)
    if form.get("do") == "sync":
        await with_memory(request, lambda memory: memory.pages.sync())
        return redirect("/pages?done=synced")
    words = _NOT_A_NAME.sub("-", form.get("name", "").strip()).strip("-").lower()
    name = f"{form.get('kind', '')}-{words}"
    if not words:
        raise Refused("the page needs a name, like Ana or Harbor", "name")
    done = await with_memory(request, lambda memory: _append(memory, name, form))
    return redirect(f"/pages/{segment(name)}?done={done}")


@dataclass(frozen=True, slots=True)
class Card:
    """An entry, and its earlier versions: when each was written, and what its successor changed in it."""

    entry: PageEntry
    html: Markup
    belief: Belief | None  # None if it was erased
    earlier: list[tuple[str, tuple[Piece, ...]]]


async def show(request: Request) -> Response:
    name, query = request.path_params["name"], request.query_params
    if "edit" in query:
        draft = await with_memory(request, lambda memory: new_draft(memory, query["edit"], page=resolved(memory, name)))
        return draft_form(request, draft)
    earlier, before = "earlier" in query, query.get("before", "")
    page = await with_memory(request, lambda memory: _view(memory, resolved(memory, name), earlier, before))
    if "file" in query:
        return render(request, "page_file.html", page=page)
    done, undo = done_in(query)
    return _page(request, page, done=done, undo=undo)


def _page(
    request: Request, page: dict[str, Any], *, done: str = "", undo: str = "", error: str = "",
    typed: Mapping[str, str] | None = None, status: int = 200,
) -> Response:  # fmt: skip
    return render(
        request, "page.html", status=status, page=page, done=done, undo=undo, error=error, typed=typed or {},
        once=token_hex(8),
    )  # fmt: skip


def _view(memory: Memory, name: str, earlier: bool = False, before: str = "") -> dict[str, Any]:
    """A page with its newest entries, from the one before `before` on; replaced ones too, if `earlier`."""
    problems = _import_edits(memory, name)
    page = memory.pages.read(page_name(memory, name), include_superseded=True)
    wanted = [entry for entry in reversed(page.entries) if earlier or entry.is_current]
    ids = [entry.id for entry in wanted]
    start = ids.index(before) + 1 if before in ids else 0
    entries = wanted[start : start + AT_ONCE]
    return {
        "name": called(page.info),
        "info": page.info,
        "text": visible_lines(page.text),
        "file": memory.pages.folder / page.info.path,
        "cards": _cards(memory, page, entries),
        "replaced": sum(not entry.is_current for entry in page.entries),
        "shows_replaced": earlier,
        "before": entries[-1].id if start + AT_ONCE < len(wanted) else "",  # where the rest begins
        "problems": problems,
    }


def _import_edits(memory: Memory, name: str) -> list[str]:
    """Import what was edited in the page's file. Returns what could not be; the page is shown all the same."""
    try:
        done = memory.pages.sync([name]) if name.partition("-")[0] in PREFIXES else None
    except TallystickError as error:
        return [str(error)]
    return list(map(str, done.problems)) if done else []


def _cards(memory: Memory, page: PageText, entries: Sequence[PageEntry]) -> list[Card]:
    before = {entry.superseded_by: entry for entry in page.entries if entry.superseded_by}
    texts = all_html(entry.text for entry in entries)
    return [
        Card(entry, html, memory.get(entry.id), _earlier(entry, before))
        for entry, html in zip(entries, texts, strict=True)
    ]  # fmt: skip


def _earlier(entry: PageEntry, before: dict[str, PageEntry]) -> list[tuple[str, tuple[Piece, ...]]]:
    """The earlier versions of an entry, newest first."""
    versions, done = list[tuple[str, tuple[Piece, ...]]](), {entry.id}
    while (old := before.get(entry.id)) and old.id not in done and len(versions) < _VERSIONS:
        versions.append((old.at, diff(old.text, entry.text)))
        done.add(old.id)
        entry = old
    return versions


async def act(request: Request) -> Response:
    form, given = await read_form(request), request.path_params["name"]
    name, action = await with_memory(request, lambda memory: resolved(memory, given)), form.get("do", "")
    if action == "change":
        return await revise(request, form, lambda memory, *change: memory.pages.supersede(name, *change).id, page=name)
    if action == "add":
        return await _add(request, name, form)

    def work(memory: Memory) -> str:
        if action == "archive":
            return memory.pages.archive(name).status
        if action == "activate":
            return memory.pages.activate(name).status
        new_draft(memory, form.get("version", ""), page=name)  # refuses an entry of another page
        return forget(memory, form)

    if action not in ("archive", "activate", "forget"):
        raise Refused("unknown action for a page; reload it and try again")
    done = await with_memory(request, work)
    more = f"&undo={segment(form['version'])}" if done == "forgotten" else ""
    return redirect(f"/pages/{segment(name)}?done={done}{more}")


async def _add(request: Request, name: str, form: Mapping[str, str]) -> Response:
    """Add an entry and show it; or show the page again, with the error and what was typed."""

    def work(memory: Memory) -> str | tuple[dict[str, Any], TallystickError]:
        try:
            return _append(memory, name, form)
        except (Refused, Busy) as error:
            return _view(memory, name), error

    outcome = await with_memory(request, work)
    if isinstance(outcome, str):
        return redirect(f"/pages/{segment(name)}?done={outcome}")
    page, error = outcome
    return _page(request, page, error=str(error), typed=form, status=page_status(error))


def _append(memory: Memory, name: str, form: Mapping[str, str]) -> str:
    """Add an entry. The form's `once` makes sure that sending it twice adds it once."""
    tags = [tag for tag in _TAGS.split(form.get("tags", "")) if tag]
    key = f"page:{form['once']}" if form.get("once") else ""
    memory.pages.append(name, form.get("text", "").strip("\n"), tags, idempotency_key=key)
    return "masked" if memory.masked else "added"

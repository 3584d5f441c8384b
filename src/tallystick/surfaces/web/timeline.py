"""Timeline: every event of the ledger, newest first; and one event, with its place in the chain and its proof.

    GET  /timeline                   filtered by `kind`, `session`, `agent`, `source`; from `before` or `after` on
    GET  /timeline/{seq}             one event
    GET  /timeline/{seq}/proof.txt   its proof as a file
    POST /timeline/{seq}/sign        sign a checkpoint that covers it

A page costs what it shows, however long the ledger is: a filtered list reads back so far, says how far, and leads on.
Reading signs nothing. A proof leads to the last checkpoint that covers the event; without one, to the tree as it is in
this folder.
"""

from collections.abc import Mapping
from itertools import groupby, zip_longest
from typing import Any
from urllib.parse import urlencode

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tallystick.memory.core.changes import can_be_undone
from tallystick.memory.memory import Memory
from tallystick.records.errors import NotFound, Refused, TallystickError
from tallystick.records.event import UNDOES, Event
from tallystick.surfaces.present.beliefs import STEPS
from tallystick.surfaces.present.events import EventSummary, event_summary, is_more
from tallystick.surfaces.present.names import day_name, day_of, short_id
from tallystick.surfaces.present.text import short, shown_in_json
from tallystick.surfaces.web.filters import client, segment
from tallystick.surfaces.web.render import command_for, is_number, page_of, read_form, redirect, render, with_memory
from tallystick.surfaces.web.reviews import question

_AT_ONCE = 50
_LINE, _WHOLE, _QUOTE = 240, 600, 60  # cells of an event's words in the list, on its own page; of a quoted text
_JSON = 60_000  # characters of JSON that a page shows
_FIELDS = ("kind", "session", "agent", "source")
_FIELD = 200  # characters of a filter

KINDS = {  # the first part of an event's name, and what it is called on the page
    "belief": "Beliefs", "episode": "Episodes", "review": "Reviews", "page": "Pages", "graph": "Graph",
    "path": "Paths", "outcome": "Outcomes", "relation": "Relations", "receipt": "Receipts", "rule": "Rules",
    "delta": "Consolidation", "trust": "Trust", "import": "Imports", "frame": "Frames", "config": "Settings",
    "session": "Working sessions", "erase": "Erasures", "ledger": "Ledger", "snapshot": "Snapshots",
}  # fmt: skip
_VERBS = STEPS | {
    "episode.put/1": "observed", "episode.fade/1": "archived", "episode.retract/1": "retracted",
    "episode.restore/1": "restored",
    "outcome.put/1": "outcome", "relation.put/1": "related",
    "rule.put/1": "rule set", "rule.drop/1": "rule dropped", "rule.ran/1": "rule ran", "rule.found/1": "rule found",
    "delta.noop/1": "nothing new", "frame.put/1": "frame set", "frame.drop/1": "frame dropped",
    "config.set/1": "set", "session.start/1": "started", "session.end/1": "ended",
    "page.put/1": "page changed", "page.fold/1": "page compacted", "page.clean/1": "pages cleaned",
    "page.rename/1": "page renamed",
    "erase/1": "erased", "erase.done/1": "erased", "trust.set/1": "trust", "trust.corroborate/1": "corroborated",
    "path.branch/1": "branched", "path.merge/1": "merged", "path.abandon/1": "abandoned",
    "path.compact/1": "compacted", "path.reopen/1": "reopened",
    "graph.put/1": "graph", "graph.merge/1": "merged", "graph.unmerge/1": "unmerged", "graph.propose/1": "proposed",
    "graph.dismiss/1": "kept apart", "ledger.begin/1": "created", "ledger.seal/1": "compacted",
    "ledger.torn/1": "recovered", "ledger.time/1": "clock warning", "ledger.prune/1": "moved away",
    "ledger.state/1": "state",
    "ledger.restore/1": "restored", "ledger.repair/1": "repaired", "ledger.copy/1": "copied",
    "review.ask/1": "asked", "review.answer/1": "answered", "review.grant/1": "granted", "review.refuse/1": "refused",
    "receipt.put/1": "recalled", "import.take/1": "import", "import.done/1": "import", "snapshot/1": "snapshot",
}  # fmt: skip
_TONES = {  # the colours of their chips
    "belief.put/1": "good", "belief.supersede/1": "blue", "belief.tombstone/1": "warn", "belief.invalidate/1": "warn",
    "review.ask/1": "warn", "review.refuse/1": "bad", "erase/1": "bad", "ledger.torn/1": "bad",
    "ledger.restore/1": "bad", "ledger.repair/1": "bad",
}  # fmt: skip

_DONE = {
    "undone": "Undone. This is the event that did it; it can be undone too.",
    "merged": "Merged. Every name of either leads to the one entity now. This is the event that did it.",
    "split": "Moved. This is the event that did it.",
}


async def list_events(request: Request) -> Response:
    filters = {name: request.query_params.get(name, "").strip()[:_FIELD] for name in _FIELDS}
    before, after = (_number(request, name) for name in ("before", "after"))
    found = await with_memory(request, lambda memory: _timeline(memory, filters, before, after))
    live = found["newest"] if before is None and after is None else ""
    return render(
        request, "timeline.html", piece="timeline_piece.html", timeline=found, filters=filters, kinds=KINDS, live=live
    )  # fmt: skip


def _number(request: Request, name: str) -> int | None:
    value = request.query_params.get(name, "")
    if value and not is_number(value):
        raise Refused(f"{name} is an event's number, not {value[:40]!r}; start again at /timeline")
    return int(value) if value else None


def _timeline(memory: Memory, filters: Mapping[str, str], before: int | None, after: int | None) -> dict[str, Any]:
    """One page of the list. `older`, `newer`, `newest` are addresses; `floor` is how far back a cut list was read."""
    kind = filters["kind"]
    if kind and kind not in KINDS:
        raise Refused(f"no kind of event named {kind[:40]!r}; choose one on the page")
    page = memory.log_page(
        before=before, after=after, limit=_AT_ONCE, op=kind, by=filters["source"], session=filters["session"],
        agent=filters["agent"],
    )  # fmt: skip
    events = [each for each, before in zip_longest(page.events, page.events[1:]) if not is_more(each, before)]
    days = groupby((in_words(memory, event) for event in events), key=lambda line: day_of(line["event"].ts))
    return {
        "days": [(day_name(day), list(lines)) for day, lines in days],
        "size": memory.ledger.size,
        "older": _address(filters, before=page.older) if page.older is not None else "",
        "newer": _address(filters, after=page.newer) if page.newer is not None else "",
        "newest": _address(filters),
        "floor": page.older if page.is_cut else None,
        "trouble": memory.trouble,
    }


def _address(filters: Mapping[str, str], **place: int) -> str:
    query = {name: value for name, value in {**filters, **place}.items() if value != ""}
    return "/timeline" + (f"?{urlencode(query)}" if query else "")


def in_words(memory: Memory, event: Event, room: int = _LINE) -> dict[str, Any]:
    """An event in words. What it names without repeating it is looked up, as it is now."""
    body = event.body or {}
    stated = next((body[name] for name in ("belief", "episode", "action") if isinstance(body.get(name), Mapping)), None)
    name, words, *_ = _summary(memory, event, room)
    return {
        "event": event,
        "verb": "undid" if UNDOES in body else _VERBS.get(event.op) or event.op.partition("/")[0].replace(".", " "),
        "tone": _TONES.get(event.op, ""),
        "name": name,
        "words": words,
        "client": client(event.by),
        "trust": "" if stated is None else str(stated.get("trust", "human")),  # of the speaker, where the event has it
        "session": str((stated or {}).get("session", "")),
        "agent": str((stated or {}).get("agent", "")),
        "address": _subject(memory, event),
        "may_undo": bool(body) and memory.writable and can_be_undone(event),
    }


def _summary(memory: Memory, event: Event, room: int) -> EventSummary:
    """An event as `tallystick log` prints it, with texts in place of ids."""
    found, body = event_summary(event, memory.get, room), event.body or {}
    if event.op.startswith("review."):
        try:
            review = memory.reviews.get(str(body.get("review", "")))
        except NotFound:  # erased with what it was about
            return found
        rest = "" if event.op == "review.ask/1" else found.words.partition(": ")[2]
        return found._replace(words=short(f"{question(memory, review)} {rest}".strip(), room))
    ids = body.get("ids")
    for name in ids[:2] if isinstance(ids, list) else ():
        if text := _text(memory, str(name)):
            words = found.words.replace(short_id(str(name)), f"“{short(text, _QUOTE)}”", 1)
            found = found._replace(words=short(words, room))
    return found


def _text(memory: Memory, name: str) -> str:
    if belief := memory.get(name):
        return belief.text
    episode = memory.episodes.find(name)
    return episode.content if episode else ""


def _subject(memory: Memory, event: Event) -> str:
    """The address of what an event is about; empty if that has no page, or none any more."""
    body, kind = event.body, event.op.partition(".")[0]
    if body is None:
        return ""
    ids, name = body.get("ids"), ""
    first = str(ids[0]) if isinstance(ids, list) and ids else ""
    if kind == "episode":
        name = first or (event.id if event.op == "episode.put/1" else "")
    elif kind == "review":
        name = str(body.get("review") or "")
    elif kind in ("belief", "outcome", "relation"):
        belief = body.get("belief")
        kind, name = "belief", str(belief.get("id") if isinstance(belief, Mapping) else body.get("id") or first)
        name = name if memory.get(name) or memory.episodes.find(name) else ""
    elif kind == "page" and isinstance(body.get("about"), str):
        name = page_of(memory, body["about"])
    elif kind == "graph" and body.get("into"):
        return f"/graph?at={segment(str(body['into']))}"
    return f"/{kind}s/{segment(name)}" if name else ""


async def show(request: Request) -> Response:
    seq = _seq(request)
    done = _DONE.get(request.query_params.get("done", ""), "")
    return render(request, "event.html", view=await with_memory(request, lambda memory: _view(memory, seq)), done=done)


async def sign(request: Request) -> Response:
    """Sign a checkpoint, so that the proof convinces others too."""
    seq = _seq(request)
    await read_form(request)
    await with_memory(request, lambda memory: memory.ledger.prove(_event(memory, seq).seq))
    return redirect(f"/timeline/{seq}#proof")


async def proof_file(request: Request) -> Response:
    """The proof as the file that `tallystick ledger prove --check` reads."""
    seq = _seq(request)
    text = await with_memory(request, lambda memory: memory.ledger.proof(_event(memory, seq).seq).text)
    if not text:
        raise NotFound(f"no checkpoint covers event {seq} yet; sign one on its page")
    return PlainTextResponse(text, headers={"content-disposition": f'attachment; filename="event-{seq}.proof.txt"'})


def _seq(request: Request) -> int:
    value: str = request.path_params["seq"]
    if not is_number(value):
        raise NotFound(f"{value[:40]!r} is not an event's number; see the timeline")
    return int(value)


def _event(memory: Memory, seq: int) -> Event:
    """The event, if it is this user's or the ledger's own."""
    found = next(iter(memory.log_page(before=seq + 1, limit=1, reach=1).events), None)
    if found is None or found.seq != seq:
        raise NotFound(f"no event {seq}; see the timeline")
    return found


def _view(memory: Memory, seq: int) -> dict[str, Any]:
    event, proof, error = _event(memory, seq), None, ""
    try:
        proof = memory.ledger.proof(seq)
    except TallystickError as caught:  # a ledger that is damaged, rolled back or moved away proves nothing
        error = str(caught)
    body = "" if event.body is None else orjson.dumps(event.body, option=orjson.OPT_INDENT_2).decode()
    body = shown_in_json(body)
    earlier, later = memory.log_page(before=seq, limit=1).events, memory.log_page(after=seq, limit=1).events
    signed = {each.size: each.at for each in memory.ledger.checkpoints() if not each.trouble}
    file = f"event-{seq}.proof.txt"
    return {
        **in_words(memory, event, _WHOLE), "body": body[:_JSON], "is_cut": len(body) > _JSON,
        "earlier": earlier[0].seq if earlier else None, "later": later[0].seq if later and later[0].seq > seq else None,
        "proof": proof, "error": error, "header": proof.event if proof else {},
        "signed_at": signed.get(proof.size, "") if proof else "", "may_sign": memory.writable,
        "log": command_for(memory, f"log {seq} --json", takes_user=False),
        "check": f"tallystick ledger prove --check {file} --key '{proof.key}'" if proof and proof.key else "",
    }  # fmt: skip

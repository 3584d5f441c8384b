"""What an event is called on the page, what it is about, and where that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tallystick.records.errors import NotFound
from tallystick.records.event import Event
from tallystick.surfaces.present.beliefs import STEPS
from tallystick.surfaces.present.events import EventSummary, told
from tallystick.surfaces.present.names import short_id
from tallystick.surfaces.present.text import short
from tallystick.surfaces.web.page_view import page_of
from tallystick.surfaces.web.review_view import question

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.review import Review

_QUOTED = 60  # cells of a text that stands for its id

KINDS = {  # how the kinds of events begin, and what a person calls them
    "belief": "What was held true", "episode": "What happened", "review": "Questions and answers", "page": "Pages",
    "graph": "The graph", "path": "Paths", "outcome": "What helped",
    "relation": "What belongs together", "receipt": "What was recalled", "rule": "Rules", "delta": "What rules saw",
    "trust": "Whom to trust", "import": "Imports", "frame": "Frames",
    "config": "Settings", "session": "Work", "erase": "Erasures", "ledger": "The ledger itself",
    "snapshot": "Snapshots",
}  # fmt: skip

_VERBS = STEPS | {
    "episode.put/1": "happened", "episode.fade/1": "faded", "episode.retract/1": "taken back",
    "outcome.put/1": "judged", "relation.put/1": "related",
    "rule.put/1": "rule set", "rule.drop/1": "rule dropped", "rule.ran/1": "rule ran",
    "rule.found/1": "rule found", "delta.noop/1": "nothing new", "frame.put/1": "frame set",
    "frame.drop/1": "frame dropped", "config.set/1": "set", "session.start/1": "work", "session.end/1": "work",
    "page.put/1": "page changed", "page.fold/1": "page folded", "page.clean/1": "pages cleaned",
    "page.rename/1": "page renamed",
    "erase/1": "erased", "erase.done/1": "erased", "trust.set/1": "trust", "trust.corroborate/1": "borne out",
    "path.branch/1": "branched", "path.merge/1": "merged", "path.abandon/1": "abandoned", "path.compact/1": "closed",
    "path.reopen/1": "reopened",
    "graph.put/1": "graph", "graph.merge/1": "merged", "graph.unmerge/1": "parted", "graph.propose/1": "asked",
    "graph.dismiss/1": "two things", "ledger.begin/1": "begun", "ledger.seal/1": "compacted",
    "ledger.torn/1": "recovered", "ledger.time/1": "times doubted", "ledger.prune/1": "moved away",
    "ledger.restore/1": "restored",
    "ledger.repair/1": "repaired", "ledger.copy/1": "copied", "review.ask/1": "asked", "review.answer/1": "answered",
    "review.grant/1": "granted", "review.refuse/1": "refused", "receipt.put/1": "recalled",
    "import.take/1": "import", "import.done/1": "import", "snapshot/1": "snapshot",
}  # fmt: skip
TONES = {  # of the chip that says it
    "belief.put/1": "good", "belief.supersede/1": "blue", "belief.tombstone/1": "warn", "belief.invalidate/1": "warn",
    "review.ask/1": "warn", "review.refuse/1": "bad", "erase/1": "bad", "ledger.torn/1": "bad",
    "ledger.restore/1": "bad", "ledger.repair/1": "bad",
}  # fmt: skip


def verb(op: str) -> str:
    """What happened, in a word or two."""
    return _VERBS.get(op) or op.partition("/")[0].replace(".", " ")


def told_of(memory: Memory, event: Event, room: int) -> EventSummary:
    """What an event says, as `tallystick log` does, but for ids of what has words of its own: here the words stand."""
    found, body = told(event, memory.get, room), event.body or {}
    if event.op.startswith("review.") and (review := _review(memory, str(body.get("review", "")))):
        rest = "" if event.op == "review.ask/1" else found.words.partition(": ")[2]
        return found._replace(words=short(f"{question(memory, review)} {rest}".strip(), room))
    ids = body.get("ids")
    for name in ids[:2] if isinstance(ids, list) else ():
        if text := _text_of(memory, str(name)):
            words = found.words.replace(short_id(str(name)), f"“{short(text, _QUOTED)}”", 1)
            found = found._replace(words=short(words, room))
    return found


def _review(memory: Memory, name: str) -> Review | None:
    try:
        return memory.reviews.get(name)
    except NotFound:  # erased with what it was about
        return None


def _text_of(memory: Memory, name: str) -> str:
    if belief := memory.get(name):
        return belief.text
    episode = memory.episodes.find(name)
    return episode.content if episode else ""


def trust_of(event: Event) -> str:
    """With which trust it was said, where the event tells."""
    body = event.body or {}
    for name in ("belief", "episode", "action"):
        if isinstance(body.get(name), Mapping):
            return str(body[name].get("trust", "human"))
    return ""


def scope_of(event: Event) -> tuple[str, str]:
    """The session and the agent that it names."""
    body = event.body or {}
    found = (body.get(name) for name in ("belief", "episode"))
    said: Mapping[str, Any] = next((each for each in found if isinstance(each, Mapping)), {})
    return str(said.get("session", "")), str(said.get("agent", ""))


def address_of(memory: Memory, event: Event) -> str:
    """Where what it is about is shown; empty, if it is about nothing that has a page, or had one and has none now."""
    body = event.body
    if body is None:
        return ""
    kind = event.op.partition(".")[0]
    if kind == "episode":
        return _under("episodes", _first(body) or (event.id if event.op == "episode.put/1" else ""))
    if kind == "review":
        return _under("reviews", body.get("review"))
    if kind in ("belief", "outcome", "relation"):
        said = body.get("belief")
        name = str(said.get("id") if isinstance(said, Mapping) else body.get("id") or _first(body))
        return _under("beliefs", name) if memory.get(name) or memory.episodes.find(name) else ""
    if kind == "page" and isinstance(body.get("about"), str):
        return _under("pages", page_of(memory, body["about"]))
    if kind == "graph" and body.get("into"):
        return f"/graph?at={quote(str(body['into']), safe='')}"
    return ""


def _first(body: Mapping[str, Any]) -> object:
    ids = body.get("ids")
    return ids[0] if isinstance(ids, list) and ids else ""


def _under(folder: str, name: object) -> str:
    return f"/{folder}/{quote(str(name), safe='')}" if name else ""

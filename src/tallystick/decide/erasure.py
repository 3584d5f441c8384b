"""Erasing the words of pages, paths, sources, frames, rules, settings, receipts, working sessions and the graph.

Each is named with its noun, such as `page:person-bob`. Two steps: first the thing is recorded again without the words,
or that it is gone (`Words.first`); then every event that has the words is emptied. Whoever reads the ledger again gets
the same state as whoever followed it. The ledger's own events (where copies were made), and the name of a user, are not
reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tallystick.decide.beliefs import names_one_of
from tallystick.decide.graph import words_about
from tallystick.records import operations as op
from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused
from tallystick.records.event import Draft, Event
from tallystick.records.page import NOTES
from tallystick.records.schema import words_in
from tallystick.records.trust import NONE
from tallystick.state.state import State

Speaks = Callable[[Event], bool]

_KEPT = ("created", "status", "needs_compact")  # a page's fields without words


class Words(NamedTuple):
    """The words of one thing: the drafts to record first, the ids to erase too, and a test for the events with them."""

    first: list[Draft]
    ids: Iterable[str]
    speak: Speaks


def noun_in(known: State, name: str, user: str) -> tuple[str, str] | None:
    """The noun and name in `page:person-bob`; None, if it is the name of a belief, an episode or a review."""
    noun, colon, rest = name.partition(":")
    if not colon or not rest or noun not in _OF:
        return None
    if known.find(name, user=user, short=False) or known.episodes.find(user, name):
        return None
    return noun, rest


def words_of(known: State, noun: str, name: str, user: str) -> Words:
    """The words of something that is neither a belief nor an episode."""
    return _OF[noun](known, name, user)


def _page(known: State, about: str, user: str) -> Words:
    """Its description, title, tags and reason. The page and its name stay if it has beliefs."""
    about = about.removesuffix(".md")
    front = known.pages.front(user, about)
    is_used = any((each.body().get("about") or NOTES) == about for each in known.of_user(user))
    body, names = {"user": user, "about": about, "again": True, "front": {}}, list(known.pages.names(user, about))
    if is_used:
        body["front"] = {field: front[field] for field in _KEPT if field in front}
    is_clean = not front or (is_used and not set(front) - set(_KEPT))
    gone: dict[str, None] = {} if is_used else dict.fromkeys(known.pages.renames(user, about))

    def speak(event: Event) -> bool:
        fields = event.body or {}
        if event.op not in (op.PAGE_PUT, op.PAGE_COMPACT, op.PAGE_RENAME) or fields.get("user") != user:
            return False
        if not any(fields["about"] == name and after < event.seq <= until for name, after, until in names):
            return False
        if event.op == op.PAGE_RENAME and not is_used:
            gone[event.id] = None
        return not is_used or (event.op == op.PAGE_PUT and bool(set(fields["front"]) - set(_KEPT)))

    return Words([] if is_clean else [Draft(op.PAGE_PUT, body)], gone.keys(), speak)


def _path(known: State, path: str, user: str) -> Words:
    """Everything on it, its name, and why it was abandoned. What was merged from it stays where it is."""
    if below := known.paths.below(user, path):
        raise Refused(f"path {path!r:.80} has branches ({', '.join(map(repr, below[:3]))}); erase those first", "state")
    gone = {version: None for each in known.on_path(user, path) for version in known.ids_of(each)}
    gone.update(dict.fromkeys(known.episodes.on(user, path)))
    gone.update(dict.fromkeys(known.reviews.on(user, path)))
    gone.update(dict.fromkeys(known.paths.events_on(user, path)))

    reviews = set[str]()

    def speak(event: Event) -> bool:
        body = event.body or {}
        if event.op.startswith("review.") and body.get("review") in gone:
            return True
        receipts = (each for each in body.get("receipts", ()) if each.get("user", OWNER) == user)
        if any(each.get("asked", {}).get("path") == path for each in receipts):
            return True
        if names_one_of(event, user, gone, reviews):
            return True
        if event.id in gone or body.get("id") in gone or any(each in gone for each in body.get("replaces", ())):
            return True
        named = any(value == path for field, value in words_in(event.op, body) if field.rpartition(".")[2] in _PLACES)
        owned = body.get("belief") or body.get("episode") or body.get("action") or body
        if named and owned.get("user", OWNER) == user:
            gone.update({name: None for name in (body.get("belief", {}).get("id"), event.id) if name})
            return True
        return False

    return Words([], gone.keys(), speak)


def _source(known: State, source: str, user: str) -> Words:
    """The reason for a distrust, and the source's name, unless that is needed to leave the source out of recall."""
    held = known.distrusts.find(user, source)
    body: dict[str, Any] = {"user": user, "source": source, "trust": NONE}
    if held:
        body |= {"since": held.since, "first": held.first}

    def speak(event: Event) -> bool:
        fields = event.body or {}
        is_of = event.op == op.TRUST_SET and (fields.get("user"), fields.get("source")) == (user, source)
        return is_of and (held is None or "reason" in fields)

    return Words([Draft(op.TRUST_SET, body)] if held and held.reason else [], (), speak)


def _frame(known: State, name: str, _: str) -> Words:
    """A frame, and its receipts."""
    gone: dict[str, None] = {}

    def speak(event: Event) -> bool:
        fields = event.body or {}
        if event.op == op.RECEIPT_PUT and any(each.get("frame") == name for each in fields.get("receipts", ())):
            gone.update({each["id"]: None for each in fields["receipts"]})
            return True
        return event.op in (op.FRAME_PUT, op.FRAME_DROP) and fields.get("frame", fields).get("name") == name

    return Words([Draft(op.FRAME_DROP, {"name": name})] if name in known.work.frames else [], gone.keys(), speak)


def _rule(known: State, name: str, user: str) -> Words:
    """A rule and its progress: once it is put again, it reads from the beginning."""

    def speak(event: Event) -> bool:
        fields = event.body or {}
        ops = (op.RULE_PUT, op.RULE_DROP, op.RULE_RAN, op.RULE_FOUND)
        return event.op in ops and fields.get("user") == user and bool(fields.get("rule", fields)["id"] == name)

    drop = Draft(op.RULE_DROP, {"user": user, "id": name, "again": True})
    return Words([drop] if known.rules.is_known(user, name) else [], (), speak)


def _setting(known: State, key: str, _: str) -> Words:
    def speak(event: Event) -> bool:
        return event.op == op.CONFIG_SET and (event.body or {}).get("key") == key

    return Words([Draft(op.CONFIG_SET, {"key": key, "value": None})] if key in known.work.config else [], (), speak)


def _receipt(_: State, name: str, user: str) -> Words:
    """One receipt, with its question, and those in the same event."""

    def speak(event: Event) -> bool:
        receipts = (event.body or {}).get("receipts", ()) if event.op == op.RECEIPT_PUT else ()
        return any(each["id"] == name and each.get("user", OWNER) == user for each in receipts)

    return Words([], (name,), speak)


def _session(known: State, name: str, _: str) -> Words:
    """A working session's id and task type. Its hours stay counted."""

    def speak(event: Event) -> bool:
        return event.op in (op.SESSION_START, op.SESSION_END) and (event.body or {}).get("session") == name

    return Words([Draft(op.SESSION_END, {"session": name})] if known.work.clock.session == name else [], (), speak)


def _node(_: State, name: str, user: str) -> Words:
    """A node, and its merges. The others in its events are recorded again by whoever has the graph's rows."""
    return Words([], *words_about(user, {name}))


def _graph_metadata(_: State, name: str, user: str) -> Words:
    """The metadata of the whole graph. Nodes and edges are erased by `m.graph.erase`."""

    def speak(event: Event) -> bool:
        fields = event.body or {}
        is_head = "head" in fields or fields.get("part") == "head"
        return event.op == op.GRAPH_PUT and fields.get("user") == user and is_head

    if name != "metadata":
        raise Refused(f"graph:{name} cannot be erased; use graph:metadata, or node:NAME")
    return Words([], (), speak)


_PLACES = ("path", "parent", "into")  # fields that name a path
_OF: dict[str, Callable[[State, str, str], Words]] = {
    "page": _page, "path": _path, "source": _source, "frame": _frame, "rule": _rule, "setting": _setting,
    "receipt": _receipt, "session": _session, "graph": _graph_metadata, "node": _node,
}  # fmt: skip
NOUNS = {noun: {"setting": "config", "session": "work", "node": "graph"}.get(noun, noun) for noun in _OF}  # to the gate

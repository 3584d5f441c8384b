"""Undoing a change: new events that put back what one atomic group of events changed.

What the group changed must still be as it left it, else later changes depend on it, and Refused names them. So a change
that was undone since counts as if it had never been made. Nothing leaves the ledger: a belief gets a version with what
it said before, with the time and the source that this had; one that was new is forgotten.

A belief that only changed its entity is put back though its words have changed since: they are about the former entity
again. What was erased since stays erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tallystick.decide.beliefs import Draw, in_its_place
from tallystick.decide.restated import EventAt, moved, stated_in, with_its_past
from tallystick.decide.trust import is_in_doubt
from tallystick.records import operations as op
from tallystick.records.belief import recorded
from tallystick.records.episode import ARCHIVED, RETRACTED
from tallystick.records.errors import Refused
from tallystick.records.event import UNDOES, Draft, Event
from tallystick.records.path import ABANDONED, CLOSED, MERGED, OPEN
from tallystick.records.trust import NONE, USUAL
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.state import PastState, State

_NAMED = 20  # later changes in a message
_OUT = {op.EPISODE_RETRACT: RETRACTED, op.EPISODE_FADE: ARCHIVED}  # what leads out of recall
_WITHDRAWN = {"tombstone": op.BELIEF_TOMBSTONE, "invalidated": op.BELIEF_INVALIDATE}

NO_CHANGE = (  # events that change nothing which can be put back
    op.RECEIPT_PUT, op.OUTCOME_PUT, op.REVIEW_ASK, op.REVIEW_GRANT, op.REVIEW_REFUSE, op.RULE_RAN, op.RULE_FOUND,
    op.DELTA_NOOP, op.SESSION_START, op.SESSION_END, op.GRAPH_PROPOSE, op.GRAPH_DISMISS,
)  # fmt: skip
_IMPORTED = "it was imported with another memory; distrust that memory instead: tallystick trust --none SOURCE"
FOR_GOOD = {  # the way out instead
    op.ERASE: "an erasure destroys words for good",
    op.PATH_MERGE: "a merged path stays merged; revise or forget what it brought",
    op.PATH_BRANCH: "abandon the path instead: tallystick paths abandon",
    op.PAGE_COMPACT: "a compacted page stays so; edit the page",
    op.GRAPH_PUT: "save the node or edge as it should be",
    op.IMPORT_TAKE: _IMPORTED, op.IMPORT_DONE: _IMPORTED,
}  # fmt: skip


OF_THINGS = (  # events that set something besides beliefs and episodes
    op.PAGE_PUT, op.PAGE_RENAME, op.PAGE_CLEAN, op.RULE_PUT, op.RULE_DROP, op.FRAME_PUT, op.FRAME_DROP, op.CONFIG_SET,
    op.TRUST_SET, op.RELATION_PUT, op.GRAPH_MERGE, op.GRAPH_UNMERGE, op.PATH_ABANDON, op.PATH_COMPACT, op.PATH_REOPEN,
)  # fmt: skip


class Group(NamedTuple):
    """One atomic group of events, and what was known on both sides of it."""

    events: Sequence[Event]  # without erased ones
    before: PastState
    after: PastState
    event_at: EventAt
    first_of: Callable[[int], int]  # the first event of an event's group
    recorded: Callable[[Sequence[str], int, int | None], Iterable[Event]]  # events of these operations, from … to below


def undone(known: State, group: Group, user: str, draw: Draw, *, reason: str = "") -> list[Draft]:
    """The events that undo a group. Refused, if that cannot be done, or if it is done already."""
    must_be_possible(group.events)
    first = group.events[0]
    why = f"undoes event {first.seq}{f': {reason}' if reason else ''}"
    beliefs = _Beliefs(known, group, user, why, draw)
    things = _Things(known, group, user, why)
    if later := sorted({*beliefs.later(), *things.later(), *_facts_of(known, group, user)}):
        firsts = list(dict.fromkeys(map(group.first_of, later[: 2 * _NAMED])))[:_NAMED]
        few = ", ".join(map(str, firsts)) + (" and others" if len(later) > 2 * _NAMED else "")
        raise Refused(f"later changes depend on event {first.seq}; undo those first: {few}", "state")
    drafts = [*things.first(beliefs), *beliefs.drafts(), *things.last(), *_episodes(known, group, user, why)]
    if not drafts:
        raise Refused(f"event {first.seq} changed nothing that is still so; there is nothing to undo", "state")
    mark = {"id": first.id, "seq": first.seq}
    return [Draft(name, {**body, UNDOES: mark}) for name, body in drafts]


def must_be_possible(events: Iterable[Event]) -> None:
    """Refused, with the way out, if one of these events cannot be undone."""
    for event in events:
        why = FOR_GOOD.get(event.op)
        if event.op == op.TRUST_CORROBORATE and "source" in (event.body or {}):
            why = "what was approved of a source stays so; distrust it instead: tallystick trust --none SOURCE"
        if why is not None or event.op.startswith("ledger."):
            raise Refused(f"event {event.seq} cannot be undone: {why or 'it is about the ledger itself'}", "state")


# -- beliefs -----------------------------------------------------------------------------------------------------------


class _Beliefs:
    """The beliefs that a group changed, by the ids of their first versions."""

    def __init__(self, known: State, group: Group, user: str, why: str, draw: Draw) -> None:
        self._known, self._group, self._user, self._why, self._draw = known, group, user, why, draw
        self._borne_out = list[str]()  # versions that are corroborated, as those were that they restate
        found = dict.fromkeys(ref for event in group.events for ref in self._refs(event))
        self.refs = {ref for ref in found if self._is_of(user, ref)}
        due = [ref for ref in found if ref in self.refs and not self._is_put_back(ref)]
        self.open = sorted(due, key=lambda ref: was.seq if (was := group.before.by_ref(ref)) else -1)
        self._wholes = {ref for event in group.events for ref in self._whole(event)}

    def _is_of(self, user: str, ref: str) -> bool:
        held = self._group.before.by_ref(ref) or self._group.after.by_ref(ref)
        return held is not None and held.user == user

    def _refs(self, event: Event) -> Iterator[str]:
        """The beliefs that an event changes, also those that become part of another by it."""
        body, names = event.body or {}, list[str]()
        if event.op.startswith("belief."):
            names = [*body.get("replaces", ()), *([body["id"]] if "id" in body else [body["belief"]["id"]])]
        elif event.op == op.TRUST_CORROBORATE:
            names = body["ids"]
        elif event.op == op.REVIEW_ANSWER and (review := self._known.reviews.find(body["review"])):
            names = list(review.action.target) if review.action.kind == "trust" else []
        for name in names:
            held = (self._group.before.version(name), self._group.after.version(name))
            yield from (each.ref for each in held if each)

    def _whole(self, event: Event) -> Iterator[str]:
        """The belief that others become part of by an event."""
        replaced = (event.body or {}).get("replaces", ())
        refs = {held.ref for name in replaced if (held := self._group.before.version(name))}
        if len(refs) > 1 and (whole := self._group.after.version(replaced[0])):
            yield whole.ref

    def _three(self, ref: str) -> tuple[CurrentVersion | None, CurrentVersion | None, CurrentVersion | None]:
        """A belief before the group, after it, and now."""
        return self._group.before.by_ref(ref), self._group.after.by_ref(ref), self._known.by_ref(ref)

    def _is_moved(self, ref: str) -> bool:
        """True if all that the group changed of a belief is what it is about."""
        was, made, _ = self._three(ref)
        return bool(was and made and was.said("about") == made.said("about") and was.said() != made.said())

    def _is_same(self, ref: str, one: CurrentVersion | None, other: CurrentVersion | None) -> bool:
        """True if two versions of a belief say the same, as far as the group changed it."""
        if one is None or other is None:
            return one is other
        return _about(one) == _about(other) if self._is_moved(ref) else one.said() == other.said()

    def _is_put_back(self, ref: str) -> bool:
        """True if a belief is as it was before."""
        was, made, now = self._three(ref)
        if was is None or now is None:
            is_gone = now is None or (now.status in _WITHDRAWN and (not now.path or self._known.is_uncovered(now)))
            return was is None and is_gone
        before, known = self._group.before, self._known
        is_same = self._is_same(ref, was, now) and before.is_uncovered(was) == known.is_uncovered(now)
        is_as_sure = _is_doubted(before, was) == _is_doubted(known, now)
        return is_same and is_as_sure and (was.at == now.at or not self._is_same(ref, made, now))

    def later(self) -> Iterator[int]:
        """The later events that depend on the group."""
        last = self._group.events[-1].seq
        for ref in self.open:
            was, made, now = self._three(ref)
            if not self._is_same(ref, made, now):
                whole = now or self._known.version(ref)  # it may have become part of another since
                yield from (whole.seq,) if whole else ()
            elif was is None and now is not None:
                above = self._known.resting_on(now)
                yield from (each.seq for each in above if each.first > last and each.status == "active")

    def drafts(self) -> Iterator[Draft]:
        for ref in self.open:
            was, _, now = self._three(ref)
            if was is None:
                assert now is not None
                yield self._unsaid(now)
            elif now is None:
                yield from self._apart(was)
            else:
                yield self._as_it_was(was, now)
        if self._borne_out:
            yield Draft(op.TRUST_CORROBORATE, {"user": self._user, "ids": self._borne_out})

    def _unsaid(self, now: CurrentVersion) -> Draft:
        """A belief that was new: forgotten. A branch sees its ancestor's again, which it was stated over."""
        uncovers = {"uncovers": list(self._known.over(now.ref))} if now.path else {}
        return Draft(op.BELIEF_TOMBSTONE, {"id": now.body()["id"], "reason": self._why, **uncovers})

    def _as_it_was(self, was: CurrentVersion, now: CurrentVersion) -> Draft:
        if self._is_moved(was.ref) and now.said("about") != was.said("about"):  # it says something else since
            filed = stated_in(self._group.event_at, was).get("filed", 0)
            return moved(now, _about(was), self._group.event_at, self._draw, self._why, filed)
        is_said = was.said("status") == now.said("status")
        if was.status in _WITHDRAWN and is_said and not self._known.is_uncovered(now):
            return Draft(_WITHDRAWN[was.status], {"id": now.body()["id"], "reason": self._why})
        draft = self._restated(was, now, {})
        before = self._group.before.find(now.key, user=was.user, path=was.path, short=False)
        if now.key != was.key and (before is None or before.ref != was.ref):
            draft.body["drops"] = [now.key]
        return draft

    def _restated(self, was: CurrentVersion, now: CurrentVersion, changes: dict[str, Any]) -> Draft:
        """A version with the words of `was`, in the place of `now`, as old as they are."""
        body = {**was.belief().to_body(), **changes, "id": self._draw(), "reason": self._why}
        draft = in_its_place(recorded(body), now, now.path)
        if over := self._known.over(now.ref):
            draft.body["over"] = list(over)
        if now.ref in self._wholes:  # if the version that others are part of is erased, this one follows on the former
            draft.body["replaces"].append(was.body()["id"])
        return self._with_its_past(draft, was)

    def _apart(self, was: CurrentVersion) -> Iterator[Draft]:
        """A belief that had become part of another is one of its own again, with its names and relations."""
        known, before = self._known, self._group.before
        whole = known.version(was.ref)
        if whole is None:  # erased since
            return
        names = before.ids_of(was)
        same = next((at for at, name in enumerate(names) if not before.read_before(name, was)), len(names) - 1)
        body = {**was.belief().to_body(), "id": self._draw(), "reason": self._why}
        again = {"ids": names, "same": len(names) - same, "first": was.first}
        yield self._with_its_past(Draft(op.BELIEF_PUT, {"belief": recorded(body), "again": again}), was)
        for each in known.relations.of(was.ref, was.user, [was.path]):  # those of the whole lead there still
            far = each.ids[0] if each.ids[1] == was.ref else each.ids[1]
            where = {"path": each.path} if each.path else {}
            yield Draft(op.RELATION_PUT, {"user": each.user, "ids": list(each.ids), "relation": each.relation, **where})
            if far != whole.ref and not known.relations.find(was.user, was.path, whole.ref, far):
                yield Draft(op.RELATION_PUT, {"user": each.user, "ids": [whole.ref, far], **where})

    def _with_its_past(self, draft: Draft, was: CurrentVersion) -> Draft:
        """The draft, with what was known of the statement that it repeats."""
        name, body = was.body()["id"], with_its_past(draft, was, self._group.event_at).body
        if above := [each.body()["id"] for each in self._known.resting_on(was) if each.status == "active"]:
            body["above"] = above
        known = self._group.before if self._group.before.version(name) else self._known
        if _is_doubted(known, was):
            body["quarantined"] = True
        elif review := known.reviews.approval_of(name):
            body["approved"] = review
        elif known.distrusts.is_borne_out(name):
            self._borne_out.append(body["belief"]["id"])
        return Draft(draft.op, body)


def _is_doubted(known: PastState | State, held: CurrentVersion) -> bool:
    body = held.body()
    return is_in_doubt(known, body.get("trust", "human"), body["id"])


def _about(held: CurrentVersion) -> str:
    return str(held.body().get("about", ""))


# -- episodes ----------------------------------------------------------------------------------------------------------


def _facts_of(known: State, group: Group, user: str) -> Iterator[int]:
    """The later facts that come from what the group observed."""
    for event in group.events:
        facts = known.coming_from(user, event.id) if event.op == op.EPISODE_PUT else ()
        yield from (each.seq for each in facts if each.first > group.events[-1].seq and each.status == "active")


def _episodes(known: State, group: Group, user: str, why: str) -> Iterator[Draft]:
    """What was observed or restored is retracted, or archived; what was retracted or archived is restored."""
    ids: dict[str, dict[str, None]] = {}
    for event in group.events:
        body = event.body or {}
        if event.op == op.EPISODE_PUT:
            ids.setdefault(RETRACTED, {})[event.id] = None
        elif event.op in _OUT or event.op == op.EPISODE_RESTORE:
            ids.setdefault(body.get("was", event.op), {}).update(dict.fromkeys(body["ids"]))
    is_set = {RETRACTED: known.episodes.is_retracted, ARCHIVED: known.uses.is_faded}
    for how, names in ids.items():
        was = _OUT.get(how, how)  # what they were, or are to be again
        own = [name for name in names if known.episodes.owner(name) == user and is_set[was](name) == (how in _OUT)]
        other = is_set[RETRACTED if was == ARCHIVED else ARCHIVED]
        said: dict[str, Any] = {"user": user, "reason": why}
        if how not in _OUT and own:
            yield Draft(op.EPISODE_RETRACT if was == RETRACTED else op.EPISODE_FADE, {**said, "ids": own})
        for is_out, some in ((False, [each for each in own if not other(each)]), (True, list(filter(other, own)))):
            if how in _OUT and some:
                more = {"was": was, **({"out": True} if is_out else {})}
                yield Draft(op.EPISODE_RESTORE, {**said, "ids": some, **more})


# -- everything else: what is there under a key, before the group, after it and now ------------------------------------

_Key = tuple[str, ...]  # the kind, and what names it


class _Kind(NamedTuple):
    """One kind of thing: how it is read, and the events that put it back."""

    read: Callable[[State, _Key], Any]
    put: Callable[[_Key, Any, Any, str], list[Draft]]  # the key, what was, what is, the reason


class _Things:
    """Whatever a group changed besides beliefs and episodes. What was before follows from the events before it."""

    def __init__(self, known: State, group: Group, user: str, why: str) -> None:
        self._known, self._group, self._user, self._why = known, group, user, why
        events = [event for event in group.events if event.op in OF_THINGS]
        earlier, self._merges = State(), dict[_Key, dict[str, Any]]()
        for event in group.recorded(OF_THINGS, 0, group.events[0].seq) if events else ():
            earlier.apply(event)
            self._note(event)
        keys = list(dict.fromkeys(key for event in events for key in _keys_in(event, earlier, user)))
        self._was = {key: _KINDS[key[0]].read(earlier, key[1:]) for key in keys}
        for event in events:
            earlier.apply(event)
        self._made = {key: _KINDS[key[0]].read(earlier, key[1:]) for key in keys}
        self._now = {key: _KINDS[key[0]].read(known, key[1:]) for key in keys}
        self._open = [key for key in keys if self._was[key] not in (self._made[key], self._now[key])]
        renames = (event.body for event in events if event.op == op.PAGE_RENAME and event.body)
        self._renames = [(body["about"], body["to"]) for body in renames if body["user"] == user]

    def _note(self, event: Event) -> None:
        body = event.body or {}
        if event.op == op.GRAPH_MERGE:
            self._merges[body["user"], body["node"]] = body

    def later(self) -> Iterator[int]:
        """The later events that set the same again."""
        changed = {key for key in self._open if self._now[key] != self._made[key]}
        after = self._group.recorded(OF_THINGS, self._group.events[-1].seq + 1, None) if changed else ()
        return (event.seq for event in after if not changed.isdisjoint(_keys_in(event, self._known, self._user)))

    def first(self, beliefs: _Beliefs) -> Iterator[Draft]:
        """What comes before the beliefs: their page has its name again, their path is open."""
        named = set[_Key]()
        for about, to in reversed(self._renames):
            pages = [("page", self._user, about), ("page", self._user, to)]
            is_whole = not self._was[pages[1]] and self._all_about(to) <= beliefs.refs
            if is_whole and (pages[0] in self._open or beliefs.open):
                named.update(pages)
                yield Draft(op.PAGE_RENAME, {"user": self._user, "about": to, "to": about})
        for key in self._open:
            if key not in named and not self._is_end(key):
                yield from self._put(key)

    def last(self) -> Iterator[Draft]:
        """What comes after them."""
        return (draft for key in self._open if self._is_end(key) for draft in self._put(key))

    def _all_about(self, about: str) -> set[str]:
        held = self._known.query(user=self._user, status="", where=lambda each: _about(each) == about)
        return {each.ref for each in held}

    def _is_end(self, key: _Key) -> bool:
        """True if nothing can be stated there once it is put back."""
        return key[0] == "path" and self._was[key] != OPEN

    def _put(self, key: _Key) -> list[Draft]:
        drafts = _KINDS[key[0]].put(key[1:], self._was[key], self._now[key], self._why)
        if key[0] == "node" and (before := self._merges.get(key[1:])) and self._was[key]:
            return [Draft(op.GRAPH_MERGE, dict(before))]
        return drafts


def _keys_in(event: Event, known: State, user: str) -> Iterator[_Key]:
    """The things that an event of that user sets."""
    body = event.body or {}
    if body.get("user", user) != user:
        return
    match event.op:
        case op.PAGE_PUT:
            yield "page", user, body["about"]
        case op.PAGE_RENAME:
            yield from (("page", user, body[name]) for name in ("about", "to"))
        case op.PAGE_CLEAN:
            yield from (("page", *key) for key, _ in known.pages.fronts() if key[0] == user)
        case op.RULE_PUT | op.RULE_DROP:
            yield "rule", user, body.get("rule", body)["id"]
        case op.FRAME_PUT | op.FRAME_DROP:
            yield "frame", body.get("frame", body)["name"]
        case op.CONFIG_SET:
            yield "setting", body["key"]
        case op.TRUST_SET:
            yield "source", user, body["source"]
        case op.RELATION_PUT:
            yield "relation", user, body.get("path", ""), *sorted(body["ids"])
        case op.GRAPH_MERGE | op.GRAPH_UNMERGE:
            yield "node", user, body["node"]
        case op.PATH_ABANDON | op.PATH_COMPACT | op.PATH_REOPEN:
            yield "path", user, body["path"]


def _source(known: State, key: _Key) -> Any:
    held = known.distrusts.find(*key)
    return held and {"since": held.since, "first": held.first, **({"reason": held.reason} if held.reason else {})}


def _relation(known: State, key: _Key) -> Any:
    held = known.relations.find(*key)
    return held and {"ids": list(held.ids), "relation": held.relation}


def _frame(known: State, key: _Key) -> Any:
    held = known.work.frames.get(key[0])
    return held and {name: value for name, value in held.items() if name != "created_at"}


def _put_page(key: _Key, was: Any, _: Any, __: str) -> list[Draft]:
    return [Draft(op.PAGE_PUT, {"user": key[0], "about": key[1], "front": was, "again": True})]


def _put_rule(key: _Key, was: Any, _: Any, __: str) -> list[Draft]:
    user, name = key
    return [Draft(op.RULE_PUT, {"user": user, "rule": was}) if was else Draft(op.RULE_DROP, {"user": user, "id": name})]


def _put_frame(key: _Key, was: Any, _: Any, __: str) -> list[Draft]:
    return [Draft(op.FRAME_PUT, {"frame": was}) if was else Draft(op.FRAME_DROP, {"name": key[0]})]


def _put_setting(key: _Key, was: Any, _: Any, __: str) -> list[Draft]:
    return [Draft(op.CONFIG_SET, {"key": key[0], "value": was})]


def _put_source(key: _Key, was: Any, _: Any, why: str) -> list[Draft]:
    user, source = key
    said = {"trust": NONE, **was} if was else {"trust": USUAL, "reason": why}
    return [Draft(op.TRUST_SET, {"user": user, "source": source, **said})]


def _put_relation(key: _Key, was: Any, _: Any, __: str) -> list[Draft]:
    user, path, *ids = key
    return [Draft(op.RELATION_PUT, {"user": user, "ids": ids, **(was or {}), **({"path": path} if path else {})})]


def _put_node(key: _Key, was: Any, _: Any, __: str) -> list[Draft]:
    user, node = key
    more = {"into": was} if was else {}
    return [Draft(op.GRAPH_MERGE if was else op.GRAPH_UNMERGE, {"user": user, "node": node, **more})]


def _put_path(key: _Key, was: Any, now: Any, why: str) -> list[Draft]:
    user, path = key
    if MERGED in (was, now):
        raise Refused(f"path {path!r:.80} is merged, which cannot be undone; branch a new one", "state")
    said = {"user": user, "path": path}
    drafts = [] if now == OPEN else [Draft(op.PATH_REOPEN, {**said, "reason": why})]
    if was == ABANDONED:
        drafts.append(Draft(op.PATH_ABANDON, {**said, "reason": why}))
    elif was == CLOSED:
        drafts.append(Draft(op.PATH_COMPACT, {**said, "summary": ""}))
    return drafts


_KINDS: dict[str, _Kind] = {
    "page": _Kind(lambda known, key: dict(known.pages.front(*key)), _put_page),
    "rule": _Kind(lambda known, key: (held := known.rules.find(*key)) and held.body, _put_rule),
    "frame": _Kind(_frame, _put_frame),
    "setting": _Kind(lambda known, key: known.work.config.get(key[0]), _put_setting),
    "source": _Kind(_source, _put_source),
    "relation": _Kind(_relation, _put_relation),
    "node": _Kind(lambda known, key: (held := known.graph.merge_of(*key)) and held.into, _put_node),
    "path": _Kind(lambda known, key: known.paths.state(*key), _put_path),
}

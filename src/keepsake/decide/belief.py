"""What may be said of beliefs, and which events say it.

Nothing here touches a disk or a clock: a fresh id is drawn by the function that the caller passes in. A decision that
changes nothing (the same thing said again) gives no drafts. A refusal names the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from keepsake.decide.graph import merges_thing, tells_of
from keepsake.records.belief import OWNER, Belief, recorded
from keepsake.records.beliefs import INVALIDATE, PUT, SUPERSEDE, TOMBSTONE, Beliefs, Held
from keepsake.records.book import Book
from keepsake.records.entity import thing_key
from keepsake.records.episodes import OBSERVE, RETRACT
from keepsake.records.errors import Moved, Refused
from keepsake.records.event import Draft, Event
from keepsake.records.graph_book import GRAPH
from keepsake.records.lineage import sources_in, trimmed
from keepsake.records.rules import FOUND, NOOP
from keepsake.records.use import FADE, OUTCOME, RECEIPTS

Draw = Callable[[], str]

CONFIDENCE = 0.7  # of what is said without one
WEAKER = 0.5  # what is left of the confidence of a belief when something it rests on falls

_OF_THE_VERSION = {"id", "reason", "weakened"}


def put(known: Beliefs, fields: Mapping[str, Any], draw: Draw, *, idempotency_key: str = "") -> list[Draft]:
    """State a belief. A key that is known is superseded as a whole; the same thing said again is no event."""
    user = fields.get("user", OWNER)
    if idempotency_key and known.said(user, idempotency_key):
        return []
    name = fields.get("key", "")
    current = known.find(name, user=user, path=fields.get("path", ""), short=False) if name else None
    fresh = draw()
    given = {"id": fresh, "key": fresh, "confidence": CONFIDENCE, **fields}
    if current:
        given["key"] = current.key
    belief = recorded(_with_refs(known, given, user, current))
    if current is None:
        return [_draft(PUT, belief, idempotency_key)]
    if _says_the_same(current, belief):
        return []
    return [_supersede(belief, [current.belief()], idempotency_key)]


def revise(
    known: Beliefs,
    name: str,
    changes: Mapping[str, Any],
    draw: Draw,
    *,
    reason: str = "",
    user: str = OWNER,
    path: str = "",
) -> list[Draft]:
    """Replace a belief by a version that differs in `changes`. Moved, if `name` is a version with older words."""
    current = known.get(name, user=user, path=path)
    if known.read_before(name, current):
        raise Moved(f"{name} has been revised since; it is {current.belief().id} now: read it again, then decide")
    if current.status == "tombstone" and "status" not in changes:
        raise Refused(f"{name} is forgotten; remember it again under its key instead")
    if "key" in changes:
        _refuse_anothers_name(known, str(changes["key"]), current)
    kept = current.belief()
    fields = {**_carried(kept), **_with_refs(known, changes, user, current), "id": draw(), "reason": reason}
    belief = recorded(fields)
    if _says_the_same(current, belief):
        return []
    return [_supersede(belief, [kept])]


def _carried(before: Belief) -> dict[str, Any]:
    """What a version takes over from the one before. How that one stood on a page is its own."""
    body = before.to_body()
    if "entry" in body.get("views", {}):
        body["views"] = {name: view for name, view in body["views"].items() if name != "entry"}
    return body


def tombstone(known: Beliefs, name: str, *, reason: str = "", user: str = OWNER, path: str = "") -> list[Draft]:
    """Put a belief out of sight. Its words and its history stay."""
    current = known.get(name, user=user, path=path)
    if current.status == "tombstone":
        return []
    return [Draft(TOMBSTONE, _because({"id": current.body()["id"]}, reason))]


def invalidate(known: Beliefs, name: str, draw: Draw, *, reason: str, user: str = OWNER, path: str = "") -> list[Draft]:
    """A belief proved wrong: what rests on it becomes a hypothesis with half its confidence.

    Once: neither a second way to the same belief, nor invalidating again, weakens it further. A tombstone stays one.
    """
    if not reason:
        raise Refused("say why it is no longer held: the reason is what later readers have")
    current = known.get(name, user=user, path=path)
    if current.status == "invalidated":
        return []
    if current.status == "tombstone":
        raise Refused(f"{name} is forgotten already; what rests on it can be revised one by one")
    drafts = [Draft(INVALIDATE, _because({"id": current.body()["id"]}, reason))]
    return drafts + [_weaken(held, current.ref, via, draw) for held, via in _all_above(known, current)]


def _all_above(known: Beliefs, cause: Held) -> Iterable[tuple[Held, str]]:
    """What rests on `cause`, directly or through others, nearest first, each once; and through which belief."""
    seen, queue = {cause.ref}, [cause]
    while queue:
        below = queue.pop(0)
        for held in known.resting_on(below):
            if held.ref in seen or held.status not in ("active", "deprecated"):
                continue
            seen.add(held.ref)
            queue.append(held)
            if all(by != cause.ref for by, _ in held.belief().weakened):
                yield held, below.ref


def _weaken(held: Held, cause: str, via: str, draw: Draw) -> Draft:
    before = held.belief()
    weaker = {
        **before.to_body(), "id": draw(), "reason": "", "is_hypothesis": True, "confidence": before.confidence * WEAKER,
        "weakened": (*before.weakened, (cause, via)),
    }  # fmt: skip
    return _supersede(recorded(weaker), [before])


def merge(
    known: Beliefs, names: list[str], changes: Mapping[str, Any], draw: Draw, *, reason: str = "", user: str = OWNER
) -> list[Draft]:
    """One belief in place of several. The first one's key goes on; the others' names lead to it."""
    replaced = [known.get(name, user=user).belief() for name in names]
    first = replaced[0]
    fields = {
        **_carried(first),
        **_with_refs(known, changes, user, None),
        "id": draw(),
        "status": "active",
        "reason": reason,
    }
    return [_supersede(recorded(fields), replaced)]


def erase(
    known: Book, names: Sequence[str], *, user: str = OWNER, path: str = ""
) -> tuple[Iterable[str], Callable[[Event], bool]]:
    """The ids of versions and episodes that go, and which events speak of them. A name may be either's.

    With an episode go the facts that come from it: they hold its words, or what was read out of them.

    Asked of events in order, the second answer also recognises versions that only an older copy has, and their ids join
    the first: a copy may hold what a restore left behind.
    """
    found, episodes = what_goes(known, names, user=user, path=path)
    gone = {version: None for held in found for version in known.ids_of(held)}
    gone.update({told.source: None for name in episodes for told in known.episodes.find(user, name)})
    keys = {(held.user, held.path, held.key) for held in found}
    reviews: set[str] = set()
    things: set[str] = set()  # of which the graph knows by these beliefs

    def speaks(event: Event) -> bool:
        body = event.body or {}
        belief = body.get("belief", {})
        if event.op.startswith("review."):
            return _asks_of(body, gone, reviews)
        if event.op == OBSERVE:
            return _tells(event, user, episodes, gone)
        if event.op in (RECEIPTS, OUTCOME, FADE, RETRACT, FOUND):
            return _holds_words_of(body, gone)
        if event.op.startswith(GRAPH):
            return tells_of(event, user, gone, alone=True) or merges_thing(event, user, things)
        if event.op == NOOP:  # it has the teller's own name for an episode
            return any(source in gone for source in body.get("step", {}).get("sources", ()))
        if not event.op.startswith("belief."):
            return False
        key = (belief.get("user", OWNER), belief.get("path", ""), belief.get("key"))
        if key in keys or any(name in gone for name in (belief.get("id"), body.get("id"), *body.get("replaces", ()))):
            gone.update({name: None for name in (belief.get("id"), body.get("id")) if name})
            things.update(filter(None, map(thing_key, belief.get("triple", ())[::2])))
            return True
        return False

    return gone.keys(), speaks


def what_goes(known: Book, names: Sequence[str], *, user: str = OWNER, path: str = "") -> tuple[list[Held], list[str]]:
    """The beliefs that an erasure of these names destroys, and which of the names are episodes'."""
    whole = {name for name in names if known.find(name, user=user, path=path, short=False)}
    episodes = [name for name in names if name not in whole and known.episodes.find(user, name)]
    found = [known.get(name, user=user, path=path) for name in names if name not in episodes]
    told = [each for name in episodes for each in known.episodes.find(user, name)]
    found += [fact for each in told for fact in known.coming_from(user, each.source)]
    return list({held.ref: held for held in found}.values()), episodes


def _tells(event: Event, user: str, names: list[str], gone: dict[str, None]) -> bool:
    """Whether an event is one of the episodes of that user that go; also one that only an older copy has."""
    episode = (event.body or {}).get("episode", {})
    if episode.get("user", OWNER) != user or episode.get("id", event.id) not in names:
        return False
    gone[event.id] = None
    return True


def _asks_of(body: Mapping[str, Any], gone: Mapping[str, None], reviews: set[str]) -> bool:
    """Whether a question is about what goes, or an answer, with its reason, about such a question."""
    action = body.get("action", {})
    because = sources_in(action.get("changes", {}).get("views"))
    if any(name in gone for name in (*action.get("target", ()), *because)):
        reviews.add(body["review"])
        return True
    return "reason" in body and body.get("review") in reviews


def _holds_words_of(body: Mapping[str, Any], gone: Mapping[str, None]) -> bool:
    """Whether a question that was kept, or the reason of an outcome or a fading, is about what goes. Ids may stay."""
    asked = (receipt["hits"] for receipt in body.get("receipts", ()) if receipt.get("question"))
    if any(name in gone for hits in asked for name, *_ in hits):
        return True
    return "reason" in body and any(name in gone for name in body.get("ids", ()))


def _with_refs(known: Beliefs, fields: Mapping[str, Any], user: str, current: Held | None) -> dict[str, Any]:
    """`fields`, with what it rests on by identity: a name may change hands, the first id does not."""
    names = fields.get("rests_on")
    found = dict(fields)
    if names:
        below = [known.find(name, user=user, path=fields.get("path", "")) for name in names]
        for name, held in zip(names, below, strict=True):
            if held is None:
                raise Refused(f"it is said to rest on {name!r}, which is not known; state that first")
            if current and held.ref == current.ref:
                raise Refused(f"{name!r} cannot rest on itself")
        found["rests_on"] = tuple(held.ref for held in below if held)
    return found


def _refuse_anothers_name(known: Beliefs, key: str, current: Held) -> None:
    other = known.find(key, user=current.user, path=current.path, short=False)
    if other and other.ref != current.ref:
        raise Refused(f"{key!r} names another belief already; choose another key")


def _supersede(belief: dict[str, Any], replaced: Sequence[Belief], idempotency_key: str = "") -> Draft:
    """A version in the place of others. Of where it comes from it says only what is new: folding knows the rest."""
    if "views" in belief:
        belief = {**belief, "views": trimmed(belief["views"], [each.views for each in replaced])}
        if not belief["views"]:
            del belief["views"]
    return _draft(SUPERSEDE, belief, idempotency_key, replaces=[each.id for each in replaced])


def _draft(op: str, belief: dict[str, Any], idempotency_key: str = "", replaces: list[str] | None = None) -> Draft:
    body: dict[str, Any] = {"belief": belief}
    if replaces:
        body["replaces"] = replaces
    if idempotency_key:
        body["idempotency_key"] = idempotency_key
    return Draft(op, body)


def _because(body: dict[str, Any], reason: str) -> dict[str, Any]:
    return {**body, "reason": reason} if reason else body


def _says_the_same(current: Held, belief: dict[str, Any]) -> bool:
    before = current.belief().to_body()
    said = (before.keys() | belief.keys()) - _OF_THE_VERSION
    return all(before.get(name) == belief.get(name) for name in said)

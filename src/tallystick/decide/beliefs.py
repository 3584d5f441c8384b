"""Decisions about beliefs: put, revise, forget, invalidate, merge, erase.

Nothing here touches a disk or a clock: new ids come from the function that the caller passes in. A decision that
changes nothing (the same statement again) gives no drafts. A refusal names the reason.

A branch's change of an ancestor's belief is a version of the branch's own, `over` the ancestor's, which stays as it is.
A belief on a path that is not seen from another cannot be changed from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tallystick.decide.aliases import names_in
from tallystick.decide.graph import merges_one, tells_of
from tallystick.records import operations as op
from tallystick.records.belief import OWNER, Belief, recorded
from tallystick.records.entity import thing_key
from tallystick.records.errors import KeyReused, Moved, Refused
from tallystick.records.event import UNDOES, Draft, Event
from tallystick.records.fact import grown, sources_in, trimmed
from tallystick.records.recall import has_words
from tallystick.state.beliefs import Beliefs, CurrentVersion, gist_of
from tallystick.state.episodes import mark_of
from tallystick.state.state import State

Draw = Callable[[], str]

CONFIDENCE = 0.7  # by default
WEAKER = 0.5  # the share of its confidence that a belief keeps when something it depends on is invalidated

_OF_THE_VERSION = {"id", "reason", "weakened", "path"}
_MAY_BE_WEAKER = ("active", "deprecated", "hypothesis")
_WITH_IDS = (
    op.RECEIPT_PUT, op.OUTCOME_PUT, op.EPISODE_FADE, op.EPISODE_RETRACT, op.EPISODE_RESTORE, op.RULE_FOUND,
    op.RELATION_PUT,
)  # fmt: skip


def put(
    known: Beliefs, fields: Mapping[str, Any], draw: Draw, *, idempotency_key: str = "", source: str = "",
    merged: Sequence[str] = (),
) -> list[Draft]:  # fmt: skip
    """State a belief. A known key is superseded as a whole; the same statement again is no event.

    The `idempotency_key` is one of `source`'s own: KeyReused, if it was used for other words. `merged` are the versions
    that come from another path: they name it too, and stay where they are.
    """
    user = fields.get("user", OWNER)
    if idempotency_key and (said := known.said(user, source, idempotency_key)):
        if said[1] != gist_of(fields):
            raise KeyReused(f"the key {idempotency_key!r:.80} was used for other words; use another key for these")
        return []
    name, path = fields.get("key", ""), fields.get("path", "")
    known.paths.writable(user, path)
    current = known.find(name, user=user, path=path, short=False) if name else None
    if current and merged and not known.sees(current, path):
        current = None
    if current:
        _must_see(known, name, current, path)
    new_id = draw()
    given = {"id": new_id, "key": new_id, "confidence": CONFIDENCE, **fields}
    if current:
        given["key"] = current.key
    belief = recorded(_with_refs(known, given, user, current))
    if current and _says_the_same(current, belief):
        return []
    draft = in_its_place(belief, current, path)
    if idempotency_key:
        draft.body.update(idempotency_key=idempotency_key, idempotency_source=source)
    if merged:
        draft.body["merged"] = list(merged)
    return [draft]


def revise(
    known: Beliefs, name: str, changes: Mapping[str, Any], draw: Draw, *, reason: str = "", user: str = OWNER,
    path: str = "",
) -> list[Draft]:  # fmt: skip
    """Replace a belief by a version that differs in `changes`. Moved, if `name` is a version with older words."""
    current = _current(known, name, user, path)
    if known.read_before(name, current):
        raise Moved(f"{name} has been revised since; it is {current.belief().id} now: read it again, then decide")
    if current.status == "tombstone" and "status" not in changes:
        raise Refused(f"{name} is forgotten; remember it again under its key", "state")
    if "key" in changes:
        key = str(changes["key"])
        other = known.find(key, user=user, path=path, short=False)
        if other and other.ref != current.ref:
            raise Refused(f"{key!r} is the key of another belief already; choose another key", "exists")
        if key != current.key and current.path != path:
            raise Refused(f"{current.key!r} is its key on all paths; change the key where it was stated", "exists")
    fields = _with_refs(known, {"path": path, **changes}, user, current)
    belief = recorded({**carried(current.belief()), **fields, "id": draw(), "reason": reason})
    if _says_the_same(current, belief):
        return []
    return [in_its_place(belief, current, path)]


def carried(before: Belief) -> dict[str, Any]:
    """The fields that a version keeps from the one before; its entry on a page is its own."""
    body = before.to_body()
    if "entry" in body.get("views", {}):
        body["views"] = {name: view for name, view in body["views"].items() if name != "entry"}
    return body


def tombstone(known: Beliefs, name: str, *, reason: str = "", user: str = OWNER, path: str = "") -> list[Draft]:
    """Hide a belief, on its own path. Its words and its history stay."""
    current = _current(known, name, user, path)
    if current.status == "tombstone":
        return []
    return [_withdrawn(op.BELIEF_TOMBSTONE, current, reason)]


def put_away(known: Beliefs, version: str, *, reason: str = "", user: str = OWNER) -> list[Draft]:
    """Hide exactly that version's belief, wherever it is, also on a path that has ended."""
    held = known.version(version)
    if held is None or held.user != user or held.status == "tombstone":
        return []
    return [_withdrawn(op.BELIEF_TOMBSTONE, held, reason)]


def forget(
    known: Beliefs, name: str, draw: Draw, *, reason: str = "", user: str = OWNER, path: str = ""
) -> list[Draft]:
    """Hide a belief as far as the path sees: an ancestor's belief is hidden on this path and below it only."""
    current = _current(known, name, user, path)
    if current.path == path or current.status == "tombstone":
        return tombstone(known, name, reason=reason, user=user, path=path)
    return [_fallen(current, "tombstone", reason, path, draw)]


def invalidate(known: Beliefs, name: str, draw: Draw, *, reason: str, user: str = OWNER, path: str = "") -> list[Draft]:
    """Record that a belief proved wrong: those that depend on it become hypotheses with half their confidence.

    Once: neither a second way to the same belief, nor invalidating again, weakens it further. A tombstone stays one.
    """
    if not reason:
        raise Refused("give a reason why it is no longer true", "required")
    current = _current(known, name, user, path)
    if current.status == "invalidated":
        return []
    if current.status == "tombstone":
        raise Refused(f"{name} is forgotten already; revise what depends on it one by one", "state")
    if current.path == path:
        drafts = [_withdrawn(op.BELIEF_INVALIDATE, current, reason)]
    else:
        drafts = [_fallen(current, "invalidated", reason, path, draw)]
    for held, via, on in _all_above(known, current, path):
        before = held.belief()
        weaker = {
            **before.to_body(), "id": draw(), "reason": "", "is_hypothesis": True, "path": on,
            "confidence": before.confidence * WEAKER, "weakened": (*before.weakened, (current.ref, via)),
        }  # fmt: skip
        drafts.append(in_its_place(recorded(weaker), held, on))
    return drafts


def _withdrawn(name: str, held: CurrentVersion, reason: str) -> Draft:
    return Draft(name, {"id": held.body()["id"], **({"reason": reason} if reason else {})})


def _fallen(held: CurrentVersion, status: str, reason: str, path: str, draw: Draw) -> Draft:
    """A branch's version that withdraws an ancestor's belief there."""
    changes = {"id": draw(), "path": path, "status": status, "reason": reason}
    return in_its_place(recorded({**carried(held.belief()), **changes}), held, path)


def _all_above(known: Beliefs, cause: CurrentVersion, path: str) -> Iterable[tuple[CurrentVersion, str, str]]:
    """What depends on `cause`, directly or through others, nearest first, each once; through which belief, and the path
    to record it on."""
    seen, queue = {cause.ref}, [cause]
    while queue:
        below = queue.pop(0)
        for held in known.resting_on(below):
            on = path if known.sees(held, path) else held.path
            if held.ref in seen or held.status not in _MAY_BE_WEAKER or not _reaches(known, below, path, on):
                continue
            seen.add(held.ref)
            queue.append(held)
            if all(by != cause.ref for by, _ in held.belief().weakened):
                yield held, below.ref, on


def _reaches(known: Beliefs, below: CurrentVersion, path: str, on: str) -> bool:
    """True if a change of a belief on one path matters on another: it is seen there, and that path is open."""
    if on == path:
        return True
    return path in known.paths.lineage(below.user, on) and known.sees(below, on) and known.is_open(below.user, on)


def merge(
    known: Beliefs, names: list[str], changes: Mapping[str, Any], draw: Draw, *, reason: str = "", user: str = OWNER
) -> list[Draft]:
    """One belief in place of several. The first one's key continues; the others' names lead to it."""
    replaced = [_current(known, name, user, "").belief() for name in names]
    own = {"id": draw(), "status": "active", "reason": reason}
    return [_supersede(recorded({**carried(replaced[0]), **_with_refs(known, changes, user, None), **own}), replaced)]


def erase(
    known: State, names: Sequence[str], *, user: str = OWNER, path: str = ""
) -> tuple[Iterable[str], Callable[[Event], bool]]:
    """The ids of versions and episodes to erase, and a test for the events about them. A name may be either's, or that
    of a review about words that were never recorded as a belief.

    With an episode, the facts that come from it are erased: they have its words, or what was extracted from them. With
    a belief, those of other paths that were made from it, or it from them.

    Called for events in order, the test also recognises versions that only an older copy has, and adds their ids to the
    first: a copy may have what a restore left behind.
    """
    found, episodes = what_goes(known, names, user=user, path=path)
    gone = {version: None for held in found for version in known.ids_of(held)}
    sources = [told.source for name in episodes for told in known.episodes.named(user, name)]
    gone.update(dict.fromkeys(sources))
    gone.update({mark: None for source in sources if (mark := mark_of(user, known.episodes.name_of(source)))})
    keys = {(held.user, held.path, held.key) for held in found}
    reviews = {review for version in gone if (review := known.reviews.approval_of(version))}
    reviews.update(name for name in names if known.reviews.is_of_words_alone(name, user))
    gone.update(dict.fromkeys(sorted(reviews & set(names))))
    things: set[str] = set()  # that the graph has from these beliefs

    def speaks(event: Event) -> bool:
        body = event.body or {}
        belief = body.get("belief", {})
        if event.op == op.EPISODE_PUT:  # one of that user's, perhaps one that only an older copy has
            episode = body.get("episode", {})
            is_named = event.id in gone or episode.get("id", event.id) in episodes
            if is_gone := episode.get("user", OWNER) == user and is_named:
                gone[event.id] = None
            return is_gone
        if not event.op.startswith("belief."):
            if is_merge := merges_one(event, user, things):
                gone[body.get("review", event.id)] = None
            return is_merge or names_one_of(event, user, gone, reviews)
        key = (belief.get("user", OWNER), belief.get("path", ""), belief.get("key"))
        before = () if UNDOES in body else body.get("replaces", ())  # what was undone is another's, if that is merged
        if key in keys or any(name in gone for name in (belief.get("id"), body.get("id"), *before)):
            gone.update({name: None for name in (belief.get("id"), body.get("id")) if name})
            things.update(filter(None, map(thing_key, belief.get("triple", ())[::2])))
            return True
        return False

    return gone.keys(), speaks


def what_goes(
    known: State, names: Sequence[str], *, user: str = OWNER, path: str = ""
) -> tuple[list[CurrentVersion], list[str]]:  # fmt: skip
    """The beliefs that an erasure of these names reaches, and which of the names are episodes'."""
    names = [name for name in names if not known.reviews.is_of_words_alone(name, user)]
    episodes = [name for name in names if is_episode(known, name, user=user, path=path)]
    found = [known.get(name, user=user, path=path) for name in names if name not in episodes]
    told = [each for name in episodes for each in known.episodes.named(user, name)]
    found += [fact for each in told for fact in known.coming_from(user, each.source)]
    kin = dict.fromkeys(ref for held in found for ref in known.kin_of(held.ref))
    return [held for ref in kin if (held := known.by_ref(ref))], episodes


def is_episode(known: State, name: str, *, user: str, path: str = "") -> bool:
    """True if a name means an episode. A belief goes first, unless only the end of its id is the same."""
    if known.find(name, user=user, path=path, short=False):
        return False
    if known.episodes.find(user, name):
        return True
    return known.find(name, user=user, path=path) is None and bool(known.episodes.named(user, name))


def names_one_of(event: Event, user: str, gone: Mapping[str, None], reviews: set[str]) -> bool:
    """True if an event that states nothing erased has words about it: a review, a reason, a record of the graph.

    `reviews` are the reviews about it; called for events in order, it adds those that it finds.
    """
    body = event.body or {}
    if event.op.startswith("review."):  # about something erased, or an answer, with its reason, about such a review
        action = body.get("action", {})
        because = sources_in(action.get("changes", {}).get("views"))
        if any(name in gone for name in (*action.get("target", ()), *action.get("merged", ()), *because)):
            reviews.add(body["review"])
        return ("reason" in body or bool(action)) and body.get("review") in reviews
    if event.op in _WITH_IDS:  # a receipt with words, a reason or a relation: ids alone may stay
        asked = (receipt["hits"] for receipt in body.get("receipts", ()) if has_words(receipt))
        if any(name in gone for hits in asked for name, *_ in hits):
            return True
        return ("reason" in body or "relation" in body) and any(name in gone for name in body.get("ids", ()))
    if event.op == op.DELTA_NOOP:  # it has the author's own name for an episode
        return any(source in gone for source in body.get("step", {}).get("sources", ()))
    return tells_of(event, user, gone, alone=True)


def _with_refs(known: Beliefs, fields: Mapping[str, Any], user: str, current: CurrentVersion | None) -> dict[str, Any]:
    """The fields, with `rests_on` by ref: a name may come to mean another belief, a ref does not."""
    names = fields.get("rests_on")
    found = dict(fields)
    if names:
        below = [known.find(name, user=user, path=fields.get("path", "")) for name in names]
        for name, held in zip(names, below, strict=True):
            if held is None or not known.sees(held, fields.get("path", "")):
                raise Refused(f"it rests on {name!r:.80}, which is not known; state that first", "reference")
            if current and held.key == current.key:
                raise Refused(f"{name!r:.80} cannot rest on itself", "self")
        found["rests_on"] = tuple(held.ref for held in below if held)
    return found


def _current(known: Beliefs, name: str, user: str, path: str) -> CurrentVersion:
    """The belief of that name, to be changed. Refused, if it is not seen from that path, or the path has ended."""
    known.paths.writable(user, path)
    held = known.get(name, user=user, path=path)
    _must_see(known, name, held, path)
    return held


def _must_see(known: Beliefs, name: str, held: CurrentVersion, path: str) -> None:
    if not known.sees(held, path):
        raise Refused(
            f"{name} is on path {held.path!r:.80}, which is not seen from here; use m.on({held.path!r:.80})", "state"
        )


def in_its_place(belief: dict[str, Any], held: CurrentVersion | None, path: str) -> Draft:
    """A version that replaces another, if there is one. On a branch an ancestor's belief stays; this is its own."""
    if held is None:
        return Draft(op.BELIEF_PUT, {"belief": belief, **names_in(belief)})
    before = held.belief()
    if held.path == path:
        return _supersede(belief, [before])
    if views := grown(belief.get("views", {}), [before.views]):
        belief = {**belief, "views": views}
    return Draft(op.BELIEF_PUT, {"belief": belief, "over": [before.id], **names_in(belief)})


def _supersede(belief: dict[str, Any], replaced: Sequence[Belief]) -> Draft:
    """A version that replaces others. Of its lineage it records only what is new: folding adds the rest."""
    if "views" in belief:
        belief = {**belief, "views": trimmed(belief["views"], [each.views for each in replaced])}
        if not belief["views"]:
            del belief["views"]
    return Draft(
        op.BELIEF_SUPERSEDE, {"belief": belief, "replaces": [each.id for each in replaced], **names_in(belief)}
    )  # fmt: skip


def _says_the_same(current: CurrentVersion, belief: dict[str, Any]) -> bool:
    before = current.belief().to_body()
    fields = (before.keys() | belief.keys()) - _OF_THE_VERSION
    return all(before.get(name) == belief.get(name) for name in fields)

"""Decisions about the use of memories: receipts, outcomes, archived episodes, relations.

Text, a question or a reason, is in an event by itself: erasing it empties nothing else. What has only ids is written
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from tallystick.records.belief import OWNER
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.operations import EPISODE_FADE, OUTCOME_PUT, RECEIPT_PUT, RELATION_PUT
from tallystick.records.recall import Receipt, Related, has_words
from tallystick.state.state import State

HEAVIEST = 10.0  # weight of one outcome
LONGEST_RELATION = 200  # characters

_FULL = 1 << 18  # bytes of receipts in one event
_MOST = 900_000  # bytes; a line cannot hold a longer receipt
_IDS = 5_000  # in one event


def receipts(given: Iterable[Receipt]) -> list[Draft]:
    """Record receipts: an event for each user's, and for each that has words. One too long for a line is left out."""
    drafts: list[Draft] = []
    together: dict[str, tuple[list[Any], int]] = {}
    for receipt in given:
        body = receipt.to_body()
        size = len(orjson.dumps(body))
        if size > _MOST:
            continue
        if has_words(body):
            drafts.append(Draft(RECEIPT_PUT, {"receipts": [body]}))
            continue
        group, held = together.get(receipt.user, ([], 0))
        if not group or held + size > _FULL:
            group, held = [], 0
            drafts.append(Draft(RECEIPT_PUT, {"receipts": group}))
        group.append(body)
        together[receipt.user] = group, held + size
    return drafts


def outcome(
    known: State, names: Sequence[str], signal: float, weight: float = 1.0, *, user: str = OWNER, reason: str = "",
    path: str = "",
) -> list[Draft]:  # fmt: skip
    """Record whether memories helped: 1 if they did, 0 if they misled. On a path it counts there alone."""
    if not _is_number(signal) or not 0 <= signal <= 1:
        raise Refused(f"signal must be from 0 (it misled) to 1 (it helped), not {signal!r}")
    if not _is_number(weight) or not 0 < weight <= HEAVIEST:
        raise Refused(f"weight must be above 0 and at most {HEAVIEST:g}, not {weight!r}")
    sources = [source for name in _named(names) for source in sources_of(known, name, user, path)]
    body = {"signal": float(signal), "weight": float(weight), "user": user} | ({"path": path} if path else {})
    return [Draft(OUTCOME_PUT, {"ids": ids, **body, **why}) for ids, why in _portions(sources, reason)]


def again(known: State, name: str, *, user: str = OWNER, path: str = "") -> list[Draft]:
    """Record that a belief was stated again, in the same words: it is used more, and not surer."""
    body: dict[str, Any] = {"signal": 1.0, "weight": 1.0, "user": user, "again": True}
    on_path = {"path": path} if path else {}
    return [Draft(OUTCOME_PUT, {"ids": sources_of(known, name, user, path), **body, **on_path})]


def archive(known: State, names: Sequence[str], *, user: str = OWNER, reason: str = "") -> list[Draft]:
    """Archive episodes: they are not recalled, and stay in history. Archived ones are no event."""
    sources: list[str] = []
    for name in _named(names):
        found = [told.source for told in known.episodes.named(user, name)]
        if not found and known.find(name, user=user):
            raise Refused(f"{name!r} is a belief, not an episode; use `tallystick forget`", "permission")
        sources += found or _nothing(name)
    fresh = [source for source in sources if not known.uses.is_faded(source)]
    return [Draft(EPISODE_FADE, {"ids": ids, "user": user, **why}) for ids, why in _portions(fresh, reason)]


def relate(known: State, one: str, other: str, relation: str, *, user: str = OWNER, path: str = "") -> list[Draft]:
    """Record the relation of two memories; an empty one removes it. The same again is no event."""
    if len(relation) > LONGEST_RELATION:
        raise Refused(f"a relation has up to {LONGEST_RELATION} characters, not {len(relation)}", "size")
    known.paths.writable(user, path)
    ids = [identity(known, name, user, path) for name in (one, other)]
    if ids[0] == ids[1]:
        raise Refused(f"{one!r:.80} and {other!r:.80} are the same memory; name two", "self")
    before, words = known.relations.find(user, path, *ids), " ".join(relation.split())
    if (before is None and not words) or (before and (before.ids, before.relation) == (tuple(ids), words)):
        return []
    body = {"user": user, "ids": ids} | ({"relation": words} if words else {}) | ({"path": path} if path else {})
    return [Draft(RELATION_PUT, body)]


def related(known: State, one: str, other: str, *, user: str = OWNER, path: str = "") -> Related | None:
    """The relation of two memories on a path; None, if there is none."""
    return known.relations.find(user, path, *(identity(known, name, user, path) for name in (one, other)))


def identity(known: State, name: str, user: str, path: str) -> str:
    """The lasting id of a memory: a belief's first id, an episode's event."""
    held = known.find(name, user=user, path=path)
    if held is not None and known.sees(held, path):
        return held.ref
    found = _episodes(known, name, user) or _nothing(name)
    if len(found) > 1:
        raise Refused(f"{name!r:.80} names several episodes; use the id of an event", "ambiguous")
    return found[0]


def sources_of(known: State, name: str, user: str, path: str = "") -> list[str]:
    """The sources that a name means: a belief's current version, or every episode of that name.

    A version whose words have changed since is meant itself: its outcome says nothing about the current words.
    """
    held = known.find(name, user=user, path=path)
    if held is not None:
        return [name if known.read_before(name, held) else held.body()["id"]]
    return _episodes(known, name, user) or _nothing(name)


def _episodes(known: State, name: str, user: str) -> list[str]:
    return [told.source for told in known.episodes.named(user, name)]


def _nothing(name: str) -> list[str]:
    raise NotFound(f"no belief named {name!r}; run `tallystick log` to list them")


def _named(names: Sequence[str]) -> list[str]:
    if not names:
        raise Refused("name the memories: ids or keys", "required")
    return list(dict.fromkeys(names))


def _portions(sources: list[str], reason: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Ids and the reason, event by event. With a reason, each by itself."""
    sources = list(dict.fromkeys(sources))
    size = 1 if reason else _IDS
    why = {"reason": reason} if reason else {}
    for start in range(0, len(sources), size):
        yield sources[start : start + size], dict(why)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

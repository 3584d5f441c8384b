"""What may be said of the use of memories, and which events say it.

Words of somebody's own, a question or a reason, stand in an event by themselves: an erasure that empties it takes
nothing else along. Everything that holds only ids is written together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from tallystick.records.belief import OWNER
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.operations import EPISODE_FADE, OUTCOME_PUT, RECEIPT_PUT, RELATION_PUT
from tallystick.records.receipt import Receipt, has_words
from tallystick.records.relation import Related
from tallystick.state.state import State

HEAVIEST = 10.0  # what one outcome may weigh
LONGEST_RELATION = 200  # letters

_FULL = 1 << 18  # bytes of receipts in one event
_MOST = 900_000  # bytes; of a receipt that is longer, no line could hold the whole
_IDS = 5_000  # in one event


def receipts(given: Iterable[Receipt]) -> list[Draft]:
    """Record what was served: an event for each user's, and one for each that has words (see `has_words`).

    A receipt that no line of the ledger can hold is left out.
    """
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
    """Record what came of using memories: 1 if they helped, 0 if they misled. A name is a belief's or an episode's.

    On a path it says so: what the path has from above is proved there alone.
    """
    if not _is_number(signal) or not 0 <= signal <= 1:
        raise Refused(f"a signal is from 0 (it misled) to 1 (it helped), not {signal!r}")
    if not _is_number(weight) or not 0 < weight <= HEAVIEST:
        raise Refused(f"a weight is above 0 and at most {HEAVIEST:g}, not {weight!r}")
    sources = [source for name in _named(names) for source in sources_of(known, name, user, path)]
    said = {"signal": float(signal), "weight": float(weight), "user": user} | ({"path": path} if path else {})
    return [Draft(OUTCOME_PUT, {"ids": ids, **said, **why}) for ids, why in _portions(sources, reason)]


def again(known: State, name: str, *, user: str = OWNER, path: str = "") -> list[Draft]:
    """Record that a belief was said again, in the words it has: it is used more, and no surer."""
    said: dict[str, Any] = {"signal": 1.0, "weight": 1.0, "user": user, "again": True}
    on_path = {"path": path} if path else {}
    return [Draft(OUTCOME_PUT, {"ids": sources_of(known, name, user, path), **said, **on_path})]


def archive(known: State, names: Sequence[str], *, user: str = OWNER, reason: str = "") -> list[Draft]:
    """Put episodes out of recall; what happened stays in history. Those that have faded already are no event."""
    sources: list[str] = []
    for name in _named(names):
        found = _episodes(known, name, user)
        if not found and known.find(name, user=user):
            raise Refused(
                f"{name!r} is a belief, not something that happened; "
                "`tallystick forget` puts it out of sight", "permission"
            )
        sources += found or _nothing(name)
    fresh = [source for source in sources if not known.uses.is_faded(source)]
    return [Draft(EPISODE_FADE, {"ids": ids, "user": user, **why}) for ids, why in _portions(fresh, reason)]


def relate(
    known: State, one: str, other: str, relation: str, *, user: str = OWNER, path: str = ""
) -> list[Draft]:  # fmt: skip
    """Record how two memories are related; an empty relation takes it back. What is so already is no event."""
    if len(relation) > LONGEST_RELATION:
        raise Refused(f"a relation is a few words, at most {LONGEST_RELATION} letters, such as 'explains'", "size")
    known.writable(user, path)
    ids = [identity(known, name, user, path) for name in (one, other)]
    if ids[0] == ids[1]:
        raise Refused(f"{one!r:.80} and {other!r:.80} are one memory; nothing is related to itself", "self")
    said, words = known.relations.find(user, path, *ids), " ".join(relation.split())
    if (said is None and not words) or (said and (said.ids, said.relation) == (tuple(ids), words)):
        return []
    body = {"user": user, "ids": ids} | ({"relation": words} if words else {}) | ({"path": path} if path else {})
    return [Draft(RELATION_PUT, body)]


def related(known: State, one: str, other: str, *, user: str = OWNER, path: str = "") -> Related | None:
    """How two memories are related on a path; None, if nobody said so there."""
    return known.relations.find(user, path, *(identity(known, name, user, path) for name in (one, other)))


def identity(known: State, name: str, user: str, path: str) -> str:
    """What a memory is known by whatever becomes of its words: a belief's first id, an episode's event."""
    held = known.find(name, user=user, path=path)
    if held is not None and known.sees(held, path):
        return held.ref
    found = _episodes(known, name, user) or _nothing(name)
    if len(found) > 1:
        raise Refused(f"{name!r:.80} names several episodes; say which, by the id of its event", "ambiguous")
    return found[0]


def sources_of(known: State, name: str, user: str, path: str = "") -> list[str]:
    """The sources that a name means: a belief's current version, or every episode that goes by the name.

    A version whose words have changed since is meant itself: what came of it says nothing of the words it has now.
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
        raise Refused("say which: the ids or keys of what was recalled", "required")
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

"""Why is this believed, or no longer? The chain of reasons, from a belief down to what it rests on."""

from __future__ import annotations

from tallystick.records.history import Why
from tallystick.state.beliefs import Beliefs
from tallystick.state.version import CurrentVersion

DEEPEST = 100  # what stands further down is not told: nobody reads it


def why(known: Beliefs, held: CurrentVersion, *, path: str = "") -> Why:
    """The reasons for `held`, as they are seen from a path. What is said once is not said again, so that a circle, or
    a web, comes to an end."""
    return _why(known, held, {held.ref}, 1, path)


def _why(known: Beliefs, held: CurrentVersion, seen: set[str], depth: int, path: str) -> Why:
    belief, below = held.belief(), list[CurrentVersion]()
    for ref in belief.rests_on if depth < DEEPEST else ():
        found = known.find(ref, user=held.user, path=path)
        if found and found.ref not in seen:
            seen.add(found.ref)
            below.append(found)
    because = [_fallen(known, held.user, path, cause, via) for cause, via in belief.weakened]
    if belief.reason:
        because.insert(0, f"{_STANDING.get(belief.status, 'revised')}: {belief.reason}")
    return Why(belief, tuple(because), tuple(_why(known, found, seen, depth + 1, path) for found in below))


_STANDING = {"tombstone": "forgotten", "invalidated": "no longer held", "superseded": "replaced"}


def _fallen(known: Beliefs, user: str, path: str, cause: str, via: str) -> str:
    fallen, between = (known.find(name, user=user, path=path) for name in (cause, via))
    if fallen is None:
        return "weakened: something it rests on was invalidated and has been erased since"
    through = f", through {between.key}" if between and between.ref != fallen.ref else ""
    reason = fallen.belief().reason
    return f"weakened: {fallen.key} is no longer held{f' ({reason})' if reason else ''}{through}"


def dependents(known: Beliefs, held: CurrentVersion, *, path: str = "") -> list[CurrentVersion]:
    """Everything that rests on a belief, directly or through others, nearest first, as far as a path sees it."""
    seen, queue, found = {held.ref}, [held], []
    while queue:
        for above in known.resting_on(queue.pop(0)):
            if above.ref not in seen and known.sees(above, path):
                seen.add(above.ref)
                queue.append(above)
                found.append(above)
    return found

"""Which words are not given out to a program: those that nobody vouches for.

What a model has read, it may repeat in its own name. Every door at which programs ask goes by this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepsake.records.belief import Belief

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory
    from keepsake.records.episode import Episode

NOT_TRUSTED = "its source is not trusted; recall leaves it out"
WAITS = "waits for a person's yes; recall leaves it out"


def why_withheld(memory: Memory, held: Belief | Episode) -> str:
    """Why the words are not given out; nothing, if they are."""
    if isinstance(held, Belief):
        return why_belief(memory, held.id, held.trust, held.path)
    return why_episode(memory, held.id, held.trust)


def why_belief(memory: Memory, version: str, trust: str, path: str = "") -> str:
    """The same of a belief's version, by its id."""
    if memory.withheld(version, path=path):
        return NOT_TRUSTED
    return WAITS if is_unheard(memory, version, trust) else ""


def why_episode(memory: Memory, name: str, trust: str) -> str:
    """The same of an episode, by its id."""
    if memory.episodes.withheld(name):
        return NOT_TRUSTED
    return WAITS if is_unheard(memory, name, trust) else ""


def is_in_doubt(memory: Memory, belief: Belief) -> bool:
    """Whether it is kept out of recall until a person says yes, or others whom one trusts say the same."""
    return is_unheard(memory, belief.id, belief.trust)


def is_unheard(memory: Memory, name: str, trust: str) -> bool:
    """The same of a belief or an episode, by its id."""
    return trust in memory.policy.quarantined and not memory.is_shown(name)

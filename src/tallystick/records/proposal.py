"""A proposal: something that may leave sight, and why. Nothing goes by itself.

It names versions of beliefs, events of episodes and files of pages, not keys: what a person agreed to is what was
shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused

FADED, EXPIRED, CONTRADICTION, REPEAT, DORMANT = "faded", "expired", "contradiction", "repeat", "dormant"
FORGET, PUT_OUT, MERGE, CHOOSE, REST = "forget", "fade", "merge", "choose", "rest"

MAY = {
    EXPIRED: (FORGET,),
    CONTRADICTION: (CHOOSE,),  # the first is kept, the others are forgotten
    REPEAT: (MERGE,),  # the first goes on, and the names of the others lead to it
    FADED: (FORGET, PUT_OUT),  # a belief is forgotten; what happened is put out of recall
    DORMANT: (REST,),  # a page is not listed any more; what stands on it is recalled as before
}

_LONGEST = 100  # characters of a text that is shown
_SHORT = 6  # digits by which a proposal is called


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Displayable):
    """What may be done about a few memories."""

    derived = ("id",)

    kind: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]  # the words of each, in short
    why: str
    action: str
    user: str = OWNER

    def __post_init__(self) -> None:
        if self.kind not in MAY:
            raise Refused(f"a proposal is one of {', '.join(MAY)}, not {self.kind!r}")
        if self.action not in MAY[self.kind]:
            raise Refused(f"what is {self.kind} may be put to {' or '.join(MAY[self.kind])}, not {self.action!r}")
        least = 2 if self.action in (MERGE, CHOOSE) else 1
        if len(set(self.ids)) < max(least, len(self.ids)) or len(self.texts) != len(self.ids):
            raise Refused(f"a proposal to {self.action} names {least} or more, each once and each with its words")

    @property
    def id(self) -> str:
        """By what to call it: the same as long as it proposes the same."""
        return sha256("\n".join((self.action, self.user, *self.ids)).encode("utf-8", "replace")).hexdigest()[:_SHORT]

    @property
    def goes(self) -> tuple[str, ...]:
        """What would leave sight."""
        return self.ids[1:] if self.action in (MERGE, CHOOSE) else self.ids


def in_short(text: str) -> str:
    """A text on one line, as long as a proposal needs it."""
    line = " ".join(text[: _LONGEST * 4].split())
    return line if len(line) <= _LONGEST and len(text) <= _LONGEST * 4 else line[: _LONGEST - 1].rstrip() + "…"

"""A proposal: memories that could be hidden, and why. Nothing is hidden without a person.

It names versions of beliefs, events of episodes and files of pages, not keys: what a person approves is what was shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_one_of

FADED, EXPIRED, CONTRADICTION, REPEAT, DORMANT = "faded", "expired", "contradiction", "repeat", "dormant"
FORGET, PUT_OUT, MERGE, CHOOSE, REST = "forget", "fade", "merge", "choose", "rest"

MAY = {
    EXPIRED: (FORGET,),
    CONTRADICTION: (CHOOSE,),  # the first is kept, the others are forgotten
    REPEAT: (MERGE,),  # the first continues, and the names of the others lead to it
    FADED: (FORGET, PUT_OUT),  # a belief is forgotten, an episode archived
    DORMANT: (REST,),  # a page is no longer listed; its entries are recalled as before
}

_LONGEST = 100  # characters of a text that is shown
_SHORT = 6  # digits of a proposal's id


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Displayable):
    derived = ("id",)

    kind: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]  # the words of each, in short
    why: str
    action: str
    user: str = OWNER

    def __post_init__(self) -> None:
        must_be_one_of("kind", self.kind, MAY)
        must_be_one_of(f"action for {self.kind}", self.action, MAY[self.kind])
        least = 2 if self.action in (MERGE, CHOOSE) else 1
        if len(set(self.ids)) < max(least, len(self.ids)) or len(self.texts) != len(self.ids):
            raise Refused(f"a proposal to {self.action} needs {least} or more ids, each once and each with its text")

    @property
    def id(self) -> str:
        """Its id, which follows from its content."""
        return sha256("\n".join((self.action, self.user, *self.ids)).encode("utf-8", "replace")).hexdigest()[:_SHORT]

    @property
    def goes(self) -> tuple[str, ...]:
        """The ids that would be hidden."""
        return self.ids[1:] if self.action in (MERGE, CHOOSE) else self.ids


def in_short(text: str) -> str:
    """A text on one line, shortened."""
    line = " ".join(text[: _LONGEST * 4].split())
    return line if len(line) <= _LONGEST and len(text) <= _LONGEST * 4 else line[: _LONGEST - 1].rstrip() + "…"

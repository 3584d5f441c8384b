"""A folding: a page in fewer words, as it is proposed or as it was carried out."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Displayable):
    """What a page becomes if what was superseded goes into a note and repeats are joined."""

    path: str
    why: str
    entries_before: int
    entries_after: int
    tokens_before: int  # about so many
    tokens_after: int
    text: str  # the whole page, as it would be
    diff: str  # from the page as it is, in the unified format; empty, if nothing changes
    losses: tuple[str, ...] = ()  # what would be lost by it, a line each; empty: it is accepted
    changes: tuple[tuple[str, str], ...] = ()  # (an entry that leaves the page, the one that tells it then)
    user: str = OWNER

    def __post_init__(self) -> None:
        if not self.path or not self.path.endswith(".md"):
            raise Refused(f"a folding is of a page like person-ana.md, not {self.path!r}", "name")
        if min(self.entries_before, self.entries_after, self.tokens_before, self.tokens_after) < 0:
            raise Refused(f"{self.path}: a page has no less than nothing on it")

    @property
    def is_any(self) -> bool:
        """Whether anything changes."""
        return bool(self.diff)

    @property
    def is_acceptable(self) -> bool:
        """Whether nothing is lost by it."""
        return not self.losses

    def __repr__(self) -> str:
        return f"<Compaction {self.path} {self.entries_before} entries into {self.entries_after}, {self.why}>"

"""A compaction: a shorter page, proposed or applied."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Displayable):
    """A page with superseded entries summed up in a note and repeats joined."""

    path: str
    why: str
    entries_before: int
    entries_after: int
    tokens_before: int  # about so many
    tokens_after: int
    text: str  # the whole page, as it would be
    diff: str  # unified; empty, if nothing changes
    losses: tuple[str, ...] = ()  # what would be lost, a line each; empty: it is acceptable
    changes: tuple[tuple[str, str], ...] = ()  # (removed entry, the entry that has its content)
    user: str = OWNER

    def __post_init__(self) -> None:
        if not self.path or not self.path.endswith(".md"):
            raise Refused(f"a compaction needs a page like person-ana.md, not {self.path!r}", "name")
        if min(self.entries_before, self.entries_after, self.tokens_before, self.tokens_after) < 0:
            raise Refused(f"{self.path}: counts must not be negative")

    @property
    def is_any(self) -> bool:
        """True if anything changes."""
        return bool(self.diff)

    @property
    def is_acceptable(self) -> bool:
        """True if nothing is lost."""
        return not self.losses

    def __repr__(self) -> str:
        return f"<Compaction {self.path} {self.entries_before} entries into {self.entries_after}, {self.why}>"

"""An entry that is about to be written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from tallystick.projections.markdown.escape import escaped
from tallystick.projections.markdown.heading import is_id, write_heading
from tallystick.projections.markdown.page import Entry
from tallystick.projections.markdown.tag import tags_of
from tallystick.projections.markdown.zone import checked_moment
from tallystick.records.errors import Refused

_IN_A_COMMENT = 100  # ids: a reader takes no comment for one that is much longer


@dataclass(frozen=True, slots=True)
class Draft:
    """What one entry says. Its tags are made legal: one to three, each once."""

    id: str
    at: datetime
    tags: tuple[str, ...]
    body: str
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    is_retracted: bool = False

    def __post_init__(self) -> None:
        for name in (self.id, *self.supersedes, *([self.superseded_by] if self.superseded_by else [])):
            checked_id(name)
        checked_moment(self.at, "the time")
        object.__setattr__(self, "tags", tags_of(self.tags))

    @classmethod
    def of(cls, entry: Entry) -> Draft:
        """What an entry says, to be written anew. Refused, if it lacks its id, its time or its tags."""
        if entry.at is None:
            raise Refused(f"the entry on line {entry.line} has no time; add one, like [2026-04-20T14:02:11]", "file")
        return cls(
            entry.id, entry.at, entry.tags, entry.body, entry.supersedes, entry.superseded_by, entry.is_retracted
        )  # fmt: skip

    @property
    def is_struck(self) -> bool:
        return bool(self.superseded_by) or self.is_retracted

    def heading(self, zone: tzinfo | None) -> str:
        return write_heading(self.id, self.at, self.tags, zone, self.superseded_by, self.is_retracted)

    def text(self, zone: tzinfo | None, newline: str) -> str:
        """The whole entry, with a line break at its end."""
        lines = [self.heading(zone)]
        if self.body:
            lines.append(escaped(self.body, is_struck=self.is_struck))
        for at in range(0, len(self.supersedes), _IN_A_COMMENT):
            lines.append(f"<!-- supersedes: {', '.join(self.supersedes[at : at + _IN_A_COMMENT])} -->")
        text = "\n".join([*lines, ""])
        return text if newline == "\n" else text.replace("\n", newline)


def checked_id(name: str) -> str:
    """`name`, if an entry may be called that."""
    if not is_id(name):
        raise Refused(f"{name[:40]!r} is no id of an entry; it looks like 20260421-0915-c4f1a5", "name")
    return name

"""Sources: those that a person distrusts, and the status of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable, fields_of, plain
from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST, must_be_one_of

NONE, USUAL = "none", "usual"
ANY = "*"  # every id of a surface
_LONGEST = 200
_NAMED = ("agent", "session", "trust")


@dataclass(frozen=True, slots=True, kw_only=True)
class Distrust(Displayable):
    """A source that recall leaves out, from one of its events on."""

    source: str
    user: str = OWNER
    since: str = ""  # as the person wrote it; empty: from the beginning
    first: int = 0  # the first event for which it counts
    reason: str = ""
    by: str = ""  # the client that recorded it
    at: str = ""
    seq: int = -1

    def covers(self, *, by: str, seq: int, agent: str = "", session: str = "", trust: str = "") -> bool:
        """True if a statement, by whom and in which event, comes from this source."""
        if seq < self.first:
            return False
        kind, _, name = self.source.partition(":")
        if name == ANY:
            return by.partition(":")[0] == kind
        if kind in _NAMED and name == {"agent": agent, "session": session, "trust": trust}[kind]:
            return True
        return by == self.source

    @property
    def why(self) -> str:
        """The reason for leaving it out, in a line."""
        since = f" since {self.since}" if self.since else ""
        return f"{self.source} is not trusted{since}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus(Displayable):
    """The status of one source: what it has in memory now, and whether recall leaves it out."""

    source: str
    trust: str  # its trust; empty for a source with several
    beliefs: int = 0
    episodes: int = 0
    waiting: int = 0  # of these, what needs approval
    first: str = ""  # the time of its first statement that is still there
    last: str = ""
    withheld: Distrust | None = None

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending. `withheld` is null for a source that is trusted."""
        return {**fields_of(self), "withheld": plain(self.withheld)}


def checked_source(source: object) -> str:
    """A source as a person names it. Refused, if it is not the name of one."""
    text = source if isinstance(source, str) and source.strip() and len(source) <= _LONGEST else ""
    kind, _, name = text.partition(":")
    if not kind or not name or (ANY in name and name != ANY) or ANY in kind:
        raise Refused(
            f"a source is named like mcp:3f9a, mcp:*, agent:NAME, session:NAME or trust:web, not {source!r:.60}", "name"
        )
    if kind == "trust":
        must_be_one_of("trust", name, TRUST)
    if kind in _NAMED and name == ANY:
        raise Refused(f"{text!r} would be every {kind}; name one", "name")
    return text

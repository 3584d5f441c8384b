"""Which sources a person does not trust, and how each source stands."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.belief import OWNER, TRUST
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused

NONE, USUAL = "none", "usual"
ANY = "*"  # every id of a door
_LONGEST = 200
_NAMED = ("agent", "session", "trust")



@dataclass(frozen=True, slots=True, kw_only=True)
class Distrust(Displayable):
    """A source that is out of recall, from one of its events on."""

    source: str
    user: str = OWNER
    since: str = ""  # as the person said; empty: all that it ever said
    first: int = 0  # the first event for which it counts
    reason: str = ""
    by: str = ""  # who said so
    at: str = ""
    seq: int = -1

    def covers(self, *, by: str, seq: int, agent: str = "", session: str = "", trust: str = "") -> bool:
        """Whether something that was said so, by whom and in which event, comes from this source."""
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
        """Why something is left out, in a line."""
        since = f" since {self.since}" if self.since else ""
        return f"{self.source} is not trusted{since}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus(Displayable):
    """How one source stands: what it holds in memory now, and whether recall leaves it out."""

    source: str
    trust: str  # the class with which it speaks; empty for a source that is several
    beliefs: int = 0
    episodes: int = 0
    waiting: int = 0  # of these, what waits for a person's yes
    first: str = ""  # when it first said something that is still there
    last: str = ""
    withheld: Distrust | None = None


def checked_source(source: object) -> str:
    """A source as a person names it. Refused, if it can be none."""
    if not isinstance(source, str) or not source.strip() or len(source) > _LONGEST:
        raise Refused(
            f"a source is named like mcp:3f9a, mcp:*, agent:NAME, session:NAME or trust:web, not {source!r}", "name"
        )
    kind, colon, name = source.partition(":")
    if not kind or not colon or not name or (ANY in name and name != ANY) or ANY in kind:
        raise Refused(
            f"a source is named like mcp:3f9a, mcp:*, agent:NAME, session:NAME or trust:web, not {source!r}", "name"
        )
    if kind == "trust" and name not in TRUST:
        raise Refused(f"trust {name!r} is not known; it is one of {', '.join(TRUST)}")
    if kind in _NAMED and name == ANY:
        raise Refused(f"{source!r} would be every {kind}; name one", "name")
    return source

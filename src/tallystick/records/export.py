"""Results of an export, and of importing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tallystick.records.display import Displayable

MARK = "<!-- a memory, exported by tallystick -->\n"  # the first line of the index of a Markdown export


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(Displayable):
    """An export: its place, its format and its counts."""

    place: str
    format: str
    user: str
    counts: Mapping[str, int] = field(default_factory=dict)  # of each kind of record; of files, where it is a folder

    def __repr__(self) -> str:
        told = ", ".join(f"{number} {kind}" for kind, number in self.counts.items()) or "nothing"
        return f"<Exported {self.format} to {self.place}: {told}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn(Displayable):
    """The result of importing an export.

    `is_whole`: this memory continues that one, history and all. Else it was merged into what is here: `kept` names what
    was imported under another key than it had, `left` what was not imported, each with the reason. `source` is the name
    of that memory here: `tallystick trust --none SOURCE` takes all of it out of recall.
    """

    user: str
    is_whole: bool
    events: int = 0  # recorded for it
    beliefs: int = 0
    episodes: int = 0
    known: int = 0  # beliefs and episodes that were here already
    source: str = ""  # empty, where this memory continues that one
    quarantined: int = 0  # of these beliefs and episodes: not recalled until approved
    kept: tuple[tuple[str, str], ...] = ()
    left: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        how = "whole" if self.is_whole else "joined"
        return f"<TakenIn {how} for {self.user}: {self.beliefs} beliefs, {self.episodes} episodes, {self.known} known>"

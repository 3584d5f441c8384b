"""What was taken out of a memory, and what was taken in from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tallystick.records.display import Displayable

MARK = "<!-- a memory, exported by tallystick -->\n"  # with which the index of a folder of Markdown begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(Displayable):
    """A memory, written down: where, in which form, and how much of what."""

    place: str
    format: str
    user: str
    counts: Mapping[str, int] = field(default_factory=dict)  # of each kind of record; of files, where it is a folder

    def __repr__(self) -> str:
        told = ", ".join(f"{number} {kind}" for kind, number in self.counts.items()) or "nothing"
        return f"<Exported {self.format} to {self.place}: {told}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn(Displayable):
    """What became of an export that was taken in.

    `is_whole` says that this memory is that one now, history and all. Else it was joined to what is here: `kept` names
    what came in under another key than it had, `left` what was not taken, each with the reason. `source` is what that
    memory is called here: `tallystick trust --none SOURCE` takes all of it out of recall.
    """

    user: str
    is_whole: bool
    events: int = 0  # that were recorded for it
    beliefs: int = 0
    episodes: int = 0
    known: int = 0  # beliefs and episodes that were here already
    source: str = ""  # empty, where this memory goes on from that one
    quarantined: int = 0  # of these beliefs and episodes: kept out of recall until a person approves them
    kept: tuple[tuple[str, str], ...] = ()
    left: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        how = "whole" if self.is_whole else "joined"
        return f"<TakenIn {how} for {self.user}: {self.beliefs} beliefs, {self.episodes} episodes, {self.known} known>"

"""Results of imports and exports: what was imported, what was known, and what was skipped, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tallystick.records.display import Displayable

IMPORT = "import:"  # the prefix of sources that are other memories
FOREIGN = "web"  # the trust of another memory, unless a person says that it is their own

MARK = "<!-- a memory, exported by tallystick -->\n"  # the first line of the index of a Markdown export
MOST_REASONS = 1_000  # reasons that are kept; the rest is counted


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not imported, its place, and why."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(Displayable):
    """One import, counted. After a dry run: what would have been imported."""

    files: int = 0  # read
    formats: tuple[str, ...] = ()
    conversations: int = 0  # with something new
    episodes: int = 0
    beliefs: int = 0
    quarantined: int = 0  # of these episodes and beliefs: not recalled until approved
    known: int = 0  # already here
    paths: tuple[str, ...] = ()  # new branches
    masked: Mapping[str, int] = field(default_factory=dict)  # secrets by kind
    sources: tuple[str, ...] = ()  # names here of other memories whose text is quarantined
    skipped: tuple[Skipped, ...] = ()
    more_skipped: int = 0  # beyond those
    dry_run: bool = False

    @property
    def is_nothing(self) -> bool:
        return not (self.episodes or self.beliefs or self.paths)

    def __add__(self, other: Imported) -> Imported:
        numbers = ("files", "conversations", "episodes", "beliefs", "quarantined", "known")
        skipped = self.skipped + other.skipped
        return Imported(
            **{name: getattr(self, name) + getattr(other, name) for name in numbers},
            formats=tuple(dict.fromkeys(self.formats + other.formats)), paths=self.paths + other.paths,
            masked=dict(Counter(self.masked) + Counter(other.masked)),
            sources=tuple(dict.fromkeys(self.sources + other.sources)), skipped=skipped[:MOST_REASONS],
            more_skipped=self.more_skipped + other.more_skipped + len(skipped[MOST_REASONS:]),
            dry_run=self.dry_run or other.dry_run,
        )  # fmt: skip

    def __repr__(self) -> str:
        skipped = len(self.skipped) + self.more_skipped
        return (
            f"<Imported {self.episodes} episodes, {self.beliefs} beliefs, {len(self.paths)} paths,"
            f" {self.known} known, {skipped} skipped{' (dry run)' if self.dry_run else ''}>"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(Displayable):
    """An export: its place, its format and its counts."""

    place: str
    format: str
    user: str
    counts: Mapping[str, int] = field(default_factory=dict)  # of each kind of record; of files, where it is a folder

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {kind}" for kind, number in self.counts.items()) or "nothing"
        return f"<Exported {self.format} to {self.place}: {counts}>"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(Displayable):
    """A memory that was moved, and its events. `how`: "moved", "resumed", or "done before"."""

    source: str
    target: str
    events: int
    how: str
    address: str = ""  # by which programs open it, in a database

    def __repr__(self) -> str:
        return f"<Move of {self.events} events from {self.source} to {self.target}, {self.how}>"

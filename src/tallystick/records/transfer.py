"""What came in with an import, what was here already, and what was not taken, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tallystick.records.display import Displayable

IMPORT = "import:"  # how the sources begin that are other memories
FOREIGN = "web"  # the trust of what another memory says, unless a person says that it is theirs

MOST_TOLD = 1_000  # reasons that are kept word for word; the rest is counted


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not taken, where it stands, and why."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(Displayable):
    """One import, counted. After a dry run: what would have come in."""

    files: int = 0  # that were read
    formats: tuple[str, ...] = ()
    conversations: int = 0  # of which something came in
    episodes: int = 0
    beliefs: int = 0
    quarantined: int = 0  # of these episodes and beliefs: kept out of recall until a person says yes
    known: int = 0  # what was here already, and was passed over
    paths: tuple[str, ...] = ()  # the branches that were made
    masked: Mapping[str, int] = field(default_factory=dict)  # secrets by kind
    sources: tuple[str, ...] = ()  # other memories whose words are quarantined, as they are called here
    skipped: tuple[Skipped, ...] = ()
    more_skipped: int = 0  # beyond those
    dry_run: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing new came in."""
        return not (self.episodes or self.beliefs or self.paths)

    def __add__(self, other: Imported) -> Imported:
        """Two imports as one."""
        kinds = dict.fromkeys((*self.masked, *other.masked))
        skipped = self.skipped + other.skipped
        return Imported(
            files=self.files + other.files, formats=tuple(dict.fromkeys(self.formats + other.formats)),
            conversations=self.conversations + other.conversations, episodes=self.episodes + other.episodes,
            beliefs=self.beliefs + other.beliefs, quarantined=self.quarantined + other.quarantined,
            known=self.known + other.known, paths=self.paths + other.paths,
            masked={kind: self.masked.get(kind, 0) + other.masked.get(kind, 0) for kind in kinds},
            sources=tuple(dict.fromkeys(self.sources + other.sources)), skipped=skipped[:MOST_TOLD],
            more_skipped=self.more_skipped + other.more_skipped + len(skipped[MOST_TOLD:]),
            dry_run=self.dry_run or other.dry_run,
        )  # fmt: skip

    def __repr__(self) -> str:
        told = len(self.skipped) + self.more_skipped
        would = " (dry run)" if self.dry_run else ""
        return (
            f"<Imported {self.episodes} episodes, {self.beliefs} beliefs, {len(self.paths)} paths,"
            f" {self.known} known, {told} skipped{would}>"
        )

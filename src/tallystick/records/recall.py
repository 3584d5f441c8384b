"""Recall: the query, its hits (the best first; or none, and the closest), and the frame that is filled with them.

The text of a filled frame is within the budget, or empty. Whatever was found and is not in it is in `dropped` with the
reason: all that was guaranteed, and the best of the rest; `more` counts the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from tallystick.records.display import Displayable, rows_html, short
from tallystick.records.errors import Refused
from tallystick.records.frame import Frame
from tallystick.records.history import Moment
from tallystick.records.transfer import FOREIGN, IMPORT


@dataclass(frozen=True, slots=True)
class Query:
    """A question, whose memory it is put to, and what narrows the answer. Checked when it is put."""

    question: str
    user: str
    k: int | None = None
    session: str | None = None
    agent: str | None = None
    path: str = ""
    believed_at: Moment | None = None
    as_of: date | str | None = None
    filters: Mapping[str, Any] | None = None
    frame: Frame | None = None
    without: str | Iterable[str] = ()
    floor: float | None = None
    explain: bool = False
    by_words: bool = False
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class Hit(Displayable):
    """A recalled memory. `id` is a belief's or an episode's: `show` and `forget` take both; `revise`, a belief's."""

    id: str
    text: str  # verbatim
    score: float  # how well it answers, from 0 to 1
    why: str
    what: str  # belief or episode
    kind: str
    trust: str
    about: str
    confidence: float
    at: str  # when it was recorded; of an episode, when it happened
    seq: int
    sources: tuple[str, ...]  # every belief or episode that states it, this one first
    signals: dict[str, float]  # what supports it, each from 0 to 1
    agent: str = ""  # who said it
    session: str = ""
    tags: tuple[str, ...] = ()
    block: str = ""  # the row of the index that holds its words
    is_standing: bool = False  # an instruction, a preference, or what is always served
    triple: tuple[str, ...] = ()  # subject, predicate, object, where its belief names them
    by: str = ""  # the client that wrote it: mcp:3f9a
    via: str = ""  # the hit that it is related to; it does not answer by itself, and ranks after those that do
    relation: str = ""  # to that hit, as it was stated

    @property
    def source_kind(self) -> str:
        """The kind of its source: its trust; `import`, where another memory's statements were approved."""
        return "import" if self.by.startswith(IMPORT) and self.trust == FOREIGN else self.trust

    def __repr__(self) -> str:
        return f"<Hit {self.id} {short(self.text)!r} {self.score:.2f}: {self.why}>"


@dataclass(frozen=True, slots=True)
class NearMiss(Displayable):
    """A candidate that is not a hit, and why not."""

    hit: Hit
    why: str


class RecallResult(list[Hit]):
    """The hits of one recall, as a list. If nothing fits it is empty, and `nearest` has the closest."""

    def __init__(
        self, hits: Iterable[Hit] = (), *, question: str = "", fit: float = 0.0, floor: float = 0.0,
        nearest: Iterable[Hit] = (), nearly: Iterable[NearMiss] = (), served: Iterable[str] = (), frame: str = "",
    ) -> None:  # fmt: skip
        super().__init__(hits)
        self.question, self.frame = question, frame
        self.fit = fit  # the probability that the best candidate answers, from 0 to 1
        self.floor = floor  # below which nothing is served
        self.nearest = tuple(nearest)  # if nothing fits
        self.nearly = tuple(nearly)  # if reasons were requested
        self.served = tuple(served)  # the source of each hit, by its id in the ledger
        self.receipt = ""  # its receipt, if one was recorded
        self.incomplete = ""  # why it may lack something, in one line: vectors are still being made

    @property
    def nothing_fits(self) -> bool:
        """True if something was found and none of it fits."""
        return not self and bool(self.nearest)

    def _repr_html_(self) -> str:
        found = rows_html(self or self.nearest)
        return f"<p>Nothing fits. Nearest:</p>{found}" if self.nothing_fits else found

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending."""
        return {
            "question": self.question, "frame": self.frame, "fit": self.fit, "floor": self.floor,
            "hits": [hit.to_dict() for hit in self], "nearest": [hit.to_dict() for hit in self.nearest],
            "nearly": [each.to_dict() for each in self.nearly], "receipt": self.receipt,
            "incomplete": self.incomplete,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replayed(Displayable):
    """A recorded answer, and the answer to the same question at the same place of the ledger."""

    receipt: str
    question: str  # empty if it was not kept: then nothing was repeated
    served: tuple[Hit | str, ...]  # as recorded; the id alone where it is erased
    again: tuple[Hit, ...]
    differs: tuple[str, ...]  # what differs, a line each; empty: the answer is the same
    notes: tuple[str, ...]  # what cannot be repeated
    was_put: bool = True  # False: there was no question to repeat

    @property
    def is_the_same(self) -> bool:
        """True if it was repeated with the same answer."""
        return self.was_put and not self.differs

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending."""
        return {
            "receipt": self.receipt, "question": self.question, "is_the_same": self.is_the_same,
            "served": [each if isinstance(each, str) else each.to_dict() for each in self.served],
            "again": [hit.to_dict() for hit in self.again], "differs": list(self.differs), "notes": list(self.notes),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dropped(Displayable):
    """A memory that was found and is not in the text by itself."""

    id: str
    text: str  # shortened
    why: str
    guaranteed: bool = False
    tokens: int = 0  # of its line
    said_by: str = ""  # the hit that states the same

    def __repr__(self) -> str:
        return f"<Dropped {self.id} {self.text!r}: {self.why}>"


@dataclass(frozen=True, slots=True)
class FilledFrame(Displayable):
    """The text for an agent's prompt. Without hits it is empty, without a heading."""

    derived = ("is_whole",)

    frame: str
    question: str
    text: str
    hits: tuple[Hit, ...] = ()  # in order
    dropped: tuple[Dropped, ...] = ()
    used: int = 0
    budget: int = 0
    receipt: str = ""  # its receipt, if one was recorded
    more: int = 0  # the number of those that are neither in `hits` nor in `dropped`
    incomplete: str = ""  # why it may lack something, in one line: vectors are still being made

    def __post_init__(self) -> None:
        if self.text and self.used > self.budget:
            raise Refused(f"the frame has {self.used} tokens, over its budget of {self.budget}")

    @property
    def is_whole(self) -> bool:
        """True if everything guaranteed is in the text, by itself or in another hit that states the same."""
        return not any(each.guaranteed and not each.said_by for each in self.dropped)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        whole = "" if self.is_whole else ", not all that is guaranteed"
        return (
            f"<FilledFrame {self.frame}: {len(self.hits)} shown, {len(self.dropped)} dropped, "
            f"{self.used} of {self.budget} tokens{whole}>"
        )

"""The result of a recall: hits, the best first; or none, and the closest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tallystick.records.display import Displayable, rows_html
from tallystick.records.hit import Hit


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

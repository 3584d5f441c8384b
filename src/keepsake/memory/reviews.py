"""`m.reviews`: what waits for a person's yes, and how it is answered.

An answer is used once. A yes is a yes to the action as it was shown: pass the `digest` you showed, and an approval of
anything else is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from keepsake.memory.gated import Gated
from keepsake.records.belief import Belief
from keepsake.records.errors import Moved
from keepsake.records.event import Event
from keepsake.records.review import Review
from keepsake.stores.shelf import Shelf


class ReviewsOf:
    """The reviews of one user."""

    def __init__(self, shelf: Shelf, gated: Gated, user: str) -> None:
        self._shelf, self._gated, self._user = shelf, gated, user

    # -- looking -----------------------------------------------------------------------------------------------------

    def waiting(self) -> list[Review]:
        """What a person has to answer, oldest first; also an approved erasure that was cut short."""
        with self._shelf.ledger.reading():
            return self._shelf.book.reviews.waiting(self._user)

    def all(self) -> list[Review]:
        """Every review, answered or not, oldest first. Those of erased beliefs went with them."""
        with self._shelf.ledger.reading():
            return self._shelf.book.reviews.all(self._user)

    def get(self, name: str) -> Review:
        """A review by its id, or by the last six characters of it."""
        with self._shelf.ledger.reading():
            return self._shelf.book.reviews.get(name, user=self._user)

    def is_approved(self, belief: Belief) -> bool:
        """Whether a person said yes to this version of a belief."""
        with self._shelf.ledger.reading():
            return self._shelf.book.reviews.is_approved(belief.id)

    # -- answering ---------------------------------------------------------------------------------------------------

    def approve(self, name: str, *, reason: str = "", digest: str = "") -> Review:
        """Say yes, and do what was asked. `digest` is that of the action you were shown; without it, as it is now.

        If what it is about has changed since it was asked, the review is closed as stale (Moved). An approved erasure
        that was cut short is finished.
        """
        asked = self.get(name)
        events = self._gated.approve(asked.id, digest or asked.digest, user=self._user, reason=reason)
        answered = _answered(asked, events)
        if answered.action.kind == "erase":
            self._gated.finish_erasing(answered.action)
        return answered

    def reject(self, name: str, *, reason: str = "") -> Review:
        """Say no. A belief that was to be trusted goes out of sight; for anything else, nothing is changed."""
        asked = self.get(name)
        return _answered(asked, self._gated.reject(asked.id, user=self._user, reason=reason))

    def __iter__(self) -> Iterator[Review]:
        return iter(self.waiting())

    def __len__(self) -> int:
        return len(self.waiting())

    def __repr__(self) -> str:
        return f"<{len(self)} reviews waiting for {self._user}>"


def _answered(asked: Review, events: list[Event]) -> Review:
    """The review with the answer that was recorded; none is for an erasure that has its yes already."""
    if not events or events[0].body is None:
        return asked
    body, said = events[0].body, events[0]
    if body["answer"] == "stale":
        raise Moved(f"{asked.id} is stale and closed: {body['reason']}; let it be asked again")
    status = "approved" if body["answer"] == "approve" else "rejected"
    return replace(
        asked, status=status, answered_by=said.by, answered_at=said.ts, reason=body.get("reason", ""),
    )  # fmt: skip

"""Pages that are not taken in before a person decided: truncated, unreadable, or without most of their entries.

One question is put for each. While it waits the file stays as it is, nothing of it is taken in, and every sync tells of
it. A yes takes the page as it was saved; a no puts back what is missing. A page that is saved otherwise meanwhile takes
its question back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tallystick.decide import review_request as asking, reviews as decide
from tallystick.memory.pages.files import PagesAt
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.review import Action, Review
from tallystick.state.pages import PAGE_EDIT

WAITING, APPROVED, REJECTED = "waiting", "approved", "rejected"


class Holds:
    """The questions about pages as a whole."""

    def __init__(self, at: PagesAt) -> None:
        self._at, self._ledger, self._state = at, at.ledger, at.state
        self.asked: list[str] = []  # reviews that are new

    def answer(
        self, path: str, user: str, digest: bytes, target: Sequence[str], changes: dict[str, Any], why: str
    ) -> Review | None:  # fmt: skip
        """The question whether to take a page as it was saved, and so to forget, or to revise, what it names; it is put
        if it was not yet. None, if there is nothing to ask."""
        asked, known = self._about(path, user), self.known(path, user, digest)
        if not target or (known is not None and known.status in (APPROVED, REJECTED)):
            return known
        reason = _reason(path, digest)
        action = Action(
            kind="revise" if changes else "forget", user=user, target=tuple(target), changes=changes, reason=reason,
            by=PAGE_EDIT, trust="human",
        )  # fmt: skip
        for review in asked:
            if review.status == WAITING and review.digest == action.digest:
                return review
            self._take_back(review)
        events = self._ledger.write(lambda: asking.ask(self._state, action, why, self._at.draw()), by=PAGE_EDIT)
        self.asked += [event.body["review"] for event in events if event.op == REVIEW_ASK and event.body]
        return self._state.reviews.get(self.asked[-1], user=user)

    def known(self, path: str, user: str, digest: bytes) -> Review | None:
        """What was asked of this very file, answered or not."""
        asked = [each for each in self._about(path, user) if each.action.reason == _reason(path, digest)]
        return next((each for each in asked if each.status in (APPROVED, REJECTED)), asked[0] if asked else None)

    def settle(self, path: str, user: str) -> None:
        """The page is whole: nobody need answer any more."""
        for review in self._about(path, user):
            self._take_back(review)

    def _about(self, path: str, user: str) -> list[Review]:
        """What was asked of a page, the last first, but what became stale."""
        found = (each for each in reversed(self._state.reviews.all(user)) if each.action.by == PAGE_EDIT)
        return [each for each in found if each.action.reason.startswith(_place(path)) and each.status != "stale"]

    def _take_back(self, review: Review) -> None:
        if review.status == WAITING:
            why, user = "the page was saved otherwise since", review.action.user
            self._ledger.write(
                lambda: decide.withdraw(self._state, review.id, PAGE_EDIT, user=user, reason=why), by=PAGE_EDIT
            )


def _place(path: str) -> str:
    return f"{path}, as it was saved ("


def _reason(path: str, digest: bytes) -> str:
    return f"{_place(path)}{digest.hex()[:8]})"

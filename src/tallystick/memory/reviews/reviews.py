"""`m.reviews`: changes that need a person's approval, and the answers.

An answer is used once. An approval covers the action as it was shown: pass the `digest` that you showed, and anything
else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from os import urandom

from tallystick.decide.trust import quarantined_episodes
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.belief import Belief
from tallystick.records.clock import parse_moment, stamp
from tallystick.records.display import display_lists
from tallystick.records.errors import Busy, Moved, NotFound, Refused, Unfinished
from tallystick.records.event import Event
from tallystick.records.policy import named_cell
from tallystick.records.review import Action, Answered, Approval, Review
from tallystick.stores.open_folder import OpenFolder

Fold = Callable[[Action], None]
_AT_ONCE = 256  # answers about one source that are one group


@answering
@display_lists
class ReviewService:
    """The reviews of one user. `fold` carries out an approved compaction of a page."""

    def __init__(self, folder: OpenFolder, gate: WriteGate, user: str, fold: Fold) -> None:
        self._folder, self._gate, self._user, self._fold = folder, gate, user, fold

    # -- looking -----------------------------------------------------------------------------------------------------

    def waiting(self) -> list[Review]:
        """The pending reviews, oldest first; also an approved erasure that was interrupted.

        A granted approval that is not carried out yet is not pending, until it expires.
        """
        with self._folder.ledger.reading():
            return self._folder.state.reviews.waiting(self._user, self._folder.ledger.now())

    def all(self) -> list[Review]:
        """Every review, answered or not, oldest first. Those of erased beliefs went with them."""
        with self._folder.ledger.reading():
            return self._folder.state.reviews.all(self._user)

    def get(self, name: str) -> Review:
        """A review by its id, or by the last six characters of it."""
        with self._folder.ledger.reading():
            return self._folder.state.reviews.get(name, user=self._user)

    def find(self, *, kind: str = "", trust: str = "", about: str = "", source: str = "") -> list[Review]:
        """The pending reviews of that kind of action, trust, entity or source."""
        wanted = named_cell(kind) if kind else ""
        with self._folder.ledger.reading():
            return [
                review for review in self.waiting()
                if wanted in ("", review.action.kind, review.action.cell) and trust in ("", review.action.trust)
                and (not about or about in self._abouts(review)) and source in ("", review.action.by)
            ]  # fmt: skip

    def _abouts(self, review: Review) -> set[str]:
        known, action = self._folder.state, review.action
        held = (known.find(version, user=self._user, short=False) for version in action.target)
        return {action.changes.get("about", ""), *(each.body().get("about", "") for each in held if each)}

    def quarantined_episodes(self, source: str) -> list[str]:
        """The quarantined episodes of a source, by their events. `approve_all` releases them."""
        with self._folder.ledger.reading():
            return quarantined_episodes(self._folder.state, source, user=self._user)

    def is_approved(self, belief: Belief) -> bool:
        """Whether a person approved this version of a belief."""
        with self._folder.ledger.reading():
            return self._folder.state.reviews.is_approved(belief.id)

    def may_answer(self) -> bool:
        """Whether this program may answer: it has a person's trust, and the policy names its client."""
        return self._gate.policy.answers(self._gate.trust, self._gate.by)

    # -- answering ---------------------------------------------------------------------------------------------------

    def approve(self, name: str, *, reason: str = "", digest: str = "") -> Review:
        """Approve a review, and do its action. `digest` is that of the action you were shown, else the current one.

        If its subject has changed since, the review is closed as stale (Moved). An approved erasure that was
        interrupted is finished.
        """
        asked = self.get(name)
        with self._folder.in_steps():
            events = self._gate.approve(asked.id, digest or asked.digest, user=self._user, reason=reason)
            answered = _answered(asked, events)
            do_the_rest(self._gate, self._fold, answered.action)
        return answered

    def reject(self, name: str, *, reason: str = "") -> Review:
        """Reject a review. A quarantined belief is hidden; otherwise nothing is changed."""
        asked = self.get(name)
        return _answered(asked, self._gate.reject(asked.id, user=self._user, reason=reason))

    def withdraw(self, name: str, *, reason: str = "") -> Review:
        """Take back a review of this program: it is closed as stale, and nothing is changed.

        Not one of quarantined words: that stays pending until a person answers.
        """
        asked = self.get(name)
        self._gate.withdraw(asked.id, user=self._user, reason=reason)
        return self.get(asked.id)

    def grant(
        self, name: str, *, digest: str = "", expires: datetime | timedelta | str | None = None
    ) -> Approval:  # fmt: skip
        """Approve a review, to be carried out by the holder of the marker (`memory.apply`), once, until it `expires`.

        The default is as long as the policy says. Another grant of the same review replaces this one, and so does any
        other answer.
        """
        asked, end, marker = self.get(name), self._end(expires), urandom(16).hex()
        [said] = self._gate.grant(
            asked.id, digest or asked.digest, user=self._user, marker=marker, expires=end
        )  # fmt: skip
        return Approval(asked.id, asked.digest, said.by, said.ts, end, marker)

    def _end(self, expires: datetime | timedelta | str | None) -> str:
        if isinstance(expires, str):
            return parse_moment(expires)
        if isinstance(expires, datetime):
            return stamp(expires)
        lasts = self._gate.policy.expires if expires is None else expires
        try:
            return stamp(datetime.fromisoformat(self._folder.ledger.now()) + lasts)
        except OverflowError:
            raise Refused(f"an approval cannot last {lasts}; give a shorter time") from None

    def approve_all(self, /, names: Iterable[str] | None = None, *, reason: str = "", **which: str) -> list[Answered]:
        """Approve each review that is named, or all pending ones; `which` narrows them as `find` does.

        Each is answered by itself: one that cannot be does not stop the others. With a `source` and nothing else, its
        episodes are approved too: so is the imported export of another memory.
        """
        done = self._each(names, which, lambda name, digest: self.approve(name, reason=reason, digest=digest))
        if which.keys() == {"source"}:
            self._gate.approve_episodes(which["source"], user=self._user)
        return done

    def reject_all(self, /, names: Iterable[str] | None = None, *, reason: str = "", **which: str) -> list[Answered]:
        """Reject each, in the same way."""
        return self._each(names, which, lambda name, _: self.reject(name, reason=reason))

    def _each(
        self, names: Iterable[str] | None, which: dict[str, str], answer: Callable[[str, str], Review]
    ) -> list[Answered]:  # fmt: skip
        if names is not None and which:
            raise Refused("give names of reviews, or what they have in common, not both", "conflict")
        if isinstance(names, str):
            raise Refused("names must be a list, not one string")
        shown = [(each.id, each.digest) for each in self.find(**which)] if names is None else [(n, "") for n in names]
        done: list[Answered] = []
        for start in range(0, len(shown), _AT_ONCE):
            with self._gate.batch() if "source" in which and not self._folder.ledger.in_batch() else nullcontext():
                done += [self._one(name, digest, answer) for name, digest in shown[start : start + _AT_ONCE]]
        return done

    def _one(self, name: str, digest: str, answer: Callable[[str, str], Review]) -> Answered:
        try:
            return Answered(name, answer(name, digest))
        except (Moved, Refused, Busy, Unfinished) as error:
            current: Review | None = None
            with suppress(NotFound):
                current = self.get(name)
            return Answered(name, current, error)

    def __iter__(self) -> Iterator[Review]:
        return iter(self.waiting())

    def __len__(self) -> int:
        return len(self.waiting())

    def __repr__(self) -> str:
        return f"<{len(self)} pending reviews of {self._user}>"


def do_the_rest(gate: WriteGate, fold: Fold, action: Action, *, was_approved: bool = True) -> None:
    """Do what an action takes beyond events about beliefs."""
    if action.cell == "erase":
        gate.finish_erasing(action, was_approved=was_approved)
    elif action.cell == "page.compact":
        fold(action)


def _answered(asked: Review, events: list[Event]) -> Review:
    """The review with the answer that was recorded; none is for an erasure approved before."""
    if not events or events[0].body is None:
        return asked
    body, said = events[0].body, events[0]
    if body["answer"] == "stale":
        raise Moved(f"{asked.id} is stale and closed: {body['reason']}; ask again")
    status = "approved" if body["answer"] == "approve" else "rejected"
    return replace(
        asked, status=status, answered_by=said.by, answered_at=said.ts, reason=body.get("reason", ""),
    )  # fmt: skip

"""Reviews and their answers, folded from events.

A review is answered once. One about a belief that has changed since, or is no longer active, is stale. When words are
erased, every review that names one of their versions is erased too, as it would be if the ledger were read again.

A version is approved when a person approved it, and so are the versions that replace it: the gate lets nobody but a
person replace an approved version without approval. A rule of the policy that allows a source is such an approval.

An approval that is still to be applied (a grant) is kept with its review. The newest one counts, until it expires; then
the review is pending again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson

from tallystick.records import ids, operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Event
from tallystick.records.fact import sources_in
from tallystick.records.json import to_keep
from tallystick.records.review import OUTCOMES, Action, Review
from tallystick.state.part import Part, follows

BY_POLICY = "policy"  # in place of a review's id: a rule of the policy approved it

Refusal = tuple[str, str, str, tuple[str, ...], str, str]  # by, user, kind, versions, review, why


class _Kept(NamedTuple):
    """A review as it is kept: as JSON, so that what is handed out is always a fresh copy."""

    line: bytes
    user: str
    kind: str
    status: str
    digest: str
    target: tuple[str, ...]
    seq: int
    sources: frozenset[str]  # the sources of its words: events of episodes, and versions of another path

    @classmethod
    def of(cls, review: Review) -> _Kept:
        action, line = review.action, to_keep(orjson.dumps(review.to_body()))
        because = frozenset((*sources_in(action.changes.get("views")), *action.merged))
        return cls(line, action.user, action.kind, review.status, action.digest, action.target, review.seq, because)

    def review(self) -> Review:
        return Review.from_body(orjson.loads(self.line))


class Reviews(Part):
    """The reviews, and the approved versions of beliefs."""

    def clear(self) -> None:
        self._kept: dict[str, _Kept] = {}  # by id
        self._waiting: dict[str, str] = {}  # digest of an action → its pending review
        self._in_question: dict[str, str] = {}  # version → its pending review of the kind `trust`
        self._approved: dict[str, str] = {}  # version → the review that approved it
        self._refused: dict[Refusal, str] = {}  # recent refusals, and when each was last recorded
        self._because: dict[str, tuple[str, ...]] = {}  # an episode's event → the reviews that it caused

    # -- following the ledger ----------------------------------------------------------------------------------------

    @follows(ops.REVIEW_ASK)
    def _ask(self, event: Event, body: dict[str, Any]) -> None:
        action = Action.from_body(body["action"])
        self._keep(Review(id=body["review"], action=action, why=body["why"], asked_at=event.ts, seq=event.seq))

    @follows(ops.REVIEW_ANSWER)
    def _answer(self, event: Event, body: dict[str, Any]) -> None:
        """An answer to an unknown review, or to one that is answered already, changes nothing."""
        kept = self._kept.get(body["review"])
        if kept is None or not kept.review().is_open:
            return
        self._close(body["review"], OUTCOMES[body["answer"]], event, body.get("reason", ""), body.get("marker", ""))
        if body["answer"] == "approve" and kept.kind == "trust":
            for version in kept.target:
                self._set(self._approved, version, body["review"])

    @follows(ops.REVIEW_GRANT)
    def _grant(self, event: Event, body: dict[str, Any]) -> None:
        kept = self._kept.get(body["review"])
        if kept is not None and kept.status == "waiting":
            until = {"expires": body["expires"], "marker": body["marker"]}
            self._keep(replace(kept.review(), granted_by=event.by, granted_at=event.ts, **until))

    @follows(ops.REVIEW_REFUSE)
    def _refuse(self, event: Event, body: dict[str, Any]) -> None:
        """An attempt that was refused. One because of a stale review closes that."""
        kept = self._kept.get(body["review"])
        if kept is not None and kept.status == "waiting" and body["why"] == "stale":
            self._close(body["review"], "stale", event, "it has changed since the request")
        for refusal, at in list(self._refused.items()):
            if is_recent(at, event.ts):
                break
            self._drop(self._refused, refusal)
        refusal = refusal_in(event.by, body)
        self._drop(self._refused, refusal)
        self._set(self._refused, refusal, event.ts)  # the newest last

    @follows(ops.BELIEF_PUT, ops.BELIEF_SUPERSEDE)
    def _state(self, event: Event, body: dict[str, Any]) -> None:
        """A new version. One that a merge adds has the approval of the branch's version, and no other."""
        if len(body) == 1:
            return  # a new belief
        replaced, merged = body.get("replaces", ()), body.get("merged", ())
        approved = [self._approved.get(version) for version in merged or replaced or body.get("over", ())]
        if "approved" in body or (approved and all(approved)):
            self._set(self._approved, body["belief"]["id"], body.get("approved") or approved[0])
        self._leave_behind(replaced, event, "it was revised")
        self._leave_behind(merged, event, "its path was merged")

    @follows(ops.BELIEF_TOMBSTONE, ops.BELIEF_INVALIDATE)
    def _retract(self, event: Event, body: dict[str, Any]) -> None:
        self._leave_behind((body["id"],), event, "it is no longer active")

    def _leave_behind(self, versions: Iterable[str], event: Event, why: str) -> None:
        """Those versions need no approval any more."""
        for version in versions:
            if version in self._in_question:
                self._close(self._in_question[version], "stale", event, why)

    @follows(ops.ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        gone = set(body.get("ids", ()))
        gone |= {self._approved[name] for name in gone & self._approved.keys()}  # the review of a version has its words
        for name, kept in list(self._kept.items()):
            if gone.isdisjoint((name, *kept.target, *kept.sources)):
                continue
            self._let_go(kept)
            self._drop(self._kept, name)
        for name in gone:
            self._drop(self._approved, name)
            self._drop(self._because, name)

    def _close(self, name: str, status: str, event: Event, reason: str, marker: str = "") -> None:
        """With a marker, the answer is by whoever gave it, not by the program that used it."""
        kept = self._kept[name]
        self._let_go(kept)
        review = kept.review()
        by = review.granted_by if marker and marker == review.marker else event.by
        self._keep(replace(review, status=status, answered_by=by, answered_at=event.ts, reason=reason))

    def _keep(self, review: Review) -> None:
        kept = _Kept.of(review)
        for source in kept.sources if review.id not in self._kept else ():
            self._set(self._because, source, (*self._because.get(source, ()), review.id))
        self._set(self._kept, review.id, kept)
        if review.status == "waiting":
            self._set(self._waiting, kept.digest, review.id)
            for version in kept.target if kept.kind == "trust" else ():
                self._set(self._in_question, version, review.id)

    def _let_go(self, kept: _Kept) -> None:
        if kept.status == "waiting":
            self._drop(self._waiting, kept.digest)
            for version in kept.target if kept.kind == "trust" else ():
                self._drop(self._in_question, version)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {
            "reviews": [orjson.Fragment(kept.line) for kept in self._in_order()],
            "approved": list(self._approved.items()),
            "refused": [[*refusal, at] for refusal, at in self._refused.items()],
        }

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for body in dumped.get("reviews", ()):
            self._keep(Review.from_body(body))
        self._approved.update(dict(dumped.get("approved", ())))
        for by, user, kind, versions, review, why, at in dumped.get("refused", ()):
            self._refused[by, user, kind, tuple(versions), review, why] = at

    # -- reading -----------------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    def find(self, name: str) -> Review | None:
        """The review with exactly that id, of any user."""
        kept = self._kept.get(name)
        return kept.review() if kept else None

    def waiting(self, user: str = OWNER, now: str = "") -> list[Review]:
        """The pending reviews, oldest first; also an approved erasure that was interrupted.

        With `now`, without those that have an approval by then that is still to be applied.
        """
        found = (review for review in self._of(user, ("waiting", "approved")) if review.is_open)
        return [review for review in found if not (now and review.is_granted(now))]

    def all(self, user: str = OWNER) -> list[Review]:
        """Every review, answered or not, oldest first."""
        return self._of(user, tuple(OUTCOMES.values()) + ("waiting",))

    def _of(self, user: str, statuses: tuple[str, ...]) -> list[Review]:
        return [kept.review() for kept in self._in_order() if kept.user == user and kept.status in statuses]

    def _in_order(self) -> list[_Kept]:
        return sorted(self._kept.values(), key=lambda kept: kept.seq)

    def get(self, name: str, *, user: str = OWNER) -> Review:
        """The review with that id, or whose id ends with those six characters. No other user's is found."""
        short = name.removeprefix("r-")
        found = [name] if name in self._kept else []
        if not found and ids.SHORT_ID.match(short):
            found = [known for known, kept in self._kept.items() if known.endswith(short) and kept.user == user]
        if len(found) > 1:
            raise Refused(f"{name} names {len(found)} reviews; write more of the id", "ambiguous")
        if not found or self._kept[found[0]].user != user:
            raise NotFound(f"no review named {name!r}; run `tallystick review` to list pending reviews")
        return self._kept[found[0]].review()

    def asked(self, action: Action) -> Review | None:
        """The pending review of exactly this action, if there is one."""
        name = self._waiting.get(action.digest)
        return self._kept[name].review() if name else None

    def because_of(self, sources: Iterable[str]) -> list[Review]:
        """The reviews that all those episodes caused, oldest first."""
        wanted = set(sources)
        asked = (self._kept.get(name) for source in list(wanted)[:1] for name in self._because.get(source, ()))
        return [kept.review() for kept in asked if kept is not None and kept.sources >= wanted]

    def is_approved(self, version: str) -> bool:
        """True if this version of a belief is approved."""
        return version in self._approved

    def approval_of(self, version: str) -> str:
        """The review that approved a version, or `policy`; empty if none did."""
        return self._approved.get(version, "")

    def was_refused(self, refusal: Refusal, now: str) -> bool:
        """True if exactly that was refused, and recorded, within the last hour."""
        at = self._refused.get(refusal)
        return at is not None and is_recent(at, now)

    def refusals(self, by: str, now: str) -> int:
        """The number of refusals of that source that were recorded within the last hour."""
        return sum(refusal[0] == by and is_recent(at, now) for refusal, at in self._refused.items())

    def is_of_words_alone(self, name: str, user: str) -> bool:
        """True for a review of that user about words that no belief has: they are erased by the review's id."""
        kept = self._kept.get(name)
        return kept is not None and kept.user == user and not kept.target

    def on(self, user: str, path: str) -> list[str]:
        """The reviews of actions on a path."""
        return [name for name, kept in self._kept.items() if kept.user == user and kept.review().action.path == path]

    def in_question(self, version: str) -> str:
        """The pending review of that version; empty if there is none."""
        return self._in_question.get(version, "")


def refusal_in(by: str, body: Mapping[str, Any]) -> Refusal:
    """The refusal that an event records: equal for equal attempts of one source."""
    kind = f"{body['noun']}.{body['kind']}" if "noun" in body else body["kind"]
    return by, body.get("user", OWNER), kind, tuple(body["target"]), body["review"], body["why"]


def is_recent(at: str, now: str) -> bool:
    """True if a time is within an hour of `now`."""
    return abs(datetime.fromisoformat(now) - datetime.fromisoformat(at)) < _AN_HOUR


_AN_HOUR = timedelta(hours=1)

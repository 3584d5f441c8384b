"""Reviews and their answers, folded from events.

A review is answered once. One about a belief that has changed since, or is no longer active, is stale. When words are
erased, every review that names one of their versions is erased too, as it would be if the ledger were read again.

A version is approved when a person approved it, and so are the versions that replace it: the gate lets nobody but a
person replace an approved version without approval. A rule of the policy that allows a source is such an approval. A
version that says so (`quarantined`) needs approval again: the approval of the one before was undone.

An approval that is still to be applied (a grant) is kept with its review. The newest one counts, until it expires; then
the review is pending again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from tallystick.state.tables import PLAIN, SHORT, Codec, Part, Table, Tables, follows, ordinal

# Why a review is stale.
CHANGED, REVISED = "it has changed since the request", "it was revised"
PATH_MERGED, ENDED = "its path was merged", "it is no longer active"
_STALE = (CHANGED, REVISED, PATH_MERGED, ENDED)
BY_POLICY = "policy"  # in place of a review's id: a rule of the policy approved it

Refusal = tuple[str, str, str, tuple[str, ...], str, str]  # by, user, kind, versions, review, why


class _Kept(NamedTuple):
    """A review as it is kept: as JSON, so that what is handed out is always a fresh copy."""

    line: bytes
    id: str
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
        return cls(
            line, review.id, action.user, action.kind, review.status, action.digest, action.target, review.seq, because
        )  # fmt: skip

    @classmethod
    def read(cls, line: bytes) -> _Kept:
        return cls.of(Review.from_body(orjson.loads(line)))

    def review(self) -> Review:
        return Review.from_body(orjson.loads(self.line))

    def place(self) -> tuple[str, str, str, str]:
        """Where it is among its user's reviews."""
        return self.user, self.status, ordinal(self.seq), self.id


class Reviews(Part):
    """The reviews, and the approved versions of beliefs."""

    def declare(self, tables: Tables) -> None:
        self._kept: Table[_Kept] = tables.table(
            "review", Codec(lambda kept: kept.line, _Kept.read), _is_asked
        )  # by id
        self._in_order: Table[str] = tables.table("review.of")  # (user, status, seq, id)
        self._short: Table[str] = tables.table("review.short")  # (last six characters, id)
        self._about: Table[str] = tables.table("review.about")  # (a version, or a source of its words, id)
        self._waiting: Table[str] = tables.table("review.waiting")  # digest of an action → its pending review
        self._in_question: Table[str] = tables.table("review.question")  # version → its pending review of trust
        self._approved: Table[str] = tables.kept("review.approved", PLAIN, self._is_approval)  # version → its review
        self._refused: Table[str] = tables.table("review.refused")  # (by, a refusal) → when it was last recorded
        self._erased = set[str]()  # what is being erased at this moment

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
                self._approved.set(version, body["review"])

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
            self._close(body["review"], "stale", event, CHANGED)
        for key, at in list(self._refused.under()):
            if not is_recent(at, event.ts):
                self._refused.drop(key)
        self._refused.set(_refusal_key(refusal_in(event.by, body)), event.ts)

    @follows(ops.BELIEF_PUT, ops.BELIEF_SUPERSEDE)
    def _state(self, event: Event, body: dict[str, Any]) -> None:
        """A new version. One that a merge adds has the approval of the branch's version, and no other."""
        if len(body) == 1:
            return  # a new belief
        replaced, merged = body.get("replaces", ()), body.get("merged", ())
        approved = [self._approved.get(version) for version in merged or replaced or body.get("over", ())]
        if "approved" in body or (approved and all(approved) and "quarantined" not in body):
            self._approved.set(body["belief"]["id"], body.get("approved") or approved[0] or "")
        self._leave_behind(replaced, event, REVISED)
        self._leave_behind(merged, event, PATH_MERGED)

    @follows(ops.BELIEF_TOMBSTONE, ops.BELIEF_INVALIDATE)
    def _retract(self, event: Event, body: dict[str, Any]) -> None:
        self._leave_behind((body["id"],), event, ENDED)

    def _leave_behind(self, versions: Iterable[str], event: Event, why: str) -> None:
        """Those versions need no approval any more."""
        for version in versions:
            if name := self._in_question.get(version):
                self._close(name, "stale", event, why)

    @follows(ops.ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        gone = set(body.get("ids", ()))
        gone |= {review for name in gone if (review := self._approved.get(name))}  # it has the version's words
        names = gone | {review for name in gone for (_, review), _ in self._about.under(name)}
        for kept in filter(None, map(self._kept.get, names)):
            self._let_go(kept)
            self._kept.drop(kept.id)
            self._in_order.drop(kept.place())
            self._short.drop((kept.id[-SHORT:], kept.id))
            for name in (*kept.target, *kept.sources):
                self._about.drop((name, kept.id))
        self._erased = gone
        try:
            for name in gone:
                self._approved.erase(name)
        finally:
            self._erased = set()

    def _is_approval(self, version: str, review: str, events: Sequence[Event]) -> bool | None:
        """True if the last of these events approves that version: as the answer to its review, or as its statement."""
        event, body = events[-1], events[-1].body or {}
        if event.op == ops.REVIEW_ANSWER:
            kept = self._kept.get(review)
            if kept is None:  # it is being erased, and what it approved with it
                return None
            is_its = kept.kind == "trust" and version in kept.target
            return is_its and (body["review"], body["answer"]) == (review, "approve")
        if event.op not in (ops.BELIEF_PUT, ops.BELIEF_SUPERSEDE) or body["belief"]["id"] != version:
            return False
        before = body.get("merged") or body.get("replaces") or body.get("over", ())
        if not self._erased.isdisjoint(before):  # what it rests on is being erased, and it too
            return None
        return "approved" in body or (bool(before) and all(map(self._approved.get, before)))

    def _close(self, name: str, status: str, event: Event, reason: str, marker: str = "") -> None:
        """With a marker, the answer is by whoever gave it, not by the program that used it."""
        kept = self._kept.get(name)
        assert kept is not None, name
        self._let_go(kept)
        review = kept.review()
        by = review.granted_by if marker and marker == review.marker else event.by
        self._keep(replace(review, status=status, answered_by=by, answered_at=event.ts, reason=reason))

    def _keep(self, review: Review) -> None:
        kept, before = _Kept.of(review), self._kept.get(review.id)
        if before is None:
            self._short.set((kept.id[-SHORT:], kept.id), "")
            for name in (*kept.target, *kept.sources):
                self._about.set((name, kept.id), "")
        else:
            self._in_order.drop(before.place())
        self._kept.set(kept.id, kept)
        self._in_order.set(kept.place(), "")
        if review.status == "waiting":
            self._waiting.set(kept.digest, kept.id)
            for version in kept.target if kept.kind == "trust" else ():
                self._in_question.set(version, kept.id)

    def _let_go(self, kept: _Kept) -> None:
        if kept.status == "waiting":
            self._waiting.drop(kept.digest)
            for version in kept.target if kept.kind == "trust" else ():
                self._in_question.drop(version)

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
        return self._of(user, tuple(OUTCOMES.values()) + ("waiting",))

    def _of(self, user: str, statuses: tuple[str, ...]) -> list[Review]:
        names = [name for status in statuses for (*_, name), _ in self._in_order.under(user, status)]
        found = (kept for kept in map(self._kept.get, names) if kept and kept.user == user)
        return sorted((kept.review() for kept in found), key=lambda review: review.seq)

    def get(self, name: str, *, user: str = OWNER) -> Review:
        """The review with that id, or whose id ends with those six characters. No other user's is found."""
        short = name.removeprefix("r-")
        kept = self._kept.get(name)
        found = [kept] if kept else []
        if not found and ids.SHORT_ID.match(short):
            named = [self._kept.get(each) for (_, each), _ in self._short.under(short)]
            found = [each for each in named if each and each.user == user]
        if len(found) > 1:
            raise Refused(f"{name} names {len(found)} reviews; write more of the id", "ambiguous")
        if not found or found[0].user != user:
            raise NotFound(f"no review named {name!r}; run `tallystick review` to list pending reviews")
        return found[0].review()

    def asked(self, action: Action) -> Review | None:
        """The pending review of exactly this action, if there is one."""
        name = self._waiting.get(action.digest)
        return self.find(name) if name else None

    def because_of(self, sources: Iterable[str]) -> list[Review]:
        """The reviews that all those episodes caused, oldest first."""
        wanted = set(sources)
        asked = [self._kept.get(name) for source in list(wanted)[:1] for (_, name), _ in self._about.under(source)]
        found = [kept.review() for kept in asked if kept and kept.sources >= wanted]
        return sorted(found, key=lambda review: review.seq)

    def is_approved(self, version: str) -> bool:
        return version in self._approved

    def approval_of(self, version: str) -> str:
        """The review that approved a version, or `policy`; empty if none did."""
        return self._approved.get(version) or ""

    def was_refused(self, refusal: Refusal, now: str) -> bool:
        """True if exactly that was refused, and recorded, within the last hour."""
        at = self._refused.get(_refusal_key(refusal))
        return at is not None and is_recent(at, now)

    def refusals(self, by: str, now: str) -> int:
        """The number of refusals of that source that were recorded within the last hour."""
        return sum(is_recent(at, now) for at in self._refused.values(by))

    def is_of_words_alone(self, name: str, user: str) -> bool:
        """True for a review of that user about words that no belief has: they are erased by the review's id."""
        kept = self._kept.get(name)
        return kept is not None and kept.user == user and not kept.target

    def on(self, user: str, path: str) -> list[str]:
        """The reviews of actions on a path."""
        return [review.id for review in self.all(user) if review.action.path == path]

    def in_question(self, version: str) -> str:
        """The pending review of that version; empty if there is none."""
        return self._in_question.get(version) or ""


def _is_asked(name: str, kept: _Kept, events: Sequence[Event]) -> bool:
    """True if a review is as these events say: the request, perhaps an approval to be applied, and the end."""
    review, ask = kept.review(), next((each for each in events if each.op == ops.REVIEW_ASK), None)
    if ask is None or ask.body is None or review.id != name:
        return False
    asked = Review(
        id=ask.body["review"], action=Action.from_body(ask.body["action"]), why=ask.body["why"], asked_at=ask.ts,
        seq=ask.seq,
    )  # fmt: skip
    for event in events[events.index(ask) + 1 :]:
        body = event.body or {}
        if event.op == ops.REVIEW_GRANT and asked.status == "waiting":
            until = {"expires": body["expires"], "marker": body["marker"]}
            asked = replace(asked, granted_by=event.by, granted_at=event.ts, **until)
        elif event.op == ops.REVIEW_ANSWER and body["review"] == name:
            by = asked.granted_by if body.get("marker") and body["marker"] == asked.marker else event.by
            status, reason = OUTCOMES[body["answer"]], body.get("reason", "")
            asked = replace(asked, status=status, answered_by=by, answered_at=event.ts, reason=reason)
        elif review.status == "stale" and review.reason in _STALE:
            asked = replace(
                asked, status="stale", answered_by=event.by, answered_at=event.ts, reason=review.reason
            )  # fmt: skip
    return review == asked


def refusal_in(by: str, body: Mapping[str, Any]) -> Refusal:
    """The refusal that an event records: equal for equal attempts of one source."""
    kind = f"{body['noun']}.{body['kind']}" if "noun" in body else body["kind"]
    return by, body.get("user", OWNER), kind, tuple(body["target"]), body["review"], body["why"]


def _refusal_key(refusal: Refusal) -> tuple[str, str]:
    by, *rest = refusal
    return by, orjson.dumps(rest).decode()


def is_recent(at: str, now: str) -> bool:
    """True if a time is within an hour of `now`."""
    return abs(datetime.fromisoformat(now) - datetime.fromisoformat(at)) < timedelta(hours=1)

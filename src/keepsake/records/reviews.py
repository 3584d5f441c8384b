"""What was asked of a person, and what was answered, folded from events.

A review is answered once. One about a belief that has changed since, or is no longer held, is stale. When words are
erased, every review that names one of their versions goes with them, as it would if the ledger were read anew.

A version is approved when a person said yes to it, and stays so through whatever replaces it: the gate lets nobody
replace an approved version but a person, or with a person's yes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from keepsake.records import ids
from keepsake.records.belief import OWNER
from keepsake.records.beliefs import ERASE, INVALIDATE, PUT, SUPERSEDE, TOMBSTONE
from keepsake.records.errors import NotFound, Refused
from keepsake.records.event import Event
from keepsake.records.lineage import sources_in
from keepsake.records.review import Action, Review
from keepsake.records.undo import Undoable

ASK = "review.ask/1"
ANSWER = "review.answer/1"

OUTCOMES = {"approve": "approved", "reject": "rejected", "stale": "stale"}


class _Kept(NamedTuple):
    """A review as it is kept: as JSON, so that what is handed out is always a fresh copy."""

    line: bytes
    user: str
    kind: str
    status: str
    digest: str
    target: tuple[str, ...]
    seq: int
    sources: frozenset[str]  # whose words it has: episodes, by their events, and versions of another path

    @classmethod
    def of(cls, review: Review) -> _Kept:
        action, line = review.action, orjson.dumps(review.to_body())
        because = frozenset((*sources_in(action.changes.get("views")), *action.merged))
        return cls(line, action.user, action.kind, review.status, action.digest, action.target, review.seq, because)

    def review(self) -> Review:
        return Review.from_body(orjson.loads(self.line))


class Reviews(Undoable):
    """The questions, and which versions of beliefs a person said yes to."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._kept: dict[str, _Kept] = {}  # by id
        self._waiting: dict[str, str] = {}  # digest of an action → the review in which it waits
        self._in_question: dict[str, str] = {}  # version → the waiting review that asks whether to trust it
        self._approved: dict[str, str] = {}  # version → the review that said yes to it
        self._because: dict[str, tuple[str, ...]] = {}  # an episode's event → the reviews that were asked because of it

    # -- following the ledger ----------------------------------------------------------------------------------------

    def knows(self, op: str) -> bool:
        return op in (ASK, ANSWER)

    def apply(self, event: Event) -> None:
        """Take in one event. An answer to what is not known, or is answered already, changes nothing."""
        act = _ACTS.get(event.op)
        if act is not None and event.body is not None:
            act(self, event, event.body)

    def _ask(self, event: Event, body: dict[str, Any]) -> None:
        action = Action.from_body(body["action"])
        self._keep(Review(id=body["review"], action=action, why=body["why"], asked_at=event.ts, seq=event.seq))

    def _answer(self, event: Event, body: dict[str, Any]) -> None:
        kept = self._kept.get(body["review"])
        if kept is None or not kept.review().is_open:
            return
        self._close(body["review"], OUTCOMES[body["answer"]], event, body.get("reason", ""))
        if body["answer"] == "approve" and kept.kind == "trust":
            for version in kept.target:
                self._set(self._approved, version, body["review"])

    def _state(self, event: Event, body: dict[str, Any]) -> None:
        """A version is stated. What a merge brings over has the yes of the branch's version, and no other."""
        if len(body) == 1:
            return  # a belief that was made from nothing
        replaced, merged = body.get("replaces", ()), body.get("merged", ())
        approved = [self._approved.get(version) for version in merged or replaced or body.get("over", ())]
        if "approved" in body or (approved and all(approved)):
            self._set(self._approved, body["belief"]["id"], body.get("approved") or approved[0])
        self._leave_behind(replaced, event, "it was revised")
        self._leave_behind(merged, event, "its path was merged")

    def _retract(self, event: Event, body: dict[str, Any]) -> None:
        self._leave_behind((body["id"],), event, "it is no longer held")

    def _leave_behind(self, versions: Iterable[str], event: Event, why: str) -> None:
        """Nobody need say any more whether to trust those versions."""
        for version in versions:
            if version in self._in_question:
                self._close(self._in_question[version], "stale", event, why)

    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        gone = set(body.get("ids", ()))
        for name in [name for name, kept in self._kept.items() if not gone.isdisjoint((*kept.target, *kept.sources))]:
            self._let_go(self._kept[name])
            self._drop(self._kept, name)
        for name in gone:
            self._drop(self._approved, name)
            self._drop(self._because, name)

    def _close(self, name: str, status: str, event: Event, reason: str) -> None:
        kept = self._kept[name]
        self._let_go(kept)
        self._keep(
            replace(kept.review(), status=status, answered_by=event.by, answered_at=event.ts, reason=reason),
        )

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
        }

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for body in dumped.get("reviews", ()):
            self._keep(Review.from_body(body))
        self._approved.update(dict(dumped.get("approved", ())))

    # -- asking ------------------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    def find(self, name: str) -> Review | None:
        """The review with exactly that id, whosever it is."""
        kept = self._kept.get(name)
        return kept.review() if kept else None

    def waiting(self, user: str = OWNER) -> list[Review]:
        """What a person has to answer, oldest first; also an approved erasure that was cut short."""
        return [review for review in self._of(user, ("waiting", "approved")) if review.is_open]

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
            raise Refused(f"{name} names {len(found)} reviews; write more of the id")
        if not found or self._kept[found[0]].user != user:
            raise NotFound(f"there is no review {name!r}; `keepsake review` lists what waits")
        return self._kept[found[0]].review()

    def asked(self, action: Action) -> Review | None:
        """The review in which exactly this action waits, if it does."""
        name = self._waiting.get(action.digest)
        return self._kept[name].review() if name else None

    def because_of(self, sources: Iterable[str]) -> list[Review]:
        """What was asked because of all those episodes, oldest first."""
        wanted = set(sources)
        asked = (self._kept.get(name) for source in list(wanted)[:1] for name in self._because.get(source, ()))
        return [kept.review() for kept in asked if kept is not None and kept.sources >= wanted]

    def is_approved(self, version: str) -> bool:
        """Whether a person said yes to this version of a belief."""
        return version in self._approved

    def approved_by(self, version: str) -> str:
        """The review in which a person said yes to this version; nothing if none did."""
        return self._approved.get(version, "")

    def is_in_question(self, version: str) -> bool:
        """Whether a person is being asked to trust this version of a belief."""
        return version in self._in_question

    def in_question(self, version: str) -> str:
        """The waiting review that asks whether to trust that version; nothing if none does."""
        return self._in_question.get(version, "")


_ACTS = {
    ASK: Reviews._ask, ANSWER: Reviews._answer, PUT: Reviews._state, SUPERSEDE: Reviews._state,
    TOMBSTONE: Reviews._retract, INVALIDATE: Reviews._retract, ERASE: Reviews._erase,
}  # fmt: skip

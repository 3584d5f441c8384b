"""What is said of beliefs, through the gate; and with which trust everything else is said.

A write is decided, judged and recorded under one lock, so that what was judged is what is recorded. Whoever may do
anything (a person, by default) passes with one look at a set. A held action leaves the question in the ledger and
raises `NeedsApproval`; nothing else is changed.

Inside a batch the question belongs to the batch. If the error leaves the block, the batch is taken back and the
question is asked once more, by itself: what the message names is there to be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from keepsake.decide import belief as decide
from keepsake.decide import review
from keepsake.decide import trust as worth
from keepsake.decide.belief import Draw
from keepsake.memory.echo import NO_ECHO, Echo
from keepsake.records.belief import TRUST, Belief
from keepsake.records.errors import Moved, NeedsApproval, Refused
from keepsake.records.event import Draft, Event
from keepsake.records.policy import ALLOW, DEFAULT, RANK, Policy, is_above
from keepsake.records.review import Action, Review
from keepsake.records.reviews import ASK
from keepsake.stores.shelf import Shelf

Decision = Callable[[Draw], list[Draft]]


class Gated:
    """The writes of one program, which has one trust. `erased` is called after words were destroyed."""

    def __init__(
        self, shelf: Shelf, *, by: str, trust: str, erased: Callable[[], None], policy: Policy = DEFAULT
    ) -> None:
        if trust not in TRUST:
            raise Refused(f"trust {trust!r} is not known; it is one of {', '.join(TRUST)}")
        self.trust, self._by, self._policy = trust, by, policy
        self._shelf, self._erased, self._book = shelf, erased, shelf.book
        self._free, self._quarantined = policy.free, policy.quarantined
        self.echoes: Callable[[str, str], Echo] | None = None  # what a text of a user's repeats of what was served
        self.corroborators: Callable[[], int] = lambda: worth.CORROBORATORS

    # -- saying ------------------------------------------------------------------------------------------------------

    def put(self, fields: dict[str, Any], idempotency_key: str) -> list[Event]:
        """State a belief with the trust that stands in `fields`, or with this program's own."""
        user, path = fields["user"], fields["path"]
        asker = self.asker(fields["trust"])
        trust, echo = self._worth(asker, fields.get("text", ""), fields.get("rests_on", ()), user, path)
        fields["trust"] = trust

        def decision(draw: Draw) -> list[Draft]:
            drafts = decide.put(self._book, fields, draw, idempotency_key=idempotency_key)
            return _marked(worth.lowered(self._book, drafts), echo)

        if trust in self._free:  # on the path of nearly every write: nothing is gathered that nobody will judge
            return self._shelf.ledger.write(lambda: self._freely(decision))
        asked = {"changes": fields, "idempotency_key": idempotency_key, "user": user, "path": path}
        return self._write("remember", decision, trust=trust, **asked)

    def revise(
        self, name: str, changes: dict[str, Any], *, reason: str, user: str, path: str, trust: str = ""
    ) -> list[Event]:
        """Say it otherwise, with this program's own trust, or with the lower one that is named."""
        said, grounds = changes.get("text", ""), changes.get("rests_on", ())
        trust, echo = self._worth(trust or self.trust, said, grounds, user, path)

        def decision(draw: Draw) -> list[Draft]:
            drafts = decide.revise(self._book, name, changes, draw, reason=reason, user=user, path=path)
            return _marked(worth.lowered(self._book, drafts), echo)

        return self._write("revise", decision, trust=trust, changes=changes, reason=reason, user=user, path=path)

    def forget(self, name: str, *, reason: str, user: str, path: str) -> list[Event]:
        def decision(_: Draw) -> list[Draft]:
            return decide.tombstone(self._book, name, reason=reason, user=user, path=path)

        return self._write("forget", decision, reason=reason, user=user, path=path)

    def invalidate(self, name: str, *, reason: str, user: str, path: str) -> list[Belief]:
        """What was weakened by it."""

        def decision(draw: Draw) -> list[Draft]:
            return decide.invalidate(self._book, name, draw, reason=reason, user=user, path=path)

        events = self._write("invalidate", decision, reason=reason, user=user, path=path)
        weakened = [event.body["belief"]["id"] for event in events if event.body and "belief" in event.body]
        with self._shelf.known() as known:
            return [known.get(version, user=user).belief() for version in weakened]

    def erase(self, names: Sequence[str], *, user: str, path: str) -> None:
        if self.trust not in self._free:
            held = self._shelf.ledger.write(lambda: self._judge_erasure(names, user, path))
            self._raise_if_held(held)
        self._destroy(lambda: self._may_erase(names, user, path), names, user, path)

    @contextmanager
    def batch(self) -> Iterator[None]:
        held: Review | None = None
        try:
            with self._shelf.ledger.batch():
                try:
                    yield
                except NeedsApproval as error:
                    held = self._book.reviews.find(error.review)
                    raise
        except NeedsApproval:
            if held is not None:
                self._ask_anew(held)
            raise

    # -- answering ---------------------------------------------------------------------------------------------------

    def approve(self, name: str, digest: str, *, user: str, reason: str) -> list[Event]:
        """The yes, and what it allows; the first event is the answer. None for an erasure that has its yes already."""
        return self._answer(
            lambda draw: review.approve(self._book, self._policy, name, digest, draw, user=user, reason=reason)
        )

    def reject(self, name: str, *, user: str, reason: str) -> list[Event]:
        return self._answer(lambda _: review.reject(self._book, name, user=user, reason=reason))

    def _answer(self, decision: Decision) -> list[Event]:
        if self._policy.rule("answer", self.trust) != ALLOW:
            raise Refused(f"a review is answered by a person, and this program has the trust of {self.trust}")
        return self._shelf.ledger.write(lambda: decision(self._shelf.draw()))

    def finish_erasing(self, action: Action) -> None:
        """Destroy what an approved action names, if it still is what it was when it was asked."""
        draw = self._shelf.draw()
        self._destroy(lambda: review.carried_out(self._book, action, draw), action.target, action.user, action.path)

    def may_set(self, what: str) -> None:
        """Refused, if this program may not decide how the memory works for everyone who uses it."""
        if self.trust not in self._free:
            raise Refused(f"{what} are set by a person, and this program has the trust of {self.trust}")

    # -- inside ------------------------------------------------------------------------------------------------------

    def asker(self, trust: str | None) -> str:
        """With which trust something is said: this program's own, or a lower one that was named."""
        if trust is None:
            return self.trust
        if trust not in TRUST:
            raise Refused(f"trust {trust!r} is not known; it is one of {', '.join(TRUST)}")
        if is_above(trust, self.trust):
            raise Refused(f"trust {trust} cannot be claimed by a program that has only {self.trust}")
        return trust

    def echo(self, text: str, user: str, trust: str) -> Echo:
        """What a text repeats of what recall served. A person's own words repeat nothing."""
        return NO_ECHO if trust == "human" or self.echoes is None else self.echoes(text, user)

    def borne_out(self, drafts: list[Draft]) -> list[Draft]:
        """The drafts, and what is in doubt and is confirmed by them."""
        return drafts + worth.borne_out(self._book, drafts, self._by, self.corroborators)

    def _worth(self, asker: str, text: object, grounds: Any, user: str, path: str) -> tuple[str, Echo]:
        """With which trust a program can say this: not above what it rests on or repeats. A person is judged later."""
        if asker == "human" or not isinstance(text, str):
            return asker, NO_ECHO
        echo = self.echo(text, user, asker)
        trusts = [asker, *filter(None, (echo.trust,))]
        if grounds:
            with self._shelf.ledger.reading():
                trusts.append(worth.weakest(self._book, grounds, user, path)[0])
        return min(trusts, key=RANK.__getitem__), echo

    def _write(self, kind: str, decision: Decision, *, trust: str = "", **asked: Any) -> list[Event]:
        asker = trust or self.trust
        if asker in self._free:
            return self._shelf.ledger.write(lambda: self._freely(decision))
        return self._raise_if_held(
            self._shelf.ledger.write(lambda: self._judge(kind, decision, {**asked, "trust": asker}))
        )

    def _freely(self, decision: Decision) -> list[Draft]:
        draw = self._shelf.draw()
        drafts = decision(draw)
        for draft in drafts:
            if draft.body.get("belief", _NOTHING).get("trust", "human") in self._quarantined:
                drafts = drafts + review.quarantine(self._book, self._policy, drafts, self._by, draw)
                return self.borne_out(worth.explained(self._book, drafts))
        return self.borne_out(drafts)

    def _judge(self, kind: str, decision: Decision, asked: Mapping[str, Any]) -> list[Draft]:
        """What may be recorded. What changes nothing needs nobody's yes."""
        draw = self._shelf.draw()
        drafts = decision(draw)
        if not drafts:
            return []
        action = Action(kind=kind, target=review.targets(drafts), by=self._by, **asked)
        judged = review.judged(self._book, self._policy, action, drafts, draw)
        return self.borne_out(worth.explained(self._book, judged))

    def _judge_erasure(self, names: Sequence[str], user: str, path: str) -> list[Draft]:
        """The question that stands in the way of an erasure, if one does."""
        decide.erase(self._book, names, user=user, path=path)  # every name is one of something
        held = [self._book.find(name, user=user, path=path) for name in names]
        if None in held:
            raise Refused(f"what happened is erased by a person, and this program has the trust of {self.trust}")
        target = tuple(dict.fromkeys(each.body()["id"] for each in held if each))
        if not target:
            return []
        action = Action(kind="erase", target=target, user=user, path=path, by=self._by, trust=self.trust)
        return review.judged(self._book, self._policy, action, [], self._shelf.draw())

    def _may_erase(self, names: Sequence[str], user: str, path: str) -> None:
        if self.trust not in self._free and self._judge_erasure(names, user, path):
            raise Moved("what was to be erased has changed meanwhile; read it again, then decide")

    def _destroy(self, check: Callable[[], object], names: Sequence[str], user: str, path: str) -> None:
        def choose() -> Any:
            check()
            return decide.erase(self._book, names, user=user, path=path)

        self._shelf.ledger.erase(choose)
        self._erased()

    def _ask_anew(self, held: Review) -> None:
        decision = self._shelf.ledger.write
        draw = self._shelf.draw
        self._raise_if_held(decision(lambda: review.ask_anew(self._book, held.action, held.why, draw())))

    def _raise_if_held(self, events: list[Event]) -> list[Event]:
        """A question that comes first is all there is; one that comes after what it is about holds up nobody."""
        if events and events[0].op == ASK and events[0].body:
            asked = self._book.reviews.find(events[0].body["review"])
            assert asked is not None
            raise review.needs_approval(asked)
        return events


def _marked(drafts: list[Draft], echo: Echo) -> list[Draft]:
    """The drafts; what repeats something says so."""
    for draft in drafts if echo.ids else ():
        if "belief" in draft.body:
            draft.body["echo"] = list(echo.ids)
    return drafts


_NOTHING: dict[str, Any] = {}

"""What is said of beliefs, through the gate; and with which trust everything else is said.

A write is decided, judged and recorded under one lock, so that what was judged is what is recorded. Whoever may do
anything (a person, by default) passes with one look at a set. A held action leaves the question in the ledger and
raises `NeedsApproval`; nothing else is changed. An attempt that the policy, or the ledger's record of a yes, does not
let through leaves that it was made, and raises `NotApproved`.

Inside a batch the question belongs to the batch. If the error leaves the block, the batch is taken back and the
question is asked once more, by itself: what the message names is there to be answered. So is the record of an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

from tallystick.decide import (
    beliefs as decide,
    erasure,
    path_actions as path_action,
    review_request as asking,
    reviews as review,
    trust as worth,
)
from tallystick.decide.actions import carried_out, on_page, targets
from tallystick.decide.beliefs import Draw
from tallystick.decide.gate import gate
from tallystick.decide.review_request import quarantine
from tallystick.decide.subjects import standing, subject_of
from tallystick.memory.core.caller import Caller, Decision, Echoes
from tallystick.memory.core.echo import NO_ECHO, Echo
from tallystick.memory.core.masking import Cleared, Masker, refuse_name
from tallystick.records.belief import Belief
from tallystick.records.errors import Moved, NeedsApproval, NotFound, Refused
from tallystick.records.event import ELSEWHERE, Draft, Event
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.page import NOTES
from tallystick.records.policy import ALLOW, BELIEF, REFUSE, is_above, thing
from tallystick.records.review import Action, Approval, Review
from tallystick.stores.open_folder import OpenFolder


class Changed(Exception):
    """Somebody wrote between looking and the lock; look again."""


class WriteGate(Caller):
    """The writes of one program, which has one trust. `erased` is called after words were destroyed."""

    def __init__(
        self,
        folder: OpenFolder,
        *,
        by: str,
        trust: str,
        masks: Masker,
        erased: Callable[[], None],
        echoes: Echoes,
        corroborators: Callable[[], int],
        multi_valued: Callable[[], frozenset[str]],
    ) -> None:
        super().__init__(folder, by, trust, echoes, corroborators)
        self.masks, self._erased, self.multi_valued = masks, erased, multi_valued

    def as_source(self, by: str, trust: str) -> WriteGate:
        """The same program, writing for another source with that source's trust."""
        return WriteGate(
            self._folder, by=by, trust=trust, masks=self.masks, erased=self._erased, echoes=self._echoes,
            corroborators=self._corroborators, multi_valued=self.multi_valued,
        )  # fmt: skip

    # -- saying ------------------------------------------------------------------------------------------------------

    def put(
        self, fields: dict[str, Any], idempotency_key: str, *, source: str = "",
        elsewhere: Mapping[str, str] | None = None, since: int | None = None,
    ) -> list[Event]:  # fmt: skip
        """State a belief with the trust that stands in `fields`, or with this program's own.

        The key is this program's, unless it is that of another `source`. `elsewhere` is where it was first recorded.
        With `since`, Changed if anything that is remembered was changed after that event.
        """
        user, path = fields["user"], fields["path"]
        asker = fields["trust"] = self.asker(fields["trust"])
        self.masks.fields(fields)
        refuse_name("idempotency_key", idempotency_key)
        trust, echo = self.worth(asker, fields.get("text", ""), fields.get("rests_on", ()), user, path)
        fields["trust"] = trust

        def decision(draw: Draw) -> list[Draft]:
            self.must_be_unchanged(since)
            drafts = decide.put(self._state, fields, draw, idempotency_key=idempotency_key, source=source or self.by)
            if elsewhere:
                drafts = [Draft(op, {**body, ELSEWHERE: dict(elsewhere)}) for op, body in drafts]
            return _marked(worth.lowered(self._state, drafts), echo)

        if self.is_free(trust):  # on the path of nearly every write: nothing is gathered that nobody will judge
            return self._folder.ledger.write(lambda: self._freely(decision), by=self.by)
        asked = {"changes": fields, "idempotency_key": idempotency_key, "user": user, "path": path}
        return self.write("remember", decision, trust=trust, **asked)

    def revise(
        self, name: str, changes: dict[str, Any], *, reason: str, user: str, path: str, trust: str = "",
        since: int | None = None,
    ) -> list[Event]:  # fmt: skip
        """Say it otherwise, with this program's own trust, or with the lower one that is named."""
        reason = self.masks.fields(changes, reason)
        said, grounds = changes.get("text", ""), changes.get("rests_on", ())
        trust, echo = self.worth(self.asker(trust or None), said, grounds, user, path)

        def decision(draw: Draw) -> list[Draft]:
            self.must_be_unchanged(since)
            drafts = decide.revise(self._state, name, changes, draw, reason=reason, user=user, path=path)
            held = self._state.find(name, user=user, path=path)
            is_persons = trust == "human" and bool(_OWN_WORDS & changes.keys())
            if is_persons and worth.is_outranked(self._state, held, trust):
                # nothing of what is in doubt is carried over: these are the words of whoever says them now
                assert held is not None
                fields = {"status": held.status, "reason": reason, **changes, "key": held.key, "trust": trust}
                drafts = decide.put(self._state, {**fields, "user": user, "path": path}, draw)
            return _marked(worth.lowered(self._state, drafts), echo)

        return self.write("revise", decision, trust=trust, changes=changes, reason=reason, user=user, path=path)

    def must_be_unchanged(self, since: int | None) -> None:
        """Changed, if what is remembered was changed after that event. For use where a decision is recorded."""
        if since is not None and self._state.changed[0] != since:
            raise Changed

    def forget(self, name: str, *, reason: str, user: str, path: str) -> list[Event]:
        reason = self.masks.words(reason)

        def decision(draw: Draw) -> list[Draft]:
            return decide.forget(self._state, name, draw, reason=reason, user=user, path=path)

        return self.write("forget", decision, reason=reason, user=user, path=path)

    def invalidate(self, name: str, *, reason: str, user: str, path: str) -> list[Belief]:
        """What was weakened by it."""
        reason = self.masks.words(reason)

        def decision(draw: Draw) -> list[Draft]:
            return decide.invalidate(self._state, name, draw, reason=reason, user=user, path=path)

        events = self.write("invalidate", decision, reason=reason, user=user, path=path)
        said = [event.body["belief"] for event in events if event.body and "belief" in event.body]
        weakened = [belief["id"] for belief in said if belief.get("status", "active") != "invalidated"]
        with self._folder.known() as known:
            return [held.belief() for version in weakened if (held := known.version(version))]

    def erase(self, names: Sequence[str], things: Sequence[tuple[str, str]] = (), *, user: str, path: str) -> None:
        """Destroy words: of beliefs and episodes, by their `names`, and of other `things`, each with what it is."""
        if not self.is_free(self.trust):
            self._record(lambda draw: self._judge_erasure(names, user, path, draw))
        self._destroy(lambda: self._may_erase(names, user, path), names, user, path, things)

    def restate(self, things: Sequence[tuple[str, str]], *, user: str) -> None:
        """Record what holds of things whose words are about to be erased: it, without them, or that it is gone."""
        for noun, name in things:
            self.must(erasure.NOUNS[noun], "erase", user=user, path=name if noun == "path" else "")
        if things:
            self._folder.ledger.write(lambda: [draft for words in self._words(things, user) for draft in words.first])

    def _words(self, things: Sequence[tuple[str, str]], user: str) -> list[erasure.Words]:
        return [erasure.words_of(self._state, noun, name, user) for noun, name in things]

    def write(self, kind: str, decision: Decision, *, trust: str = "", **asked: Any) -> list[Event]:
        """Record what `decision` comes to, if an action of that kind may do it. `asked` are fields of the action."""
        asker = self.asker(trust or None)

        def decided(draw: Draw) -> list[Draft]:
            return self._without_distrusted(decision(draw))

        if self.is_free(asker):
            return self._folder.ledger.write(lambda: self._freely(decided), by=self.by)
        return self._record(lambda draw: self._judge(kind, decided, {**asked, "trust": asker}, draw))

    @contextmanager
    def batch(self) -> Iterator[None]:
        held: Review | None = None
        self._attempts = []
        try:
            with self._folder.ledger.batch():
                try:
                    yield
                except NeedsApproval as error:
                    held = self._state.reviews.find(error.review)
                    raise
        except (Refused, Moved) as error:
            for attempt in self._attempts:
                self.note(attempt)
            if held is not None and isinstance(error, NeedsApproval):
                self._ask_again(held)
            raise

    # -- lifecycle actions -------------------------------------------------------------------------------------------

    def carry_out(self, action: Action, approval: Approval | None) -> list[Event]:
        """Do what an action says, if it may be done, or if `approval` is a yes to it that counts.

        The events; of an erasure, or the folding of a page, only those of the yes: the caller does the rest, as it does
        after `approve`.
        """
        if self._is_anothers(action, approval):
            return self._record(lambda _: asking.refuse(self._state, action, "name"))
        if approval is None and (action.merged or (action.noun != "path" and not action.is_plain)):
            raise Refused("build an action with `memory.action`; this one was made by hand", "permission")
        asked = self.as_said(action) if action.noun == BELIEF else action
        if approval is not None:
            now = self._folder.ledger.now
            how = {"several": self.multi_valued()}
            return self._record(
                lambda draw: Cleared(review.apply(self._state, self.policy, asked, approval, draw, now(), **how))
            )
        trust, echo = self.worth(
            asked.trust, asked.changes.get("text", ""), asked.changes.get("rests_on", ()), asked.user, asked.path
        )
        if trust != asked.trust:  # what it repeats, or rests on, is trusted less than the one who asks
            said = {**asked.changes, "trust": trust} if "trust" in asked.changes else asked.changes
            asked = replace(asked, trust=trust, changes=said)
        return self._record(lambda draw: self._judge_action(asked, draw, echo))

    def act(self, build: Callable[[], Action]) -> list[Event]:
        """Do what an action says that is built under the lock, of what is known there; or put it to a person."""
        return self._record(lambda draw: self._judge_action(build(), draw, NO_ECHO))

    def as_said(self, action: Action) -> Action:
        """An action as it is put on record: without secrets."""
        changes = dict(action.changes)
        reason = self.masks.fields(changes, action.reason)
        return replace(action, changes=changes, reason=reason) if (changes, reason) != _said(action) else action

    def _is_anothers(self, action: Action, approval: Approval | None) -> bool:
        """Nobody speaks in another's name; but what a program asked for, and was approved, a person may carry out."""
        if is_above(action.trust, self.trust):
            return True
        is_a_person = self.policy.usual("review.answer", self.trust) == ALLOW
        return action.by != self.by and (approval is None or not is_a_person)

    def _judge_action(self, action: Action, draw: Draw, echo: Echo) -> list[Draft]:
        if action.noun == "path":
            drafts = path_action.carried_out(self._state, self.policy, action, draw, several=self.multi_valued())
            brought = (version for draft in drafts for version in draft.body.get("merged", ()))
            if self.trust != "human" and any(map(self._is_distrusted, brought)):
                raise Refused(
                    "a statement on this path has a distrusted source; only a person can merge it", "permission"
                )
            return list(self._judged(action, drafts, draw))  # whose words were not looked through for secrets yet
        drafts = self._without_distrusted(carried_out(self._state, action, draw, may_be_done=True))
        drafts = _marked(worth.lowered(self._state, drafts), echo)
        if action.kind == "trust":
            drafts = review.trusted(self._state, action, draw)
        if not drafts and action.kind not in ("erase", "compact"):
            return []
        return self._judged(action, drafts, draw)

    def _judged(self, action: Action, drafts: list[Draft], draw: Draw) -> list[Draft]:
        judged = review.judged(self._state, self.policy, action, drafts, draw, self._folder.ledger.now())
        return Cleared(self.borne_out(worth.explained(self._state, judged)))

    # -- answering ---------------------------------------------------------------------------------------------------

    def approve(self, name: str, digest: str, *, user: str, reason: str) -> list[Event]:
        """The yes, and what it allows; the first event is the answer. None for an erasure that has its yes already."""
        reason = self.masks.words(reason)

        def yes(draw: Draw) -> list[Draft]:
            how: dict[str, Any] = {"user": user, "reason": reason, "several": self.multi_valued()}
            return review.approve(self._state, self.policy, name, digest, draw, **how)

        return self._answer(name, user, yes)

    def reject(self, name: str, *, user: str, reason: str) -> list[Event]:
        reason = self.masks.words(reason)
        return self._answer(name, user, lambda _: review.reject(self._state, name, user=user, reason=reason))

    def approve_episodes(self, source: str, *, user: str) -> list[Event]:
        """That what a source told may be recalled, all of it that is quarantined now."""
        self.must("review", "answer", user=user)
        if not self.policy.names(self.by):
            raise Refused(
                "only an approver named in the policy can approve a source; use `tallystick review`", "permission"
            )
        return self._record(lambda _: worth.approved_episodes(self._state, source, user=user))

    def withdraw(self, name: str, *, user: str, reason: str) -> list[Event]:
        """That this program no longer asks for what it asked for."""
        reason = self.masks.words(reason)
        return self._record(
            lambda _: Cleared(review.withdraw(self._state, name, self.by, user=user, reason=reason))
        )  # fmt: skip

    def grant(self, name: str, digest: str, *, user: str, marker: str, expires: str) -> list[Event]:
        """The yes alone, to be carried out later."""

        def yes(_: Draw) -> list[Draft]:
            now = self._folder.ledger.now()
            return review.grant(self._state, name, digest, marker=marker, expires=expires, now=now, user=user)

        return self._answer(name, user, yes)

    def _answer(self, name: str, user: str, decision: Decision) -> list[Event]:
        def judged(draw: Draw) -> list[Draft]:
            asked = self._state.reviews.get(name, user=user)
            answer = Action(kind="answer", noun="review", user=user, by=self.by, trust=self.trust)
            if gate(self.policy, answer, ()).kind == REFUSE:
                message = f"a review is answered by a person, and this program has the trust of {self.trust}"
                asking.refuse(self._state, asked.action, "approver", asked.id, message)
            if not self.policy.names(self.by):
                asking.refuse(self._state, asked.action, "approver", asked.id)
            return Cleared(decision(draw))

        return self._record(judged)

    def finish_erasing(self, action: Action, *, was_approved: bool = True) -> None:
        """Destroy what an action names, which has its yes or needs none, if it still is what it was when asked."""
        draw = self._folder.draw()

        def check() -> None:
            carried_out(self._state, action, draw)
            if not was_approved and review.judged(self._state, self.policy, action, [], draw):
                raise Moved("what was to be erased has changed; read it again and decide again")

        self._destroy(check, action.target, action.user, action.path)

    def may_fold(self, user: str, about: str, reason: str, rewrite: str | None) -> None:
        """NeedsApproval or NotApproved, if the policy asks for approval of the folding of a page, or forbids it."""
        if self.is_free(self.trust):
            return
        with self._folder.ledger.reading():
            target = on_page(self._state, user, "" if about == NOTES else about)
        asked: dict[str, Any] = {"user": user, "reason": reason, "by": self.by, "trust": self.trust}
        asked["changes"] = {} if rewrite is None else {"rewrite": rewrite}
        if target:
            self.carry_out(Action(kind="compact", target=target, **asked), None)
        else:
            self.must("page", "describe", user=user)

    def may_clean(self, user: str) -> None:
        """NotApproved, if this program may not put everything away at once: it is judged for each belief."""
        if self.is_free(self.trust):
            return
        self.must("page", "clean", user=user)
        with self._folder.ledger.reading():
            held = [each.body() for each in self._state.held.values() if each.user == user]
            held = [body for body in held if body.get("status") != "tombstone"]
            every = [subject_of(body, standing(self._state, body["id"], user)) for body in held]
        target = tuple(body["id"] for body in held) or ("all",)
        action = Action(kind="forget", user=user, target=target, by=self.by, trust=self.trust)
        if held and gate(self.policy, action, every).kind != ALLOW:
            message = "the policy asks for approval of what would be put away; do it one by one instead"
            self.record(lambda _: asking.refuse(self._state, action, "refused", message=message))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _without_distrusted(self, drafts: list[Draft]) -> list[Draft]:
        """Without what changes a statement of a distrusted source: whoever says it again, even less surely, would free
        its words. Only a person does that, or the source itself. NotFound, if that is what was asked for: the first.
        """
        if self.trust == "human" or not self._state.distrusts.all():
            return drafts
        kept = [draft for draft in drafts if not any(map(self._is_distrusted, targets([draft])))]
        if drafts[:1] != kept[:1]:
            version = targets(drafts)[0]
            raise NotFound(f"{version} is hidden because its source is distrusted; only a person can change it")
        return kept

    def _is_distrusted(self, version: str) -> bool:
        held = self._state.version(version)
        return held is not None and held.by != self.by and worth.withheld(self._state, held) is not None

    def _record(self, decision: Decision) -> list[Event]:
        return self._passed(self.record(decision))

    def _freely(self, decision: Decision) -> list[Draft]:
        """What one who is never asked says, under the policy that was looked at just before."""
        draw, policy = self._folder.draw(), self._policy or self.policy
        drafts = decision(draw)
        for draft in drafts:
            if draft.body.get("belief", _NOTHING).get("trust", "human") in policy.quarantined:
                drafts = drafts + quarantine(self._state, policy, drafts, self.by, draw)
                return Cleared(self.borne_out(worth.explained(self._state, drafts)))
        return Cleared(self.borne_out(drafts))

    def _judge(self, kind: str, decision: Decision, asked: Mapping[str, Any], draw: Draw) -> list[Draft]:
        """What may be recorded. What changes nothing needs nobody's yes."""
        drafts = decision(draw)
        if not drafts:
            return []
        return self._judged(Action(kind=kind, target=targets(drafts), by=self.by, **asked), drafts, draw)

    def _judge_erasure(self, names: Sequence[str], user: str, path: str, draw: Draw) -> list[Draft]:
        """The question that stands in the way of an erasure, if one does."""
        decide.erase(self._state, names, user=user, path=path)  # every name is one of something
        going, happened = decide.what_goes(self._state, names, user=user, path=path)
        target = tuple(each.body()["id"] for each in going)
        if any(self._state.find(name, user=user, path=path) is None for name in names):  # not of beliefs alone
            told = [each for name in happened for each in self._state.episodes.named(user, name)]
            scopes = [thing("human", user, each.path)._replace(session=each.session, agent=each.agent) for each in told]
            self.may("episode", "erase", *scopes, user=user, path=path)
        if not target:
            return []
        asked: dict[str, Any] = {"user": user, "path": path, "by": self.by, "trust": self.trust}
        return review.judged(self._state, self.policy, Action(kind="erase", target=target, **asked), [], draw)

    def _may_erase(self, names: Sequence[str], user: str, path: str) -> None:
        if not self.is_free(self.trust) and self._judge_erasure(names, user, path, self._folder.draw()):
            raise Moved("what was to be erased has changed; read it again and decide again")

    def _destroy(
        self, check: Callable[[], object], names: Sequence[str], user: str, path: str,
        things: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        def choose() -> Any:
            check()
            ids, speaks = decide.erase(self._state, names, user=user, path=path)
            words = self._words(things, user)
            if any(each.first for each in words):
                raise Moved("what was to be erased has changed; read it again and decide again")

            def has_words(event: Event) -> bool:
                found = [speaks(event), *(each.speak(event) for each in words)]  # each notes whose ids go
                return any(found)

            return chain(ids, *(each.ids for each in words)), has_words

        self._folder.ledger.erase(choose)
        self._erased()

    def _ask_again(self, held: Review) -> None:
        self._record(lambda draw: asking.ask_again(self._state, held.action, held.why, draw))

    def _passed(self, events: list[Event]) -> list[Event]:
        """A question that is all there is holds up its asker; one that comes with what it is about holds up nobody."""
        if events and events[0].body and all(event.op == REVIEW_ASK for event in events):
            asked = self._state.reviews.find(events[0].body["review"])
            if asked is not None and asked.status == "waiting":
                raise asking.needs_approval(asked)
        return events


def _marked(drafts: list[Draft], echo: Echo) -> list[Draft]:
    """The drafts; what repeats something says so."""
    for draft in drafts if echo.ids else ():
        if "belief" in draft.body:
            draft.body["echo"] = list(echo.ids)
    return drafts


def _said(action: Action) -> tuple[dict[str, Any], str]:
    return action.changes, action.reason


_NOTHING: dict[str, Any] = {}
_OWN_WORDS = frozenset({"text", "data"})  # what a belief says; all else only describes it

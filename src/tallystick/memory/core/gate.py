"""The write gate: each write of a program is judged by the policy before it is recorded.

A write is decided, judged and recorded under one lock, so that what was judged is what is recorded. A program that may
do anything (a person's, by default) passes with one look at a set. An action that needs approval leaves a review in the
ledger and raises `NeedsApproval`; nothing else is changed. An attempt that the policy, or the record of an approval,
does not allow is recorded too, and raises `NotApproved`.

Inside a batch the review belongs to the batch. If the error leaves the block, the batch is rolled back, and the review
that the message names is recorded again by itself, to be answered. So is a refused attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from tallystick.decide import (
    beliefs as decide,
    filing,
    paths,
    review_request as asking,
    reviews as review,
    trust as worth,
)
from tallystick.decide.actions import carried_out, on_page, targets
from tallystick.decide.beliefs import Draw
from tallystick.decide.entities import entity_for
from tallystick.decide.erasure import NOUNS, Words, words_of
from tallystick.decide.gate import Verdict, gate
from tallystick.decide.subjects import standing, subject_of
from tallystick.decide.undo import undone
from tallystick.memory.core.changes import events_of, group_at
from tallystick.memory.core.echo import NO_ECHO, Echo
from tallystick.memory.core.masking import Cleared, Masker, refuse_name
from tallystick.memory.core.policy_reader import PolicyReader
from tallystick.records.belief import OWNER, Belief
from tallystick.records.entity import is_name
from tallystick.records.episode import Episode
from tallystick.records.errors import Moved, NeedsApproval, NotApproved, NotFound, Refused
from tallystick.records.event import ELSEWHERE, Draft, Event
from tallystick.records.fields import TRUST
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.page import NOTES
from tallystick.records.policy import (
    ALLOW,
    BELIEF,
    CHANGE,
    GRAPH,
    QUARANTINE,
    REFUSE,
    Policy,
    Subject,
    is_above,
    lower,
    thing,
)
from tallystick.records.review import Action, Approval, Review
from tallystick.stores.open_ledger import OpenLedger

Decision = Callable[[Draw], list[Draft]]
Echoes = Callable[[str, str], Echo]  # what a text of a user repeats of what was served

_OWN_WORDS = frozenset({"text", "data"})  # what a belief says; everything else only describes it


class Changed(Exception):
    """Somebody wrote between the lookup and the lock; look again."""


class _PolicyChanged(Exception):
    """Somebody changed the policy between a look at it and the lock."""


class WriteGate:
    """The writes of one program, which has one trust. `erased` is called after words were destroyed."""

    def __init__(
        self, folder: OpenLedger, *, by: str, trust: str, masks: Masker, erased: Callable[[], None], echoes: Echoes,
        corroborators: Callable[[], int], multi_valued: Callable[[], frozenset[str]],
    ) -> None:  # fmt: skip
        if trust not in TRUST:
            raise Refused(f"unknown trust {trust!r}; use one of {', '.join(TRUST)}")
        self.trust, self.by = trust, by
        self.masks, self._erased, self.multi_valued = masks, erased, multi_valued
        self._folder, self._state = folder, folder.state
        self._read_policy = PolicyReader(folder.settings)
        self._policy: Policy | None = None
        self._free: frozenset[str] = frozenset()  # the trusts with which this program may do anything
        self._in_batch: Policy | None = None  # the policy of the open batch
        self._attempts: list[dict[str, object]] = []  # refused in it
        self._echoes, self._corroborators = echoes, corroborators

    def as_source(self, by: str, trust: str) -> WriteGate:
        """The same program, writing for another source with that source's trust."""
        return WriteGate(
            self._folder, by=by, trust=trust, masks=self.masks, erased=self._erased, echoes=self._echoes,
            corroborators=self._corroborators, multi_valued=self.multi_valued,
        )  # fmt: skip

    # -- what the program may do -------------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """The policy in force; within a batch, that of its beginning. Refused, if it cannot be read: nothing is
        written on a guess."""
        if self._in_batch is not None and self._folder.ledger.in_batch():
            return self._in_batch
        found = self._read_policy.now()
        if found is not self._policy:
            self._policy, self._free = found, found.free_as(self.by)
        return found

    def is_free(self, trust: str) -> bool:
        """Whether this program may do anything when it writes with that trust."""
        return bool(self.policy) and trust in self._free

    def may(
        self, noun: str, verb: str, *subjects: Subject, user: str = OWNER, path: str = "", what: str = ""
    ) -> Verdict:
        """The policy's verdict on a verb and a noun other than a belief. NotApproved, naming `what`, if it refuses.

        For use where a decision is recorded; `must` is for anywhere else.
        """
        action = Action(kind=verb, noun=noun, user=user, path=path, by=self.by, trust=self.trust)
        verdict = gate(self.policy, action, subjects)
        if verdict.kind == REFUSE:
            asking.refuse(self._state, action, "refused", message=": ".join(filter(None, (what, verdict.why))))
        return verdict

    def must(self, noun: str, verb: str, *subjects: Subject, user: str = OWNER, path: str = "") -> None:
        """NotApproved, if the policy does not allow that; the attempt is recorded."""
        if self.is_free(self.trust):
            return
        try:
            self.may(noun, verb, *subjects, user=user, path=path)
        except NotApproved as error:
            self.attempted(error)
            raise

    def as_recorded(self, episode: Episode) -> Episode:
        """An episode as this program may record it, perhaps quarantined. NotApproved, if it may not."""
        if self.is_free(episode.trust):
            return episode
        action = Action(
            kind="observe", noun="episode", user=episode.user, path=episode.path, by=self.by, trust=episode.trust
        )
        verdict = gate(self.policy, action, [episode_subject(episode, "")])
        if verdict.kind == REFUSE:
            self.record(lambda _: asking.refuse(self._state, action, "refused", message=verdict.why))
        if verdict.kind == QUARANTINE and episode.trust not in self.policy.quarantined:
            return replace(episode, trust=review.KEPT_OUT)
        return episode

    def kept_out(self, drafts: list[Draft], draw: Draw) -> list[Draft]:
        """A request for approval for each version in `drafts` that is quarantined."""
        return asking.quarantine(self._state, self.policy, drafts, self.by, draw)

    # -- its trust ---------------------------------------------------------------------------------------------------

    def asker(self, trust: str | None) -> str:
        """The trust of a statement: this program's own, or a lower one that was named."""
        if trust is None:
            return self.trust
        if trust not in TRUST:
            raise Refused(f"unknown trust {trust!r}; use one of {', '.join(TRUST)}")
        if is_above(trust, self.trust):
            raise Refused(f"trust {trust} cannot be claimed by a program with trust {self.trust}", "permission")
        return trust

    def echo(self, text: str, user: str, trust: str) -> Echo:
        """What a text repeats of what recall served. A person's own words repeat nothing."""
        return NO_ECHO if trust == "human" else self._echoes(text, user)

    def borne_out(self, drafts: list[Draft]) -> list[Draft]:
        """The drafts, and the events of what they corroborate."""
        if not self._state.distrusts.has_doubts:
            return drafts
        return drafts + worth.borne_out(self._state, drafts, self.by, self._corroborators)

    def worth(self, asker: str, fields: Mapping[str, Any], user: str, path: str) -> tuple[str, Echo]:
        """The trust of these words, not above that of what they depend on or repeat. A person is judged later."""
        text, grounds = fields.get("text", ""), fields.get("rests_on", ())
        if asker == "human" or not isinstance(text, str):
            return asker, NO_ECHO
        echo = self.echo(text, user, asker)
        trusts = [asker, *filter(None, (echo.trust,))]
        if grounds:
            with self._folder.ledger.reading():
                trusts.append(worth.weakest(self._state, grounds, user, path)[0])
        return lower(trusts), echo

    # -- recording ---------------------------------------------------------------------------------------------------

    def record(self, decision: Decision) -> list[Event]:
        """Write what a decision comes to. A refused one leaves its attempt.

        NeedsApproval, if reviews are all there is to write: a review that comes with its subject stops nobody.
        """
        try:
            events = self._folder.ledger.write(lambda: decision(self._folder.draw()), by=self.by)
        except NotApproved as error:
            self.attempted(error)
            raise
        if events and events[0].body and all(event.op == REVIEW_ASK for event in events):
            asked = self._state.reviews.find(events[0].body["review"])
            if asked is not None and asked.status == "waiting":
                raise asking.needs_approval(asked)
        return events

    def attempted(self, error: NotApproved) -> None:
        """Record a refused attempt. If a batch is open and is rolled back, it is recorded after that."""
        if self._folder.ledger.in_batch():
            self._attempts.append(error.attempt)
        self._note(error.attempt)

    def _note(self, attempt: dict[str, object]) -> None:
        ledger = self._folder.ledger
        ledger.write(lambda: asking.recorded(self._state, attempt, self.by, ledger.now()))

    @contextmanager
    def batch(self) -> Iterator[None]:
        held: Review | None = None
        self._attempts = []
        try:
            with self._folder.ledger.batch():
                self._in_batch = self.policy
                try:
                    yield
                except NeedsApproval as error:
                    held = self._state.reviews.find(error.review)
                    raise
                finally:
                    self._in_batch = None
        except (Refused, Moved) as error:
            for attempt in self._attempts:
                self._note(attempt)
            if held is not None and isinstance(error, NeedsApproval):
                action, why = held.action, held.why
                self.record(lambda draw: asking.ask_again(self._state, action, why, draw))
            raise

    def together(self) -> AbstractContextManager[None]:
        """A batch for the block, unless one is open already: then the block is part of that."""
        return nullcontext() if self._folder.ledger.in_batch() else self.batch()

    # -- beliefs -----------------------------------------------------------------------------------------------------

    def entity(self, name: str, user: str, path: str, text: str, trust: str = "") -> str:
        """What a belief in these words is about: the entity that a name means."""
        if not is_name(name) or self.masks.words(name) != name:  # it will be refused, or masked
            return name
        with self._folder.ledger.reading():
            return entity_for(self._state, name, user, path, text, trust or self.trust)

    def put(
        self, fields: dict[str, Any], idempotency_key: str, *, source: str = "",
        elsewhere: Mapping[str, str] | None = None, since: int | None = None, found: Mapping[str, Any] | None = None,
    ) -> list[Event]:  # fmt: skip
        """State a belief with the trust in `fields`, or with this program's own.

        The key is this program's, unless it is that of another `source`. `elsewhere` is where it was first recorded.
        With `since`, Changed if anything that is remembered was changed after that event. `found` is recorded beside
        it: what rules said of it, with their versions.
        """
        user, path = fields["user"], fields["path"]
        asker = fields["trust"] = self.asker(fields["trust"])
        self.masks.fields(fields)
        refuse_name("idempotency_key", idempotency_key)
        trust, echo = self.worth(asker, fields, user, path)
        fields["trust"] = trust

        def decision(draw: Draw) -> list[Draft]:
            self.must_be_unchanged(since)
            drafts = decide.put(self._state, fields, draw, idempotency_key=idempotency_key, source=source or self.by)
            if found:
                drafts = [Draft(op, {**body, **found}) for op, body in drafts]
            if elsewhere:
                drafts = [Draft(op, {**body, ELSEWHERE: dict(elsewhere)}) for op, body in drafts]
            return _marked(worth.lowered(self._state, drafts), echo)

        if self.is_free(trust):  # on the path of nearly every write: nothing is gathered that nobody will judge
            with suppress(_PolicyChanged):
                return self._folder.ledger.write(lambda: self._freely(trust, decision), by=self.by)
        asked = {"changes": fields, "idempotency_key": idempotency_key, "user": user, "path": path}
        return self.write("remember", decision, trust=trust, **asked)

    def revise(
        self, name: str, changes: dict[str, Any], *, reason: str, user: str, path: str, trust: str = "",
        since: int | None = None,
    ) -> list[Event]:  # fmt: skip
        """Replace a belief, with this program's own trust, or with the lower one that is named."""
        reason = self.masks.fields(changes, reason)
        trust, echo = self.worth(self.asker(trust or None), changes, user, path)

        def decision(draw: Draw) -> list[Draft]:
            self.must_be_unchanged(since)
            drafts = decide.revise(self._state, name, changes, draw, reason=reason, user=user, path=path)
            held = self._state.find(name, user=user, path=path)
            is_persons = trust == "human" and bool(_OWN_WORDS & changes.keys())
            if is_persons and worth.is_outranked(self._state, held, trust):
                # nothing quarantined is carried over: these are the words of the person who says them now
                assert held is not None
                fields = {"status": held.status, "reason": reason, **changes, "key": held.key, "trust": trust}
                drafts = decide.put(self._state, {**fields, "user": user, "path": path}, draw)
            return _marked(worth.lowered(self._state, drafts), echo)

        return self.write("revise", decision, trust=trust, changes=changes, reason=reason, user=user, path=path)

    def must_be_unchanged(self, since: int | None) -> None:
        """Changed, if what is remembered was changed after that event. For use where a decision is recorded."""
        if since is not None and self._state.changed != since:
            raise Changed

    def forget(self, name: str, *, reason: str, user: str, path: str) -> list[Event]:
        asked = {"reason": self.masks.words(reason), "user": user, "path": path}
        return self.write("forget", lambda draw: decide.forget(self._state, name, draw, **asked), **asked)

    def invalidate(self, name: str, *, reason: str, user: str, path: str) -> list[Belief]:
        """Mark a belief as wrong; return what was weakened by it."""
        asked = {"reason": self.masks.words(reason), "user": user, "path": path}
        events = self.write("invalidate", lambda draw: decide.invalidate(self._state, name, draw, **asked), **asked)
        beliefs = [event.body["belief"] for event in events if event.body and "belief" in event.body]
        weakened = [belief["id"] for belief in beliefs if belief.get("status", "active") != "invalidated"]
        with self._folder.known() as known:
            return [held.belief() for version in weakened if (held := known.version(version))]

    def erase(self, names: Sequence[str], things: Sequence[tuple[str, str]] = (), *, user: str, path: str) -> None:
        """Destroy words: of beliefs and episodes, by their `names`, and of other `things`, each with what it is."""
        if not self.is_free(self.trust):
            self.record(lambda draw: self._judge_erasure(names, user, path, draw))

        def check() -> bool:
            return self.is_free(self.trust) or not self._judge_erasure(names, user, path, self._folder.draw())

        self._destroy(check, names, user, path, things)

    def restate(self, things: Sequence[tuple[str, str]], *, user: str) -> None:
        """Record what holds of things whose words are about to be erased: it, without them, or that it is gone."""
        for noun, name in things:
            self.must(NOUNS[noun], "erase", user=user, path=name if noun == "path" else "")
        if things:
            self._folder.ledger.write(lambda: [draft for words in self._words(things, user) for draft in words.first])

    def _words(self, things: Sequence[tuple[str, str]], user: str) -> list[Words]:
        return [words_of(self._state, noun, name, user) for noun, name in things]

    def write(self, kind: str, decision: Decision, *, trust: str = "", **asked: Any) -> list[Event]:
        """Record what `decision` comes to, if an action of that kind may do it. `asked` are fields of the action."""
        asker = self.asker(trust or None)

        def decided(draw: Draw) -> list[Draft]:
            return self._without_distrusted(decision(draw))

        def judged(draw: Draw) -> list[Draft]:
            drafts = decided(draw)
            if not drafts:  # what changes nothing needs no approval
                return []
            action = Action(kind=kind, target=targets(drafts), by=self.by, **asked, trust=asker)
            return self._judged(action, drafts, draw)

        if self.is_free(asker):
            with suppress(_PolicyChanged):
                return self._folder.ledger.write(lambda: self._freely(asker, decided), by=self.by)
        return self.record(judged)

    def _freely(self, trust: str, decision: Decision) -> list[Draft]:
        """The drafts of a program that may do anything. _PolicyChanged, if it may not any more."""
        policy = self.policy
        if trust not in self._free:
            raise _PolicyChanged
        draw = self._folder.draw()
        drafts = decision(draw)
        if any(draft.body.get("belief", {}).get("trust", "human") in policy.quarantined for draft in drafts):
            drafts = drafts + asking.quarantine(self._state, policy, drafts, self.by, draw)
            drafts = worth.explained(self._state, drafts)
        return Cleared(self.borne_out(drafts))

    # -- lifecycle actions -------------------------------------------------------------------------------------------

    def carry_out(self, action: Action, approval: Approval | None) -> list[Event]:
        """Do what an action says, if it may be done, or if `approval` covers it.

        The events; of an erasure, or the compaction of a page, only those of the approval: the caller does the rest, as
        it does after `approve`.
        """
        if self._is_anothers(action, approval):
            return self.record(lambda _: asking.refuse(self._state, action, "name"))
        if approval is None and (action.merged or (action.noun != "path" and not action.is_plain)):
            raise Refused("build an action with `memory.action`; this one was made by hand", "permission")
        asked = self.masked(action) if action.noun == BELIEF else action
        if approval is not None:
            now = self._folder.ledger.now
            return self.record(lambda draw: Cleared(review.apply(
                self._state, self.policy, asked, approval, draw, now(), carry=self._carried
            )))  # fmt: skip
        trust, echo = self.worth(asked.trust, asked.changes, asked.user, asked.path)
        if trust != asked.trust:  # what it repeats, or depends on, is trusted less than the one who asks
            changes = {**asked.changes, "trust": trust} if "trust" in asked.changes else asked.changes
            asked = replace(asked, trust=trust, changes=changes)
        return self.record(lambda draw: self._judge_action(asked, draw, echo))

    def act(self, build: Callable[[], Action]) -> list[Event]:
        """Do what an action says that is built under the lock, of the state there; or ask for approval."""
        return self.record(lambda draw: self._judge_action(build(), draw, NO_ECHO))

    def masked(self, action: Action) -> Action:
        """An action as it is recorded: without secrets."""
        changes = dict(action.changes)
        reason = self.masks.fields(changes, action.reason)
        is_same = (changes, reason) == (action.changes, action.reason)
        return action if is_same else replace(action, changes=changes, reason=reason)

    def _is_anothers(self, action: Action, approval: Approval | None) -> bool:
        """Whether a program acts in another's name. A person may carry out what was approved for a program."""
        if is_above(action.trust, self.trust):
            return True
        is_a_person = self.policy.usual("review.answer", self.trust) == ALLOW
        return action.by != self.by and (approval is None or not is_a_person)

    def _judge_action(self, action: Action, draw: Draw, echo: Echo) -> list[Draft]:
        if action.noun == "path":
            drafts = paths.carried_out(self._state, self.policy, action, draw, several=self.multi_valued())
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

    def _carried(self, action: Action, draw: Draw) -> list[Draft]:
        """The drafts that carry out an approved action. Moved, if it would come to something else by now."""
        if action.noun == "path":
            several = self.multi_valued()
            return paths.carried_out(self._state, self.policy, action, draw, several=several, is_approved=True)
        if action.noun not in (CHANGE, GRAPH):
            return carried_out(self._state, action, draw)
        drafts = self._drafts_of(action, draw)
        if action.noun == CHANGE and targets(drafts) != action.target:
            raise Moved("it would no longer undo what was requested")
        return drafts

    # -- undoing, and entities that are merged or split ----------------------------------------------------------------

    def act_on(
        self, noun: str, verb: str, changes: dict[str, Any], target: tuple[str, ...] = (), *, user: str,
        reason: str = "",
    ) -> list[Event]:  # fmt: skip
        """Undo a change, or merge or split entities, as `changes` and `target` say."""
        asked: dict[str, Any] = {"user": user, "reason": self.masks.words(reason), "by": self.by, "trust": self.trust}
        action = Action(kind=verb, noun=noun, changes=changes, target=target, **asked)

        def decided(draw: Draw) -> list[Draft]:
            drafts = self._drafts_of(action, draw)
            if self._without_distrusted(drafts) != drafts:
                raise Refused("a source that is distrusted said some of it; only a person can do this", "permission")
            return drafts

        def judged(draw: Draw) -> list[Draft]:
            drafts = decided(draw)
            return self._judged(replace(action, target=targets(drafts)) if noun == CHANGE else action, drafts, draw)

        if self.is_free(self.trust):
            with suppress(_PolicyChanged):
                return self._folder.ledger.write(lambda: self._freely(self.trust, decided), by=self.by)
        return self.record(judged)

    def _drafts_of(self, action: Action, draw: Draw) -> list[Draft]:
        state, user, asked = self._state, action.user, action.changes
        if action.noun == CHANGE:
            return undone(state, group_at(self._folder, asked["seq"], user), user, draw, reason=action.reason)
        event_at = events_of(self._folder)
        if action.kind == "split":
            return filing.split(state, user, asked["entity"], action.target, asked["to"], event_at, draw)
        named = {name: asked[name] for name in ("names", "score", "reasons")}
        return filing.merge(state, user, asked["node"], asked["into"], event_at, draw, named=named)

    # -- answering reviews -------------------------------------------------------------------------------------------

    def approve(self, name: str, digest: str, *, user: str, reason: str) -> list[Event]:
        """The approval, and what it allows; the first event is the answer. None for an erasure approved before."""
        how: dict[str, Any] = {"user": user, "reason": self.masks.words(reason)}
        return self._answer(name, user, lambda draw: review.approve(
            self._state, self.policy, name, digest, draw, carry=self._carried, **how
        ))  # fmt: skip

    def reject(self, name: str, *, user: str, reason: str) -> list[Event]:
        reason = self.masks.words(reason)
        return self._answer(name, user, lambda _: review.reject(self._state, name, user=user, reason=reason))

    def approve_episodes(self, source: str, *, user: str) -> list[Event]:
        """Let all quarantined episodes of a source be recalled."""
        self.must("review", "answer", user=user)
        if not self.policy.names(self.by):
            raise Refused(
                "only an approver named in the policy can approve a source; use `tallystick review`", "permission"
            )
        return self.record(lambda _: worth.approved_episodes(self._state, source, user=user))

    def withdraw(self, name: str, *, user: str, reason: str) -> list[Event]:
        """Take back a request for approval of this program."""
        reason = self.masks.words(reason)
        return self.record(lambda _: Cleared(review.withdraw(self._state, name, self.by, user=user, reason=reason)))

    def grant(self, name: str, digest: str, *, user: str, marker: str, expires: str) -> list[Event]:
        """The approval alone, to be carried out later."""
        how = {"user": user, "marker": marker, "expires": expires}
        now = self._folder.ledger.now
        return self._answer(name, user, lambda _: review.grant(self._state, name, digest, now=now(), **how))

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

        return self.record(judged)

    def finish_erasing(self, action: Action, *, was_approved: bool = True) -> None:
        """Destroy what an action names, which is approved or needs no approval, if it has not changed since."""
        draw = self._folder.draw()

        def check() -> bool:
            carried_out(self._state, action, draw)
            return was_approved or not review.judged(self._state, self.policy, action, [], draw)

        self._destroy(check, action.target, action.user, action.path)

    def may_fold(self, user: str, about: str, reason: str, rewrite: str | None) -> None:
        """NeedsApproval or NotApproved, if the policy asks for approval of the compaction of a page, or forbids it."""
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
        """NotApproved, if this program may not archive everything at once: it is judged for each belief."""
        if self.is_free(self.trust):
            return
        self.must("page", "clean", user=user)
        with self._folder.ledger.reading():
            held = [each.body() for each in self._state.of_user(user)]
            held = [body for body in held if body.get("status") != "tombstone"]
            every = [subject_of(body, standing(self._state, body["id"], user)) for body in held]
        target = tuple(body["id"] for body in held) or ("all",)
        action = Action(kind="forget", user=user, target=target, by=self.by, trust=self.trust)
        if held and gate(self.policy, action, every).kind != ALLOW:
            message = "the policy asks for approval of what would be put away; do it one by one instead"
            self.record(lambda _: asking.refuse(self._state, action, "refused", message=message))

    def _without_distrusted(self, drafts: list[Draft]) -> list[Draft]:
        """The drafts without those that change a statement of a distrusted source: to repeat it would free its words.

        Only a person does that, or the source itself. NotFound, if it was the first that was asked for.
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

    def _judge_erasure(self, names: Sequence[str], user: str, path: str, draw: Draw) -> list[Draft]:
        """The review that an erasure needs first, if it needs one."""
        decide.erase(self._state, names, user=user, path=path)  # every name is one of something
        going, happened = decide.what_goes(self._state, names, user=user, path=path)
        target = tuple(each.body()["id"] for each in going)
        if any(self._state.find(name, user=user, path=path) is None for name in names):  # not of beliefs alone
            episodes = [each for name in happened for each in self._state.episodes.named(user, name)]
            scopes = [
                thing("human", user, each.path)._replace(session=each.session, agent=each.agent) for each in episodes
            ]
            self.may("episode", "erase", *scopes, user=user, path=path)
        if not target:
            return []
        asked: dict[str, Any] = {"user": user, "path": path, "by": self.by, "trust": self.trust}
        return review.judged(self._state, self.policy, Action(kind="erase", target=target, **asked), [], draw)

    def _destroy(
        self, check: Callable[[], bool], names: Sequence[str], user: str, path: str,
        things: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """Destroy the words of all these. Moved, if `check` says under the lock that they are not what they were."""

        def choose() -> Any:
            is_same = check()
            ids, speaks = decide.erase(self._state, names, user=user, path=path)
            words = self._words(things, user)
            if not is_same or any(each.first for each in words):
                raise Moved("what was to be erased has changed; read it again and decide again")

            def has_words(event: Event) -> bool:
                found = [speaks(event), *(each.speak(event) for each in words)]  # each notes whose ids go
                return any(found)

            return chain(ids, *(each.ids for each in words)), has_words

        self._folder.ledger.erase(choose)
        self._erased()


def episode_subject(episode: Episode, trust: str) -> Subject:
    """What the rules of a policy see of an episode."""
    return thing(trust, episode.user, episode.path)._replace(session=episode.session, agent=episode.agent)


def _marked(drafts: list[Draft], echo: Echo) -> list[Draft]:
    """The drafts; beliefs that repeat something say so."""
    for draft in drafts if echo.ids else ():
        if "belief" in draft.body:
            draft.body["echo"] = list(echo.ids)
    return drafts

"""`m.reviews`: changes that need a person's approval, and the answers.

An answer is used once. An approval covers the action as it was shown: pass the `digest` that you showed, and anything
else is refused.

An action is built on the current state, so that it names exact versions. It is proposed, and happens at once or needs
approval; or it is applied, with an approval of exactly that action where the policy asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from os import urandom
from typing import Any

from tallystick.decide.actions import on_page, targets
from tallystick.decide.beliefs import invalidate, what_goes
from tallystick.decide.gate import Verdict, as_seen, gate, matrix
from tallystick.decide.paths import action_on, named
from tallystick.decide.trust import quarantined_episodes
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.services import Services
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.belief import Belief, texts
from tallystick.records.clock import parse_moment, stamp
from tallystick.records.errors import Busy, Moved, NeedsApproval, NotFound, Refused, Unfinished
from tallystick.records.event import Event
from tallystick.records.page import NOTES
from tallystick.records.path import MAIN
from tallystick.records.policy import BELIEF, Subject, kind_of, named_cell
from tallystick.records.review import Action, Answered, Applied, Approval, Review
from tallystick.stores.open_ledger import OpenLedger

Fold = Callable[[Action], None]
_AT_ONCE = 256  # answers about one source that are one group


@answering
class ReviewService:
    """The reviews of one user. `fold` carries out an approved compaction of a page."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str, fold: Fold) -> None:
        self._folder, self._gate, self._user, self._fold = folder, gate, user, fold

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
            entities = self._folder.entities_called(about, self._user) if about else ()
            return [
                review for review in self.waiting()
                if wanted in ("", review.action.kind, review.action.cell) and trust in ("", review.action.trust)
                and (not about or not self._abouts(review).isdisjoint(entities)) and source in ("", review.action.by)
            ]  # fmt: skip

    def _abouts(self, review: Review) -> set[str]:
        known, action = self._folder.state, review.action
        held = (known.find(version, user=self._user, short=False) for version in action.target)
        named = (action.changes.get(name, "") for name in ("about", "node", "into", "entity", "to"))
        return {*named, *(each.body().get("about", "") for each in held if each)}

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

    def grant(self, name: str, *, digest: str = "", expires: datetime | timedelta | str | None = None) -> Approval:
        """Approve a review, to be carried out by the holder of the marker (`memory.apply`), once, until it `expires`.

        The default is as long as the policy says. Another grant of the same review replaces this one, and so does any
        other answer.
        """
        asked, end, marker = self.get(name), self._end(expires), urandom(16).hex()
        [said] = self._gate.grant(asked.id, digest or asked.digest, user=self._user, marker=marker, expires=end)
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
            with self._gate.together() if "source" in which else nullcontext():
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
    return replace(asked, status=status, answered_by=said.by, answered_at=said.ts, reason=body.get("reason", ""))


_LISTS = ("evidence", "tags", "triple", "rests_on")


class ActionService:
    """Builds actions on the current state, proposes them and carries them out."""

    def __init__(self, services: Services) -> None:
        context = services.context
        self._services, self._context, self._folder, self._gate = services, context, context.folder, context.gate

    def reviews_of(self, user: str) -> ReviewService:
        return ReviewService(self._folder, self._gate, user, self._compact)

    def action(
        self, /, kind: str, *names: str, reason: str = "", trust: str | None = None, user: str | None = None,
        path: str = "", **changes: Any,
    ) -> Action:  # fmt: skip
        """An action on the current state. Nothing is done.

        `kind` is remember, revise (supersede), forget (archive), invalidate (retract), erase, trust, activate,
        reinforce, promote, merge or compact. `names` are beliefs, by key or id; to compact takes a page. `changes` are
        the new fields: all of `remember`, `weight` to reinforce, `confidence` to promote.

        `path.merge`, `path.abandon`, `path.compact` and `path.reopen` take a path's name; the fields are `into` and
        `conflicts` to merge, `summary` to compact.
        """
        whose = self._context.user_or_owner(user)
        if kind.startswith("path."):
            asker = self._gate.asker(trust)
            return self._on_a_path(kind.partition(".")[2], names, dict(changes), whose, reason, asker)
        meant = kind_of(kind)
        said = {name: texts(value, name) if name in _LISTS else value for name, value in changes.items()}
        asked: dict[str, Any] = {"kind": kind, "reason": reason, "by": self._gate.by, "user": whose, "path": path}
        asked["trust"] = self._gate.asker(trust)
        with self._folder.ledger.reading():
            if meant == "compact":
                return self._gate.masked(Action(**asked, target=self._page(names, whose), changes=said))
            if meant == "remember":
                return self._gate.masked(self._statement(asked, said, names))
            target = self._versions(meant, names, whose, path)
            if meant == "merge":
                if self._folder.outlet is not None:
                    self._folder.outlet.reader.must_read(target)
                from tallystick.memory.beliefs.duplicates import merged

                said = {**merged([self._folder.state.get(version, user=whose) for version in target]), **said}
            if meant == "invalidate" and target:  # it names what it would weaken too
                state, draw = self._folder.state, self._folder.draw()
                drafts = invalidate(state, target[0], draw, reason=reason, user=whose, path=path)
                target = targets(drafts) or target
            return self._gate.masked(Action(**asked, target=target, changes=said))

    def propose(self, action: Action) -> Applied | Review:
        """Do it, if the policy allows that; else return the review that is now pending, or was already.

        NotApproved, if the policy refuses it; Moved, if its subject has changed since the action was built.
        """
        try:
            return self.apply(action)
        except NeedsApproval as held:
            return self.reviews_of(action.user).get(held.review)

    def apply(self, action: Action, approval: Approval | None = None) -> Applied:
        """Carry an action out. One that needs approval takes an `approval` of exactly that action.

        Without one, NeedsApproval: it is pending in `reviews`. With one that is stale, expired, used, for another
        action, by someone the policy does not name, or not recorded here: NotApproved; only the attempt is recorded.
        """
        given: tuple[object, object] = (action, approval)
        if not isinstance(given[0], Action) or not isinstance(given[1], Approval | None):
            raise Refused("apply takes an action of `memory.action` and an approval of `reviews.grant`", "permission")
        events = self._gate.carry_out(action, approval)
        do_the_rest(self._gate, self._compact, action, was_approved=approval is not None)
        return Applied(action, tuple(events), approval.review if approval else "")

    def check_policy(
        self, kind: str, /, *, trust: str = "agent", source: str = "", stated: str = "human", **fields: Any
    ) -> Verdict:
        """The policy's verdict on an action: allow, quarantine, review or refuse; why; and which rule, by its number.

        `kind` is one of those of `action`, or a noun and a verb, such as `path.merge`; `matrix` lists them. `trust` and
        `source` are those of the program that asks, `stated` is the trust of what would be changed; `fields` are
        session, agent, path, about, kind, tags, confidence. Nothing is done.
        """
        cell, user = named_cell(kind), fields.pop("user", self._context.user)
        noun, _, verb = cell.rpartition(".")
        target = () if cell == "remember" else ("x",)
        asked: dict[str, Any] = {"trust": trust, "by": source or self._gate.by, "user": user, "target": target}
        action = Action(kind=verb if noun else kind, noun=noun or BELIEF, path=fields.get("path") or "x", **asked)
        fields["tags"] = texts(fields.get("tags", ()), "tags")
        return gate(self._gate.policy, action, [as_seen(cell, Subject(stated, user, **fields))])

    def matrix(self, /, *, source: str = "", stated: str = "human", **fields: Any) -> dict[str, dict[str, str]]:
        """The verdict on every verb and noun, for each trust: allow, quarantine, review or refuse.

        Rows are named like `path.merge`, those of beliefs by the verb alone. `source`, `stated` and `fields` are as for
        `check_policy`.
        """
        fields["tags"] = texts(fields.get("tags", ()), "tags")
        subject = Subject(stated, fields.pop("user", self._context.user), **fields)
        return matrix(self._gate.policy, subject, source or self._gate.by)

    def _on_a_path(
        self, verb: str, names: tuple[str, ...], said: dict[str, Any], user: str, reason: str, trust: str
    ) -> Action:
        if verb == "branch" or len(names) != 1:
            raise Refused("an action on a path takes one, to merge, abandon, compact or reopen", "unsupported")
        asked = {"user": user, "reason": self._gate.masks.words(reason), "by": self._gate.by, "trust": trust}
        if "summary" in said:
            said["summary"] = self._gate.masks.words(said["summary"])
        with self._folder.ledger.reading():
            several = self._gate.multi_valued()
            return action_on(self._folder.state, verb, named(self._folder.state, user, names[0]) or MAIN, said,
                             several=several, **asked)  # fmt: skip

    def _versions(self, meant: str, names: Iterable[str], user: str, path: str) -> tuple[str, ...]:
        known, named = self._folder.state, tuple(names)
        if meant not in ("erase", "merge", "reinforce") and len(named) > 1:
            raise Refused(f"an action to {meant} takes one belief; make one for each", "unsupported")
        if meant == "erase" and what_goes(known, named, user=user, path=path)[1]:
            raise Refused("an action erases beliefs; use `memory.erase` for episodes", "permission")
        held = [known.get(name, user=user, path=path) for name in named]
        return tuple(dict.fromkeys(each.body()["id"] for each in held))

    def _statement(self, asked: dict[str, Any], said: dict[str, Any], names: tuple[str, ...]) -> Action:
        """A new belief, or a new version under a known key. Its trust is the program's, or a lower one."""
        if names:
            raise Refused("name a statement by its key: action('remember', key=…, text=…)", "required")
        if not isinstance(said.get("text"), str) or not said["text"].strip():
            raise Refused("nothing to remember: text must not be empty", "required")
        fields = {**said, "user": asked["user"], "path": asked["path"], "trust": asked["trust"]}
        held = self._folder.state.find(said.get("key", ""), user=asked["user"], path=asked["path"], short=False)
        return Action(**asked, target=(held.body()["id"],) if held else (), changes=fields)

    def _page(self, names: tuple[str, ...], user: str) -> tuple[str, ...]:
        if len(names) != 1:
            raise Refused("an action to compact takes one page, such as person-ana", "unsupported")
        about = names[0].removesuffix(".md")
        target = on_page(self._folder.state, user, "" if about == NOTES else about)
        if not target:
            raise NotFound(f"no page about {about!r}; run `tallystick pages` to list them")
        return target

    def _compact(self, action: Action) -> None:
        """Compact the page that an action names."""
        first = self._folder.state.get(action.target[0], user=action.user)
        about = first.body().get("about", "") or NOTES
        folds = self._services.pages_of(self._context.user)._folds
        folds.carry_out(action.user, about, action.changes.get("rewrite"), action.reason)

"""Actions under the policy: built, proposed, applied.

An action is built on the current state, so that it names exact versions. It is proposed, and happens at once or needs
approval; or it is applied, with an approval of exactly that action where the policy asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tallystick.decide.actions import on_page, targets
from tallystick.decide.beliefs import invalidate, what_goes
from tallystick.decide.gate import Verdict, as_seen, gate, matrix
from tallystick.decide.paths import action_on, named
from tallystick.memory.reviews.reviews import ReviewService, do_the_rest
from tallystick.records.belief import texts
from tallystick.records.errors import NeedsApproval, NotFound, Refused
from tallystick.records.page import NOTES
from tallystick.records.path import MAIN
from tallystick.records.policy import BELIEF, Subject, kind_of, named_cell
from tallystick.records.review import Action, Applied, Approval, Review

if TYPE_CHECKING:
    from tallystick.memory.services import Services

_LISTS = ("evidence", "tags", "triple", "rests_on")


class ActionService:
    """Builds actions on the current state, proposes them and carries them out."""

    def __init__(self, services: Services) -> None:
        context = services.context
        self._services, self._context, self._folder, self._gate = services, context, context.folder, context.gate

    def reviews_of(self, user: str) -> ReviewService:
        """The reviews of a user."""
        return ReviewService(self._folder, self._gate, user, self._compact)

    def action(
        self,
        /,
        kind: str,
        *names: str,
        reason: str = "",
        trust: str | None = None,
        user: str | None = None,
        path: str = "",
        **changes: Any,
    ) -> Action:
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

    # -- inside ------------------------------------------------------------------------------------------------------

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
        from tallystick.memory.pages.compact import Compactor

        first = self._folder.state.get(action.target[0], user=action.user)
        about = first.body().get("about", "") or NOTES
        services, settings = self._services, self._context.settings
        sync = services.pages_of(self._context.user).sync
        folds = Compactor(self._folder, services.page_files, settings, sync)
        folds.carry_out(action.user, about, action.changes.get("rewrite"), action.reason)

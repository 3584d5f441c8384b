"""A program that speaks to a memory: who it is, how far it is trusted, and what the policy lets it do.

Every attempt that the policy does not let through leaves that it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepsake.decide import refusal, review
from keepsake.decide import trust as worth
from keepsake.decide.belief import Draw
from keepsake.decide.path_merge import Asker
from keepsake.memory.echo import NO_ECHO, Echo
from keepsake.memory.policy_file import PolicyFile
from keepsake.records.belief import TRUST
from keepsake.records.errors import NotApproved, Refused
from keepsake.records.event import Draft, Event
from keepsake.records.policy import ALLOW, RANK, REVIEW, Policy, Subject, is_above
from keepsake.records.review import Action
from keepsake.stores.shelf import Shelf

Decision = Callable[[Draw], list[Draft]]


class Speaker:
    """One program, which has one trust."""

    def __init__(self, shelf: Shelf, by: str, trust: str) -> None:
        if trust not in TRUST:
            raise Refused(f"trust {trust!r} is not known; it is one of {', '.join(TRUST)}")
        self.trust, self.by = trust, by
        self._shelf, self._book = shelf, shelf.book
        self._file = PolicyFile(shelf.ledger.folder.root / "keepsake.toml")
        self._policy: Policy | None = None
        self._free: frozenset[str] = frozenset()  # with which trusts this program is never asked anything
        self._attempts: list[dict[str, object]] = []  # what was refused in the batch that is open now
        self.echoes: Callable[[str, str], Echo] | None = None  # what a text of a user's repeats of what was served
        self.corroborators: Callable[[], int] = lambda: worth.CORROBORATORS

    # -- what it may do ----------------------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """The policy in force. Refused, if it cannot be read: nothing is written on a guess."""
        found = self._file.now()
        if found is not self._policy:
            self._policy, self._free = found, found.free_as(self.by)
        return found

    def is_free(self, trust: str) -> bool:
        """Whether this program is never asked anything when it speaks with that trust."""
        return bool(self.policy) and trust in self._free

    def may_set(self, what: str) -> None:
        """Refused, if this program may not decide how the memory works for everyone who uses it."""
        if self.policy.usual("answer", self.trust) != ALLOW:
            raise Refused(f"{what} are set by a person, and this program has the trust of {self.trust}")

    def may_clean(self) -> None:
        """Refused, if this program may not put everything away at once."""
        self.may_set("memories")
        if not self.is_free(self.trust):
            raise Refused("the policy asks for a yes to what a person does; put things away one by one instead")

    def may_settle(self, kind: str, user: str, path: str = "") -> None:
        """NotApproved, if a rule of the policy keeps this program from ending a path, or from judging a source.

        Where a rule asks for a yes, one whose yes counts may do it: doing it is the yes. Without a rule anybody may who
        could otherwise.
        """
        action = Action(kind=kind, user=user, path=path, target=("all",), by=self.by, trust=self.trust)
        first = self.policy.first(action.verb, self.trust, self.by, Subject(user=user, path=path))
        if first is None or first[1].then == ALLOW:
            return
        number, rule = first
        if rule.then != REVIEW:
            message = f"rule {number} of the policy lets nobody {kind} this"
            refusal.refuse(self._book, action, "refused", message=message)
        if self.policy.usual("answer", self.trust) != ALLOW or not self.policy.names(self.by):
            message = f"rule {number} of the policy lets nobody {kind} this but a person whose yes counts; ask one"
            refusal.refuse(self._book, action, "refused", message=message)

    def as_asker(self) -> Asker:
        """Who this program is, to the gate."""
        return Asker(self.by, self.trust, self.policy)

    def kept_out(self, drafts: list[Draft], draw: Draw) -> list[Draft]:
        """A question for each version in drafts that stays out of recall until a person says yes."""
        return review.quarantine(self._book, self.policy, drafts, self.by, draw)

    # -- with which trust it speaks ----------------------------------------------------------------------------------

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
        return drafts + worth.borne_out(self._book, drafts, self.by, self.corroborators)

    def worth(self, asker: str, text: object, grounds: Any, user: str, path: str) -> tuple[str, Echo]:
        """With which trust a program can say this: not above what it rests on or repeats. A person is judged later."""
        if asker == "human" or not isinstance(text, str):
            return asker, NO_ECHO
        echo = self.echo(text, user, asker)
        trusts = [asker, *filter(None, (echo.trust,))]
        if grounds:
            with self._shelf.ledger.reading():
                trusts.append(worth.weakest(self._book, grounds, user, path)[0])
        return min(trusts, key=RANK.__getitem__), echo

    # -- recording ---------------------------------------------------------------------------------------------------

    def record(self, decision: Decision) -> list[Event]:
        """Write what a decision comes to. One that is refused leaves that it was asked for."""
        try:
            return self._shelf.ledger.write(lambda: decision(self._shelf.draw()), by=self.by)
        except NotApproved as error:
            if self._shelf.ledger.in_batch():
                self._attempts.append(error.attempt)
            self.note(error.attempt)
            raise

    def note(self, attempt: dict[str, object]) -> None:
        ledger = self._shelf.ledger
        ledger.write(lambda: refusal.recorded(self._book, attempt, self.by, ledger.now()))

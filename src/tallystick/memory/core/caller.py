"""A program that speaks to a memory: who it is, how far it is trusted, and what the policy lets it do.

Every attempt that the policy does not let through leaves that it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tallystick.decide import review_request as refusal, trust as worth
from tallystick.decide.beliefs import Draw
from tallystick.decide.gate import Verdict, gate
from tallystick.decide.review_request import quarantine
from tallystick.decide.reviews import KEPT_OUT
from tallystick.memory.core.echo import NO_ECHO, Echo
from tallystick.memory.core.policy_file import PolicyFile
from tallystick.records.belief import OWNER, TRUST
from tallystick.records.episode import Episode
from tallystick.records.errors import NotApproved, Refused
from tallystick.records.event import Draft, Event
from tallystick.records.policy import QUARANTINE, RANK, REFUSE, Policy, Subject, is_above, thing
from tallystick.records.review import Action
from tallystick.stores.open_folder import OpenFolder

Decision = Callable[[Draw], list[Draft]]


class Caller:
    """One program, which has one trust."""

    def __init__(self, folder: OpenFolder, by: str, trust: str) -> None:
        if trust not in TRUST:
            raise Refused(f"trust {trust!r} is not known; it is one of {', '.join(TRUST)}")
        self.trust, self.by = trust, by
        self._folder, self._state = folder, folder.state
        self._file = PolicyFile(folder.ledger.folder.root / "tallystick.toml")
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

    def may(
        self, noun: str, verb: str, *subjects: Subject, user: str = OWNER, path: str = "", what: str = ""
    ) -> Verdict:
        """What the policy says to a verb on a noun that is no belief. NotApproved, if it says no; `what` is then told.

        For use where a decision is recorded; `must` is for anywhere else.
        """
        action = Action(kind=verb, noun=noun, user=user, path=path, by=self.by, trust=self.trust)
        verdict = gate(self.policy, action, subjects)
        if verdict.kind == REFUSE:
            refusal.refuse(self._state, action, "refused", message=": ".join(filter(None, (what, verdict.why))))
        return verdict

    def must(self, noun: str, verb: str, *subjects: Subject, user: str = OWNER, path: str = "") -> None:
        """NotApproved, if the policy does not let this program do that; then it is on record that it tried."""
        if self.is_free(self.trust):
            return
        try:
            self.may(noun, verb, *subjects, user=user, path=path)
        except NotApproved as error:
            self.attempted(error)
            raise

    def as_told(self, episode: Episode) -> Episode:
        """An episode as this program may record it, which may be out of recall. NotApproved, if it may not at all."""
        if self.is_free(episode.trust):
            return episode
        subject = episode_subject(episode, "")
        action = Action(
            kind="observe", noun="episode", user=episode.user, path=episode.path, by=self.by, trust=episode.trust
        )
        verdict = gate(self.policy, action, [subject])
        if verdict.kind == REFUSE:
            self.record(lambda _: refusal.refuse(self._state, action, "refused", message=verdict.why))
        is_kept_out = verdict.kind == QUARANTINE and episode.trust not in self.policy.quarantined
        return replace(episode, trust=KEPT_OUT) if is_kept_out else episode

    def kept_out(self, drafts: list[Draft], draw: Draw) -> list[Draft]:
        """A question for each version in drafts that stays out of recall until a person says yes."""
        return quarantine(self._state, self.policy, drafts, self.by, draw)

    # -- with which trust it speaks ----------------------------------------------------------------------------------

    def asker(self, trust: str | None) -> str:
        """With which trust something is said: this program's own, or a lower one that was named."""
        if trust is None:
            return self.trust
        if trust not in TRUST:
            raise Refused(f"trust {trust!r} is not known; it is one of {', '.join(TRUST)}")
        if is_above(trust, self.trust):
            raise Refused(f"trust {trust} cannot be claimed by a program that has only {self.trust}", "permission")
        return trust

    def echo(self, text: str, user: str, trust: str) -> Echo:
        """What a text repeats of what recall served. A person's own words repeat nothing."""
        return NO_ECHO if trust == "human" or self.echoes is None else self.echoes(text, user)

    def borne_out(self, drafts: list[Draft]) -> list[Draft]:
        """The drafts, and what is in doubt and is confirmed by them."""
        return drafts + worth.borne_out(self._state, drafts, self.by, self.corroborators)

    def worth(self, asker: str, text: object, grounds: Any, user: str, path: str) -> tuple[str, Echo]:
        """With which trust a program can say this: not above what it rests on or repeats. A person is judged later."""
        if asker == "human" or not isinstance(text, str):
            return asker, NO_ECHO
        echo = self.echo(text, user, asker)
        trusts = [asker, *filter(None, (echo.trust,))]
        if grounds:
            with self._folder.ledger.reading():
                trusts.append(worth.weakest(self._state, grounds, user, path)[0])
        return min(trusts, key=RANK.__getitem__), echo

    # -- recording ---------------------------------------------------------------------------------------------------

    def record(self, decision: Decision) -> list[Event]:
        """Write what a decision comes to. One that is refused leaves that it was asked for."""
        try:
            return self._folder.ledger.write(lambda: decision(self._folder.draw()), by=self.by)
        except NotApproved as error:
            self.attempted(error)
            raise

    def attempted(self, error: NotApproved) -> None:
        """Put on record that something was tried. If a batch is open and is taken back, it is recorded after that."""
        if self._folder.ledger.in_batch():
            self._attempts.append(error.attempt)
        self.note(error.attempt)

    def note(self, attempt: dict[str, object]) -> None:
        ledger = self._folder.ledger
        ledger.write(lambda: refusal.recorded(self._state, attempt, self.by, ledger.now()))


def episode_subject(episode: Episode, trust: str) -> Subject:
    """What rules look at of something that happened."""
    return thing(trust, episode.user, episode.path)._replace(session=episode.session, agent=episode.agent)

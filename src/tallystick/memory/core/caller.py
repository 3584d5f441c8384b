"""A program that speaks to a memory: who it is, how far it is trusted, and what the policy lets it do.

Every attempt that the policy does not let through leaves that it was made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tallystick.decide import review_request as refusal, trust as worth
from tallystick.decide.beliefs import Draw
from tallystick.decide.gate import Verdict, gate
from tallystick.decide.review_request import quarantine
from tallystick.decide.reviews import KEPT_OUT
from tallystick.ledger.settings_file import brief, read_toml
from tallystick.memory.core.echo import NO_ECHO, Echo
from tallystick.records.belief import OWNER, TRUST
from tallystick.records.episode import Episode
from tallystick.records.errors import NotApproved, Refused
from tallystick.records.event import Draft, Event
from tallystick.records.policy import A_WEEK, DEFAULT, QUARANTINE, RANK, REFUSE, Policy, Rule, Subject, is_above, thing
from tallystick.records.review import Action
from tallystick.stores.open_folder import OpenFolder

Decision = Callable[[Draw], list[Draft]]
Echoes = Callable[[str, str], Echo]  # what a text of a user's repeats of what was served


class Caller:
    """One program, which has one trust."""

    def __init__(
        self, folder: OpenFolder, by: str, trust: str, echoes: Echoes, corroborators: Callable[[], int]
    ) -> None:
        if trust not in TRUST:
            raise Refused(f"unknown trust {trust!r}; use one of {', '.join(TRUST)}")
        self.trust, self.by = trust, by
        self._folder, self._state = folder, folder.state
        self._file = PolicyFile(folder.ledger.folder.root / "tallystick.toml")
        self._policy: Policy | None = None
        self._free: frozenset[str] = frozenset()  # with which trusts this program is never asked anything
        self._attempts: list[dict[str, object]] = []  # what was refused in the batch that is open now
        self._echoes, self._corroborators = echoes, corroborators

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
            raise Refused(f"unknown trust {trust!r}; use one of {', '.join(TRUST)}")
        if is_above(trust, self.trust):
            raise Refused(f"trust {trust} cannot be claimed by a program with trust {self.trust}", "permission")
        return trust

    def echo(self, text: str, user: str, trust: str) -> Echo:
        """What a text repeats of what recall served. A person's own words repeat nothing."""
        return NO_ECHO if trust == "human" else self._echoes(text, user)

    def borne_out(self, drafts: list[Draft]) -> list[Draft]:
        """The drafts, and what is in doubt and is confirmed by them."""
        return drafts + worth.borne_out(self._state, drafts, self.by, self._corroborators)

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


# -- the policy in `tallystick.toml`: which actions need a person's yes, whose yes counts, and how long o --------------


_SPAN = re.compile(r"([1-9]\d{0,5}) ?([mhdw])\Z")
_LONGEST = timedelta(days=3660)
_LONG_NAME = 40
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_KNOWN = ("approvers", "expires", "rules", "corroborate", "keep_secrets")  # the last two are read with the settings
_NAMES = tuple(each.name for each in fields(Rule) if each.name not in ("then", "confidence"))
_LAW = Mapping[str, Any]


class PolicyFile:
    """The policy of one folder, as it is now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] | None = ()  # of the file when it was read last; None: there was none
        self._policy, self._error = DEFAULT, ""

    def now(self) -> Policy:
        """The policy in force. Refused, with the way out, if it cannot be read."""
        seen = self._look()
        if seen != self._seen:
            self._error = ""
            try:
                self._policy = DEFAULT if seen is None else read_policy(self._path)
            except Refused as error:
                self._error = str(error)
            self._seen = seen
        if self._error:
            raise Refused(self._error, "file")
        return self._policy

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        except OSError:
            return (-1,)  # it cannot even be looked at; reading it tells why
        return found.st_ino, found.st_mtime_ns, found.st_size


def read_policy(path: Path) -> Policy:
    """The policy that a file states."""
    try:
        raw = read_toml(path) or {}
    except ValueError as error:
        raise Refused(f"{path} cannot be read: {error}; fix it: until then nothing is written", "file") from None
    try:
        return parse(raw.get("policy", {}))
    except Refused as error:
        raise Refused(f"{path}: {error}; fix it: until then nothing is written", error.code) from None


def parse(law: object) -> Policy:
    """The policy of a table as TOML has it. Refused, with the key that is wrong."""
    if not isinstance(law, dict):
        raise Refused("[policy] must be a section, in brackets on its own line", "file")
    _only(law, _KNOWN, "policy")
    rules = law.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise Refused("policy.rules must be sections, each under [[policy.rules]]", "file")
    return Policy(
        DEFAULT.table,
        tuple(_rule(rule, f"policy.rules[{number}]") for number, rule in enumerate(rules, 1)),
        _texts(law["approvers"], "policy.approvers") if "approvers" in law else (),
        _span(law.get("expires"), "policy.expires"),
    )


def _rule(said: _LAW, where: str) -> Rule:
    _only(said, (*_NAMES, "then", "confidence"), where)
    if not isinstance(said.get("then"), str):
        raise Refused(f'{where}.then must be "allow", "review", "refuse" or "quarantine"', "file")
    found: dict[str, Any] = {name: _texts(said[name], f"{where}.{name}") for name in _NAMES if name in said}
    if "confidence" in said:
        found["confidence"] = _range(said["confidence"], f"{where}.confidence")
    try:
        return Rule(then=said["then"], **found)
    except Refused as error:
        raise Refused(f"{where}: {error}", error.code) from None


def _only(said: _LAW, known: tuple[str, ...], where: str) -> None:
    for name in said:
        if name not in known:
            shown = name if name.isidentifier() and len(name) < _LONG_NAME else brief(name)
            raise Refused(f"unknown {where}.{shown}; use one of {', '.join(known)}", "file")


def _texts(value: object, where: str) -> tuple[str, ...]:
    """One text, or a list of at least one."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
        raise Refused(f"{where} must be a string or a list of strings, not {brief(value)}", "file")
    return tuple(found)


def _range(value: object, where: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2 or any(type(each) not in (int, float) for each in value):
        raise Refused(f"{where} must be two numbers, such as [0.0, 0.5], not {brief(value)}", "file")
    try:
        return float(value[0]), float(value[1])
    except OverflowError:
        raise Refused(f"{where} must be two numbers from 0 to 1", "file") from None


def _span(value: object, where: str) -> timedelta:
    if value is None:
        return A_WEEK
    found = _SPAN.match(value) if isinstance(value, str) else None
    if found is None:
        raise Refused(f'{where} must be a duration such as "30m", "12h", "7d" or "2w", not {brief(value)}', "file")
    span = int(found[1]) * _UNITS[found[2]]
    if span > _LONGEST:
        raise Refused(f"{where} must be at most ten years, not {brief(value)}", "file")
    return span

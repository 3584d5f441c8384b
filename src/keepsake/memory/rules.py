"""`m.rules`: consolidation rules that run by themselves, and what became of them.

A rule is kept in the ledger, so that whoever opens the memory runs the same ones. Nothing runs unasked: a process that
owns the memory runs what is due, or a crontab with `keepsake consolidate --due`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepsake.consolidate.cadence import Cadence, is_due, next_after
from keepsake.consolidate.filter import parse
from keepsake.decide import rule as decide
from keepsake.memory.consolidation import Consolidated, ConsolidationOf
from keepsake.memory.episodes import EpisodesOf
from keepsake.memory.gated import Gated
from keepsake.records.clock import stamp
from keepsake.records.errors import NotFound
from keepsake.records.rule import ConsolidationRule
from keepsake.records.rules import Finding, Kept, Mark
from keepsake.stores.shelf import Shelf


@dataclass(frozen=True, slots=True)
class RuleStatus:
    """A rule, and how far it has come."""

    rule: ConsolidationRule
    user: str
    waiting: int  # episodes that it has not considered
    last: str  # when it last ran
    next: str  # when the clock makes it due, if it goes by the clock
    is_due: bool
    runs: int
    considered: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule.to_dict(), "user": self.user, "waiting": self.waiting, "last": self.last,
            "next": self.next, "is_due": self.is_due, "runs": self.runs, "considered": self.considered,
        }  # fmt: skip


class RulesOf:
    """The rules of one user."""

    def __init__(
        self, shelf: Shelf, gated: Gated, episodes: EpisodesOf, at_work: ConsolidationOf, user: str
    ) -> None:
        self._shelf, self._gated, self._episodes = shelf, gated, episodes
        self._at_work, self._user = at_work, user

    def put(self, rule: ConsolidationRule, *, user: str | None = None) -> ConsolidationRule:
        """Keep a rule. One that cannot be read is refused now, not when it is due. Its mark stays when it changes."""
        self._gated.may_set("rules")
        Cadence.of(rule.cadence)
        parse(rule.when_filter, columns=self._episodes.columns())
        self._shelf.ledger.write(lambda: decide.put(self._shelf.book.rules, rule, self._of(user)))
        return rule

    def drop(self, name: str, *, user: str | None = None) -> None:
        """Give up a rule. What it made stands."""
        self._gated.may_set("rules")
        self._shelf.ledger.write(lambda: decide.drop(self._shelf.book.rules, name, self._of(user)))

    def get(self, name: str, *, user: str | None = None) -> ConsolidationRule:
        with self._shelf.ledger.reading():
            kept = self._shelf.book.rules.find(self._of(user), name)
        if kept is None:
            raise NotFound(f"there is no rule {name!r}; `keepsake consolidate --list` shows those that there are")
        return kept.rule

    def all(self, *, user: str | None = None, everyone: bool = False) -> list[RuleStatus]:
        """The rules, in the order of their ids, and how far each has come; `everyone`'s, for whoever runs them all."""
        now = datetime.fromisoformat(self._shelf.ledger.now())
        with self._shelf.ledger.reading():
            book = self._shelf.book
            kept = book.rules.kept(None if everyone else self._of(user))
            return [
                _status(each, whose, book.rules.mark(whose, each.body["id"]), book.episodes.ever_told(whose), now)
                for whose, each in kept
            ]

    def findings(self, *, user: str | None = None) -> list[Finding]:
        """The episodes that rules could make nothing of, and why, oldest first."""
        with self._shelf.ledger.reading():
            return list(self._shelf.book.rules.findings(self._of(user)))

    def run_due(
        self, *, everyone: bool = False, told: Callable[[Consolidated], None] | None = None, **how: Any
    ) -> list[Consolidated]:
        """Run what is due, each rule over its own user's episodes; `told` hears of each as it ends."""
        came_to = []
        for status in self.all(everyone=everyone):
            if status.is_due:
                came_to.append(self._at_work.run(status.rule, user=status.user, **how))
                if told:
                    told(came_to[-1])
        return came_to

    def _of(self, user: str | None) -> str:
        return self._user if user is None else user

    def __iter__(self) -> Iterator[ConsolidationRule]:
        return iter([status.rule for status in self.all()])

    def __len__(self) -> int:
        return len(self.all())


def _status(kept: Kept, user: str, mark: Mark, ever_told: int, now: datetime) -> RuleStatus:
    rule = kept.rule
    cadence, waiting = Cadence.of(rule.cadence), ever_told - mark.told
    last = datetime.fromisoformat(mark.at) if mark.at else None
    put = datetime.fromisoformat(kept.at)
    due = is_due(cadence, waiting=waiting, last=last, now=now, since=put)
    comes = next_after(cadence, max(last or put, put))
    return RuleStatus(
        rule, user, waiting, mark.at, stamp(comes) if comes else "", due, mark.runs, mark.considered
    )  # fmt: skip

"""`m.rules`: consolidation rules that run by themselves, and what became of them.

A rule is kept in the ledger, so that whoever opens the memory runs the same ones. Nothing runs unasked: a process that
owns the memory runs what is due, or a crontab with `tallystick consolidate --due`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tallystick.consolidate.cadence import Cadence, is_due, next_after
from tallystick.consolidate.filter import parse
from tallystick.decide import rules as decide
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.clock import stamp
from tallystick.records.display import display_lists
from tallystick.records.errors import NotFound, TallystickError
from tallystick.records.rule import Consolidated, ConsolidationRule, Finding, RuleStatus
from tallystick.state.rules import Kept, Mark
from tallystick.state.state import State

if TYPE_CHECKING:
    from tallystick.consolidate.scoring import SalienceScorer
    from tallystick.memory.core.context import Context
    from tallystick.memory.episodes.store import EpisodeStore
    from tallystick.memory.facts.consolidate import ConsolidationService
    from tallystick.records.rule import Extractor


@answering
@display_lists
class RuleStore:
    """The rules of one user."""

    def __init__(self, context: Context, episodes: EpisodeStore, consolidation: ConsolidationService) -> None:
        self._folder, self._gate = context.folder, context.gate
        self._episodes, self._consolidation, self._of = episodes, consolidation, context.user_or_owner

    def put(self, rule: ConsolidationRule, *, user: str | None = None) -> ConsolidationRule:
        """Keep a rule. One that makes no sense is refused now, not when it is due. Its mark stays when it changes."""
        self._gate.must("rule", "set", user=self._of(user))
        Cadence.of(rule.cadence)
        parse(rule.when_filter, columns=self._episodes.columns())
        self._folder.ledger.write(lambda: decide.put(self._folder.state.rules, rule, self._of(user)))
        return rule

    def drop(self, name: str, *, user: str | None = None) -> None:
        """Drop a rule. The facts it made stay."""
        self._gate.must("rule", "drop", user=self._of(user))
        self._folder.ledger.write(lambda: decide.drop(self._folder.state.rules, name, self._of(user)))

    def get(self, name: str, *, user: str | None = None) -> ConsolidationRule:
        with self._folder.ledger.reading():
            kept = self._folder.state.rules.find(self._of(user), name)
        if kept is None:
            raise NotFound(f"no rule named {name!r}; run `tallystick consolidate --list` to list them")
        return kept.rule

    def all(self, *, user: str | None = None, everyone: bool = False) -> list[RuleStatus]:
        """The rules, in the order of their ids, and how far each has come; `everyone`'s, for whoever runs them all."""
        now = datetime.fromisoformat(self._folder.ledger.now())
        with self._folder.ledger.reading():
            state = self._folder.state
            kept = state.rules.kept(None if everyone else self._of(user))
            marks = [state.rules.mark(whose, each.body["id"]) for whose, each in kept]
            waiting = [_waiting(state, whose, mark) for (whose, _), mark in zip(kept, marks, strict=True)]
        found = zip(kept, marks, waiting, strict=True)
        return [self._status(each, whose, mark, many, now) for (whose, each), mark, many in found]

    def _status(self, kept: Kept, user: str, mark: Mark, waiting: int, now: datetime) -> RuleStatus:
        """A cron counts from the first waiting episode, by times that are trusted."""
        cadence, times, first = Cadence.of(kept.rule.cadence), self._folder.ledger.standing.times, ""
        if cadence.cron and waiting:
            first = next((each.recorded for each in self._episodes.since(mark.through + 1, user=user)), "")
        last = datetime.fromisoformat(times.at(mark.seq, mark.at)) if mark.at else None
        since = datetime.fromisoformat(max(times.at(kept.seq, kept.at), first))
        due = is_due(cadence, waiting=waiting, last=last, now=now, since=since)
        comes = next_after(cadence, max(last or since, since))
        return RuleStatus(
            kept.rule, user, waiting, mark.at, stamp(comes) if comes else "", due, mark.runs, mark.considered
        )  # fmt: skip

    def waiting(self, name: str, *, user: str | None = None) -> int:
        """How many episodes a rule has not considered, whether it is kept or only ever run when asked."""
        with self._folder.ledger.reading():
            state, whose = self._folder.state, self._of(user)
            return _waiting(state, whose, state.rules.mark(whose, name))

    def findings(self, *, user: str | None = None) -> list[Finding]:
        """The episodes that rules made nothing of, and why, oldest first."""
        with self._folder.ledger.reading():
            return list(self._folder.state.rules.findings(self._of(user)))

    def run_due(
        self,
        *,
        everyone: bool = False,
        notify: Callable[[Consolidated], None] | None = None,
        extractor: Extractor | str | None = None,
        salience: SalienceScorer | None = None,
    ) -> list[Consolidated]:
        """Run what is due, each rule on its own user's episodes; `notify` is called with each result.

        An error of one rule is raised when the others have run.
        """
        came_to, wrong = list[Consolidated](), list[TallystickError]()
        for status in self.all(everyone=everyone):
            if status.is_due:
                how: dict[str, Any] = {"user": status.user, "extractor": extractor, "salience": salience}
                try:
                    came_to.append(self._consolidation.run(status.rule, **how))
                except TallystickError as error:
                    wrong.append(error)
                    continue
                if notify:
                    notify(came_to[-1])
        if wrong:
            raise wrong[0]
        return came_to

    def __iter__(self) -> Iterator[ConsolidationRule]:
        return iter([status.rule for status in self.all()])

    def __len__(self) -> int:
        return len(self.all())


def _waiting(state: State, user: str, mark: Mark) -> int:
    """How many episodes a rule has not considered, on every open path."""
    return state.episodes.waiting(user, mark.through, lambda path: state.paths.home(user, path) is not None)

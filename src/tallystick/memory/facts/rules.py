"""`m.rules`: consolidation rules that run by themselves, and what became of them.

A rule is kept in the ledger, so that whoever opens the memory runs the same ones. Nothing runs unasked: a process that
owns the memory runs what is due, or a crontab with `tallystick consolidate --due`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.consolidate.cadence import Cadence, is_due, next_after
from tallystick.consolidate.filter import parse as parse_filter
from tallystick.decide import rules as decide
from tallystick.memory.core.yaml import Node, Wrong, parse as parse_yaml, plain, read_text
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.clock import stamp
from tallystick.records.errors import ConsolidationRuleError, NotFound, TallystickError
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
class RuleStore:
    """The rules of one user."""

    def __init__(self, context: Context, episodes: EpisodeStore, consolidation: ConsolidationService) -> None:
        self._folder, self._gate = context.folder, context.gate
        self._episodes, self._consolidation, self._of = episodes, consolidation, context.user_or_owner

    def put(self, rule: ConsolidationRule, *, user: str | None = None) -> ConsolidationRule:
        """Keep a rule. One that makes no sense is refused now, not when it is due. Its mark stays when it changes."""
        self._gate.must("rule", "set", user=self._of(user))
        Cadence.of(rule.cadence)
        parse_filter(rule.when_filter, columns=self._episodes.columns())
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
        self, *, everyone: bool = False, notify: Callable[[Consolidated], None] | None = None,
        extractor: Extractor | str | None = None, salience: SalienceScorer | None = None,
    ) -> list[Consolidated]:  # fmt: skip
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


# -- a file of consolidation rules: YAML, of which JSON is a part ------------------------------------------------------

_FORM = "a rule is a mapping: `id: …`, and below it `when_filter: …`"
_MOST_DIGITS = 9  # of a count; more are no count, and slow to read


class FilterError(ConsolidationRuleError):
    """A filter in a file that makes no sense: `filter` is all of it, `at` the character."""

    def __init__(self, message: str, at: int | None, filter: str) -> None:
        super().__init__(message, at)
        self.filter = filter


def read_rules(path: Path, *, columns: Iterable[str] = ()) -> list[ConsolidationRule]:
    """The rules of a file. `columns` are what filters may name besides the documented ones.

        id: people
        cadence: {every: 20}
        when_filter: timestamp >= '2026-01-01' AND content LIKE '%Ana%'
        then_emits: [people]

    Or a list of such rules, or a mapping whose `rules:` is that list. See `core/yaml` for what is refused. A rule that
    cannot be run is refused here, with its line: so nothing of a file is done if one of its rules is wrong.
    """
    text = read_text(path, of="rules", told_by="consolidate")
    known = tuple(columns)
    try:
        return list(_rules(parse_yaml(text), known))
    except Wrong as wrong:
        where, what = f"{path}, line {wrong.line}", wrong.args[0]
        if isinstance(what, FilterError):
            raise FilterError(f"{where}: {what}", what.at, what.filter) from None
        raise ConsolidationRuleError(f"{where}: {what}") from None


def _rules(top: Node, columns: tuple[str, ...]) -> Iterator[ConsolidationRule]:
    seen: set[str] = set()
    for node in _listed(top):
        rule = _rule(node, columns)
        if rule.id in seen:
            raise Wrong(node.line, f"two rules are called {rule.id[:40]!r}; give each its own id")
        seen.add(rule.id)
        yield rule


def _listed(top: Node) -> list[Node]:
    if isinstance(top.value, dict):
        if "rules" not in top.value:
            return [top]
        if len(top.value) > 1:
            other = next(name for name in top.value if name != "rules")
            raise Wrong(top.value[other].line, f"{other[:40]!r} is next to `rules:`; put it into a rule")
        top = top.value["rules"]
    if not isinstance(top.value, list):
        raise Wrong(top.line, _FORM)
    if not top.value:
        raise Wrong(top.line, f"no rules; {_FORM}")
    return top.value


def _rule(node: Node, columns: tuple[str, ...]) -> ConsolidationRule:
    if not isinstance(node.value, dict):
        raise Wrong(node.line, _FORM)
    fields: dict[str, Any] = {}
    for name, value in node.value.items():
        fields[name] = _READ.get(name, plain)(value)
        with _on(value.line):
            alone = ConsolidationRule.from_dict({"id": "one", name: fields[name]})
            Cadence.of(alone.cadence)
            try:
                parse_filter(alone.when_filter, columns=columns)
            except ConsolidationRuleError as error:
                raise FilterError(str(error), error.at, alone.when_filter) from None
    with _on(node.line):
        return ConsolidationRule.from_dict(fields)


@contextmanager
def _on(line: int) -> Iterator[None]:
    """Errors of the block name that line."""
    try:
        yield
    except ConsolidationRuleError as error:
        raise Wrong(line, error) from None


def _cadence(node: Node) -> Any:
    """The cadence; a count is a number, and nothing is no cadence."""
    if node.value == "":
        return {}
    said = plain(node)
    if isinstance(said, dict) and isinstance(every := said.get("every"), str):
        digits = every.strip()
        if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
            said["every"] = int(digits)
    return said


def _channels(node: Node) -> Any:
    """A list of names; one alone needs no brackets."""
    said = plain(node)
    return said if not isinstance(said, str) else [said] if said else []


_READ = {"cadence": _cadence, "then_emits": _channels}

"""The part of `Memory` that learns: facts out of episodes, by rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tallystick.memory.context import MemoryBase

if TYPE_CHECKING:
    from tallystick.consolidate.scoring import SalienceScorer
    from tallystick.memory.facts.consolidate import ConsolidationService
    from tallystick.memory.facts.rules import RuleStore
    from tallystick.memory.facts.store import FactService
    from tallystick.records.extraction import Extractor
    from tallystick.records.progress import Progress
    from tallystick.records.rule import Consolidated, ConsolidationRule


class ConsolidateVerbs(MemoryBase):
    """What episodes teach. `Memory` is one."""

    @cached_property
    def facts(self) -> FactService:
        """Beliefs with subject, predicate and object, and where they come from."""
        from tallystick.memory.facts.store import FactService

        return FactService(
            self._folder, self._gate, self._episodes, self.user, self._several, lambda: self._index
        )  # fmt: skip

    @cached_property
    def rules(self) -> RuleStore:
        """Consolidation rules that run by themselves."""
        from tallystick.memory.facts.rules import RuleStore

        return RuleStore(self._folder, self._gate, self._episodes, self._at_work, self.user)

    def consolidate(
        self,
        rule: ConsolidationRule,
        *,
        since_last: bool = True,
        extractor: Extractor | str | None = None,
        salience: SalienceScorer | None = None,
        user: str | None = None,
        on_progress: Progress | None = None,
    ) -> Consolidated:
        """Make facts of what was told since the rule last ran; with `since_last=False`, of everything again.

        What an episode's metadata states (`intent, replaces, subject, predicate, object`) goes first; an `extractor`
        reads the rest from its words: one of yours, `"english"`, `"none"`, or a server's address and model. `salience`
        says what is worth it. Each portion is applied whole or not at all. Doing it again changes nothing.
        """
        how = self._how(extractor, salience)
        return self._at_work.run(rule, user=self._user(user), since_last=since_last, on_progress=on_progress, **how)

    def run_due(
        self,
        *,
        everyone: bool = False,
        extractor: Extractor | str | None = None,
        salience: SalienceScorer | None = None,
        told: Callable[[Consolidated], None] | None = None,
    ) -> list[Consolidated]:
        """Run the rules that are due: this user's, or `everyone`'s, each over its own user's episodes."""
        return self.rules.run_due(everyone=everyone, told=told, **self._how(extractor, salience))

    @cached_property
    def _at_work(self) -> ConsolidationService:
        from tallystick.memory.facts.consolidate import ConsolidationService

        return ConsolidationService(self._folder, self._gate, self._episodes, self.facts, self._index, self._several)

    @cached_property
    def _several(self) -> frozenset[str]:
        """The predicates of which more than one object may hold."""
        from tallystick.consolidate.english import MULTI_VALUED
        from tallystick.memory.settings import read_settings

        several: frozenset[str] = MULTI_VALUED
        return several.union(read_settings(self.folder).several)

    def _how(self, extractor: Extractor | str | None, salience: SalienceScorer | None) -> dict[str, Any]:
        """How a rule is run, from what the caller says and what the settings say."""
        from tallystick.consolidate.scoring import UsualSalience
        from tallystick.memory.facts.extractor import extractor_of

        return {"reader": extractor_of(extractor, self.folder), "scorer": salience or UsualSalience()}

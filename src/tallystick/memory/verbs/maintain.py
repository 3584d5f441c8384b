"""The part of `Memory` that tends what was said: receipts, outcomes, relations, fading, tidying, copies, indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.ledger.backup import back_up
from tallystick.memory import settings
from tallystick.memory.recall.feedback import FeedbackService
from tallystick.memory.recall.receipts import ReceiptStore
from tallystick.memory.verbs.audit import AuditVerbs
from tallystick.memory.verbs.consolidate import ConsolidateVerbs

if TYPE_CHECKING:
    from tallystick.memory.maintenance.tidy import TidyService


class MaintainVerbs(ConsolidateVerbs, AuditVerbs):
    """What becomes of memories after they were said. `Memory` is one."""

    @cached_property
    def receipts(self) -> ReceiptStore:
        """What was recalled, and from which state of the ledger."""
        return ReceiptStore(self._folder, self._gate, self.user, self._tell)

    @cached_property
    def tidy(self) -> TidyService:
        """What may leave sight: proposed, and never done by itself."""
        from tallystick.memory.maintenance.tidy import TidyService
        from tallystick.memory.pages.dormancy import Dormancy

        pages = Dormancy(self._folder, self._gate, self._pages_at, self._settings)
        return TidyService(self._folder, self._gate, self._index, self._use, self.user, pages)

    @cached_property
    def _use(self) -> FeedbackService:
        return FeedbackService(self._folder, self._gate, self.receipts, self.user)

    def outcome(
        self,
        names: Iterable[str] = (),
        signal: float = 1.0,
        *,
        weight: float = 1.0,
        receipt: str = "",
        reason: str = "",
        user: str | None = None,
        path: str = "",
    ) -> list[str]:
        """Say what came of using memories: 1 if they helped, 0 if they misled. Returns the ids that it counts for.

        They are named by key or id, or by the `receipt` of the recall that served them. On a `path`, be it the
        receipt's, it counts there alone, until the path is merged.
        """
        return self._use.outcome(names, signal, weight=weight, receipt=receipt, reason=reason, user=user, path=path)

    def relate(self, one: str, other: str, relation: str, *, user: str | None = None, path: str = "") -> bool:
        """Say how two memories are related, each named by key or id: `relate("outage", "cause", "was caused by")`.

        Recall then serves the one behind what answers, where the other answers. It outlives a revision of either. Said
        again it replaces the words, and an empty `relation` takes it back. Returns whether that is news.
        """
        return self._use.relate(one, other, relation, user=user, path=path)

    def archive(self, *names: str, reason: str = "", user: str | None = None) -> list[str]:
        """Put episodes out of recall; what happened stays in history. Returns the ids of those that went."""
        return self._use.archive(names, reason=reason, user=user)

    def backup(self, to: str | Path | None = None) -> Path:
        """Make a checked copy under `backup/` (or under `to`) and return its place."""
        self._gate.must("ledger", "backup")
        return back_up(self._folder.ledger, settings.place_of(to) if to else None)

    def rebuild_index(self, *, pages: bool = True, on_progress: Callable[[int], None] | None = None) -> int:
        """Make the index anew from the ledger; return how many events it was made from. Readers keep the old one.

        What was edited on pages is taken in first, and their tables are made anew too, unless `pages` is false. So are
        those of the graph, if there are any.
        """
        self._graph_at.rebuild()
        if pages and self._folder.ledger.writable:
            self.pages.rebuild()
        self._audit_file.rebuild()
        return self._index.rebuild(on_progress).seq + 1

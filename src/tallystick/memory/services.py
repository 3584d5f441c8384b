"""`Services`: the parts of an open memory that several of its concepts use, and what follows every write.

After a write follow the index, the pages, the audit file and the graph; after an erasure, everything that held the
words. What a program may never use is made on first use.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.memory.core.audit_file import AuditFile
from tallystick.memory.core.context import Context
from tallystick.memory.maintenance.ledger import LedgerService
from tallystick.memory.recall.receipts import ReceiptStore
from tallystick.records.errors import Busy, Unfinished
from tallystick.records.event import Event
from tallystick.stores.open_folder import in_folder

if TYPE_CHECKING:
    from tallystick.memory.graph.graph import GraphAt, GraphService
    from tallystick.memory.pages.files import PagesAt
    from tallystick.memory.pages.store import PageStore
    from tallystick.memory.pages.sync import PageWriter
    from tallystick.memory.recall.recall import RecallService
    from tallystick.records.embedder import Embedder


class Services:
    """The shared parts of one open memory."""

    def __init__(self, path: str | Path | None, embedder: Embedder | str | None, **options: Any) -> None:
        """`options` are those of a `Context`, but for what follows a write and an erasure."""
        self.context = Context(path, written=self._after_writing, erased=self.after_erasing, **options)
        self._embedder = embedder

    def close(self) -> None:
        """Write what waits, and close every file."""
        made = self.__dict__
        if "recall" in made:
            self.recall.close()
        if "receipts" in made:
            self.receipts.flush()
        if "page_writer" in made:
            self.page_writer.finish()
        for name in ("page_files", "graph_index", "context"):
            if name in made:
                made[name].close()

    @cached_property
    def page_files(self) -> PagesAt:
        from tallystick.memory.pages.files import PagesAt

        return PagesAt(self.context)

    @cached_property
    def page_writer(self) -> PageWriter:
        """Writes pages after beliefs changed, and imports what was edited on them."""
        from tallystick.memory.pages.sync import PageWriter

        return PageWriter(self.page_files, is_on=self.context.settings.follow)

    @cached_property
    def graph_index(self) -> GraphAt:
        from tallystick.memory.graph.graph import GraphAt

        return GraphAt(self.context.folder)

    @cached_property
    def audit_file(self) -> AuditFile:
        folder = in_folder(self.context.folder, "an audit file")
        return AuditFile(folder, is_on=self.context.settings.audit, notify=self.context.notify)

    @cached_property
    def ledger(self) -> LedgerService:
        return LedgerService(self.context.folder, self.context.keyring, self.context.gate.must)

    @cached_property
    def receipts(self) -> ReceiptStore:
        context = self.context
        return ReceiptStore(context.folder, context.gate, context.user, context.notify)

    @cached_property
    def recall(self) -> RecallService:
        from tallystick.memory.recall.recall import RecallService

        return RecallService(self.context, self.receipts, self._embedder)

    def pages_of(self, user: str) -> PageStore:
        from tallystick.memory.pages.store import PageStore

        return PageStore(self.context.folder, self.context.gate, self.page_files, user, self.context.settings)

    def graph_of(self, user: str) -> GraphService:
        from tallystick.memory.graph.graph import GraphService

        return GraphService(self.graph_index, self.context.gate, user, self.after_erasing, self._settle_pages)

    def _settle_pages(self) -> None:
        """Import what people wrote on pages, where there are some."""
        if self._has_files:
            self.page_writer.look_at_all()

    @property
    def _has_files(self) -> bool:
        """Whether it is in a folder, where files follow what is written."""
        return self.context.folder.root is not None

    def _after_writing(self, events: list[Event]) -> None:
        if self._has_files:
            self.context.index.follow(events)
            self.page_writer.follow(events)
            self.audit_file.follow(events)
        if "graph_index" in self.__dict__:
            self.graph_index.follow(events)

    def after_erasing(self) -> None:
        """Words were destroyed and the index was removed: update the pinned checkpoint and rebuild the rest."""
        try:
            self.ledger.note_erasures()
        except (OSError, Busy) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self.context.notify(
                f"erased, but the pinned checkpoint was not updated ({why}); run `tallystick ledger checkpoint`"
            )
        self.context.echoes.forget()
        if not self._has_files:
            return
        self.context.index.grow_back()
        self.page_writer.look_at_all()
        self.audit_file.follow(())
        self.sweep("erased, but vectors of its words may be left")

    def sweep(self, otherwise: str) -> None:
        """Remove the vectors of what is no longer here. Unfinished, if that fails: the next recall does it."""
        place = in_folder(self.context.folder, "this").root / "vectors"
        try:
            if place.is_dir():
                self.recall.sweep()
        except (OSError, Busy) as error:
            raise Unfinished(f"{otherwise} ({error}); remove {place}, it is rebuilt") from error

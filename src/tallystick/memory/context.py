"""What every part of `Memory` stands on: the folder, open, its gate and its index."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.memory.core.gate import WriteGate
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.settings import Settings, read_settings, zone_of
from tallystick.stores.open_folder import OpenFolder

if TYPE_CHECKING:
    from tallystick.memory.core.index import IndexService
    from tallystick.memory.graph.index import GraphAt
    from tallystick.memory.pages.files import PagesAt
    from tallystick.memory.pages.follow import PageWriter
    from tallystick.memory.pages.store import PageStore


class MemoryBase:
    """A memory folder that is open. `Memory` opens it."""

    user: str
    folder: Path
    _episodes: EpisodeStore
    _folder: OpenFolder
    _gate: WriteGate
    _tell: Callable[[str], None] | None

    @cached_property
    def _index(self) -> IndexService:
        from tallystick.memory.core.index import IndexService

        return IndexService(self._folder.ledger, self._folder.state, self._tell)

    @cached_property
    def _settings(self) -> Settings:
        return read_settings(self.folder)

    @cached_property
    def _pages_at(self) -> PagesAt:
        from tallystick.memory.pages.files import PagesAt

        return PagesAt(
            self._folder, lambda: self._zone, lambda: self._settings.hard_limit_tokens, self._gate.masks
        )  # fmt: skip

    @cached_property
    def _graph_at(self) -> GraphAt:
        from tallystick.memory.graph.index import GraphAt

        return GraphAt(self._folder)

    @cached_property
    def _zone(self) -> tzinfo:
        """The clock of this user."""
        return zone_of(self._settings)

    @cached_property
    def _follower(self) -> PageWriter:
        from tallystick.memory.pages.follow import PageWriter

        return PageWriter(self._pages_at, is_on=self._settings.follow)

    @cached_property
    def pages(self) -> PageStore:
        """Beliefs as dated entries on one Markdown file per entity."""
        from tallystick.memory.pages.store import PageStore

        return PageStore(self._folder, self._gate, self._pages_at, self.user, self._settings)

    def _user(self, user: str | None) -> str:
        return self.user if user is None else user

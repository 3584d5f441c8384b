"""What every part of `Memory` stands on: the folder, open, its gate and its index."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from keepsake.memory.episodes import EpisodesOf
from keepsake.memory.gated import Gated
from keepsake.stores.shelf import Shelf

if TYPE_CHECKING:
    from keepsake.memory.index import IndexOf


class Opened:
    """A memory folder that is open. `Memory` opens it."""

    user: str
    folder: Path
    _episodes: EpisodesOf
    _shelf: Shelf
    _gated: Gated
    _tell: Callable[[str], None] | None

    @cached_property
    def _index(self) -> IndexOf:
        from keepsake.memory.index import IndexOf

        return IndexOf(self._shelf.ledger, self._shelf.book, self._tell)

    def _user(self, user: str | None) -> str:
        return self.user if user is None else user

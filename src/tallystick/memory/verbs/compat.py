"""The part of `Memory` for programs that are used to another memory: entities by their names, and files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tallystick.memory.context import MemoryBase
from tallystick.memory.episodes.store import is_episode_shown
from tallystick.memory.trust.recallable import is_shown

if TYPE_CHECKING:
    from tallystick.memory.exchange.files import FileStore
    from tallystick.memory.graph.entities import EntityStore


class CompatVerbs(MemoryBase):
    """What is kept in the way of other memories. `Memory` is one."""

    @cached_property
    def entities(self) -> EntityStore:
        """Who and what is known, by the names that other programs gave them."""
        from tallystick.memory.graph.entities import EntityStore

        return EntityStore(self._folder, self._gate, self.user)

    @cached_property
    def files(self) -> FileStore:
        """Text files that live in the memory, for programs whose memory is a folder of files."""
        from tallystick.memory.exchange.files import FileStore

        return FileStore(self._folder, self._gate, self.user)

    def is_shown(self, name: str) -> bool:
        """Whether recall may serve a belief or an episode: it is held, waits for nobody's yes, and is relied on."""
        with self._folder.known():
            state, now = self._folder.state, self._folder.ledger.now()
            held = state.find(name, user=self.user)
            if held is None:
                return is_episode_shown(self._episodes, state, name, self.user)
            return held.status == "active" and not held.path and is_shown(state, held, held.body(), now)

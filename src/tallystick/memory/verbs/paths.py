"""The part of `Memory` that walks: the paths of a conversation, and one of them to stand on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tallystick.memory.verbs.consolidate import ConsolidateVerbs

if TYPE_CHECKING:
    from tallystick.memory.paths.paths import PathService
    from tallystick.memory.paths.view import PathView


class PathVerbs(ConsolidateVerbs):
    """Where in a conversation something is said. `Memory` is one."""

    @cached_property
    def paths(self) -> PathService:
        """The branches of conversations: branch, merge, abandon, compact."""
        from tallystick.memory.paths.paths import PathService

        return PathService(self._folder, self._gate, self.user, lambda: self._several)

    def on(self, path: str) -> PathView:
        """This memory, on a path: what is said there is said on that path, and what is asked is seen from it."""
        from tallystick.memory.paths.view import standing

        return standing(type(self))(self, self.paths.named(path))

"""Protocols of a store of episodes and a store of facts. `isinstance` checks the method names only."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tallystick.records.delta import Delta
from tallystick.records.episode import Episode
from tallystick.records.fact import Fact, FactPattern
from tallystick.records.health import MigrationPlan, StoreHealth
from tallystick.records.rule import ConsolidationRule


@runtime_checkable
class MemoryStore(Protocol):
    """Episodes in scopes, and their consolidation."""

    async def bootstrap(self) -> None: ...

    async def health(self) -> StoreHealth: ...

    async def migrate(self, plan: MigrationPlan) -> None: ...

    async def put(self, episode: Episode, *, user: str, session: str, agent: str) -> None: ...

    async def recent(
        self, user: str, session: str | None = None, agent: str | None = None, *, limit: int
    ) -> list[Episode]: ...

    async def consolidate(self, rule: ConsolidationRule) -> list[Delta]: ...


@runtime_checkable
class FactStore(Protocol):
    """Current facts, and the episodes they come from. Deltas come in; nothing goes back to the episodes."""

    async def bootstrap(self) -> None: ...

    async def health(self) -> StoreHealth: ...

    async def migrate(self, plan: MigrationPlan) -> None: ...

    async def pin(self, fact: Fact) -> None: ...

    async def query(self, pattern: FactPattern) -> list[Fact]: ...

    async def unpin(self, fact_id: str) -> None: ...

    async def apply_delta(self, delta: Delta) -> None: ...

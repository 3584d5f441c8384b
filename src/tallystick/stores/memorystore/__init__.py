"""MemoryStore and FactStore, stand-alone on SQLite: episodes, consolidation into facts, promoting triples."""

from tallystick.records.delta import (
    AddDelta as AddDelta,
    DeleteDelta as DeleteDelta,
    MemoryDelta as MemoryDelta,
    NoopDelta as NoopDelta,
    UpdateDelta as UpdateDelta,
)
from tallystick.records.entity import NamedEntity as NamedEntity, Relation as Relation
from tallystick.records.episode import Episode as Episode
from tallystick.records.errors import (
    ConsolidationRuleError as ConsolidationRuleError,
    MemoryScopeError as MemoryScopeError,
    MigrationNotSupported as MigrationNotSupported,
    UnportableCypherError as UnportableCypherError,
)
from tallystick.records.fact import Fact as Fact, FactPattern as FactPattern
from tallystick.records.health import MigrationPlan as MigrationPlan, StoreHealth as StoreHealth
from tallystick.records.rule import ConsolidationRule as ConsolidationRule
from tallystick.stores.memorystore.fact_store import SQLiteFactStore as SQLiteFactStore
from tallystick.stores.memorystore.kg_promotion import PromoteTriplesToFacts as PromoteTriplesToFacts
from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore as SQLiteMemoryStore
from tallystick.stores.protocols import FactStore as FactStore, MemoryStore as MemoryStore

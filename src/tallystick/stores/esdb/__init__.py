"""ESDB as chronomemory has it: `ChronoStore` and `EsdbBridge` over a ledger, and migrating its folders."""

from typing import TYPE_CHECKING

from tallystick.records.lazy import lazy_names

if TYPE_CHECKING:
    from tallystick.records.esdb_record import (
        ChronoRecord as ChronoRecord,
        EsdbRecord as EsdbRecord,
        WalEvent as WalEvent,
    )
    from tallystick.stores.esdb.bridge import EsdbBridge as EsdbBridge, EsdbStatus as EsdbStatus
    from tallystick.stores.esdb.store import ChronoStore as ChronoStore, open_store as open_store

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "records.esdb_record": "ChronoRecord EsdbRecord WalEvent",
        "stores.esdb.bridge": "EsdbBridge EsdbStatus",
        "stores.esdb.store": "ChronoStore open_store",
    },
)

"""ESDB as chronomemory has it: `ChronoStore` and `EsdbBridge` over a ledger, and migrating its folders."""

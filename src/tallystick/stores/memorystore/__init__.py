"""MemoryStore and FactStore, stand-alone on SQLite: episodes, consolidation into facts, promoting triples."""

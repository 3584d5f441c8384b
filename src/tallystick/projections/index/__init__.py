"""The index: blocks and what connects them, on SQLite. What elfmem calls its `db` is in `tallystick.stores.elfmem`."""

"""The tables of the state in `state.db`.

A row of a table that keeps its past has in `since` the event that gave it its value. When another value takes its
place, the trigger moves the old one to `state_past`, where it held from event `since` up to the one before `until`.
"""

from tallystick.projections.table_set import POSITIONS

SHAPE = 5  # of the rows; raise it when the same events give others
SCHEMA = (
    POSITIONS,
    "CREATE TABLE IF NOT EXISTS state_table (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS state_row (tab INTEGER NOT NULL, key TEXT NOT NULL, value BLOB, seqs TEXT,"
    " since INTEGER, PRIMARY KEY (tab, key)) WITHOUT ROWID",
    # the columns of the key come first: else the integrity check of SQLite 3.40 takes others for NULL
    "CREATE TABLE IF NOT EXISTS state_past (tab INTEGER NOT NULL, key TEXT NOT NULL, until INTEGER NOT NULL,"
    " value BLOB NOT NULL, seqs TEXT, since INTEGER NOT NULL, PRIMARY KEY (tab, key, until)) WITHOUT ROWID",
    "CREATE TRIGGER IF NOT EXISTS state_row_past BEFORE UPDATE ON state_row"
    " WHEN OLD.since < NEW.since AND OLD.value IS NOT NULL BEGIN INSERT OR REPLACE INTO state_past"
    " VALUES (OLD.tab, OLD.key, NEW.since, OLD.value, OLD.seqs, OLD.since); END",
)

"""The tables of a state, kept as rows of SQLite."""

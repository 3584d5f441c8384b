"""A ledger in PostgreSQL: lines, the head, and the rows of the state, moved in one transaction."""

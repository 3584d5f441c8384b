"""The truth on disk: a chained, append-only file of events, and all that keeps it true."""

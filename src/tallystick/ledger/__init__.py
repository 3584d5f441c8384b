"""The truth on disk: a chained, append-only file of events, and its maintenance."""

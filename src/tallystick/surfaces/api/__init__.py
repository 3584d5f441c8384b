"""The HTTP API: routes, schemas, errors, cursors, the stream of events."""

"""Logs of memory events: one protocol, one in memory, one in a file."""

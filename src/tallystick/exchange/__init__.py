"""Formats of other systems, one file each, in and out. Pure: bytes in, objects out; only `records` is imported."""

"""Beliefs by key and id, corrections, duplicates."""

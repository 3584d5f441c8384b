"""Checking a memory folder, and repairing it. `check` changes nothing."""

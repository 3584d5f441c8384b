"""Memorystore."""

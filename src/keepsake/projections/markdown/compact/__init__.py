"""Compact."""

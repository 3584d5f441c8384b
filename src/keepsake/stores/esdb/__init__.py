"""Esdb."""

"""Entities, their names, and the graph of what is said about them."""

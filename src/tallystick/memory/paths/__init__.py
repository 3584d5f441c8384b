"""Branches of a conversation: branching, merging, abandoning, and a view from one of them."""

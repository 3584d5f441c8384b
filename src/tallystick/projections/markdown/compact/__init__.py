"""Compacting a page: what a shorter version would lose, and what it keeps."""

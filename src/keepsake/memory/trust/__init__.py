"""Trust."""

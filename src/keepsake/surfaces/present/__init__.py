"""Present."""

"""Episodes: recording, reading back, retracting."""

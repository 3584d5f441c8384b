"""The seeds' own classes, and the open folder that they and `Memory` share."""

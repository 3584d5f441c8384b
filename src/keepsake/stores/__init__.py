"""Other memories' own classes, and the open folder that they and `Memory` share."""

"""Other memories' own classes, one package for each, and the open folder that they and `Memory` share."""

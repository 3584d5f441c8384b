"""`Memory`: opens a folder, and offers every operation on it, one package per concept."""

"""`elfmem.db.engine`: engines for a file and for tests."""

from tallystick.stores.elfmem.engine import create_engine, create_test_engine

__all__ = ["create_engine", "create_test_engine"]

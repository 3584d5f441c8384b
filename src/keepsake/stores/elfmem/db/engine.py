"""`elfmem.db.engine`: engines for a file and for tests."""

from keepsake.projections.index.engine import create_engine, create_test_engine

__all__ = ["create_engine", "create_test_engine"]

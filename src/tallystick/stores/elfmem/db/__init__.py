"""`elfmem.db`: tables, engines and queries."""

from tallystick.stores.elfmem.db.engine import create_engine, create_test_engine
from tallystick.stores.elfmem.db.models import metadata

__all__ = ["create_engine", "create_test_engine", "metadata"]

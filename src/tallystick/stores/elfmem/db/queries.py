"""`elfmem.db.queries`: every query, to be awaited on an `AsyncConnection`."""

from tallystick.stores.elfmem.queries import *  # noqa: F403
from tallystick.stores.elfmem.queries import __all__ as __all__

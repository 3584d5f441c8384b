"""`elfmem.db.models`: the tables of the index."""

from tallystick.stores.elfmem.models import *  # noqa: F403
from tallystick.stores.elfmem.models import __all__ as __all__

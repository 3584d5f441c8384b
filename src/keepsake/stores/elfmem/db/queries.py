"""`elfmem.db.queries`: every query, to be awaited on an `AsyncConnection`."""

from keepsake.projections.index.queries import *  # noqa: F403
from keepsake.projections.index.queries import __all__ as __all__

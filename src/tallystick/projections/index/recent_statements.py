"""The statements by which recent episodes are found, of every width. `expressions` compiles them with the others.

Each width has an index that holds its order, so that a few are found as fast among a million as among a thousand. On
one path that is a comparison; on a path that hears others, each is asked for among them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, select
from sqlalchemy.sql.elements import ColumnElement

from tallystick.projections.index.models import blocks
from tallystick.projections.index.path_statements import EMPTY, among
from tallystick.projections.index.schema import sources

_WIDTHS = {"": (), "_SESSION": ("session",), "_AGENT": ("agent",), "_SCOPE": ("session", "agent")}


def statements() -> dict[str, Any]:
    """Each row: an episode's source, and the event that recorded it. Newest first; of one time, the last told first."""
    use = select(blocks.c.reinforcement_count, sources.c.good, sources.c.bad).where(
        sources.c.id == bindparam("of"), blocks.c.id == sources.c.block_id
    )
    here, heard = sources.c.path == bindparam("path"), sources.c.path.in_(among("heard"))
    widths = {width: [each for name in names for each in _is(name)] for width, names in _WIDTHS.items()}
    return {
        "USE_OF": use,
        **{f"RECENT{width}": _recent(here, *more) for width, more in widths.items()},
        **{f"RECENT_HEARD{width}": _recent(heard, *more) for width, more in widths.items()},
    }


def _recent(*more: ColumnElement[bool]) -> Select[Any]:
    of_user = sources.c.user == bindparam("user"), sources.c.happened.is_not(None)
    found = select(sources.c.id, sources.c.since_seq, sources.c.happened).where(*of_user, *more)
    return found.order_by(sources.c.happened.desc(), sources.c.since_seq.desc())


def _is(name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The second says what the first implies, so that an index of those that have one can be used."""
    return sources.c[name] == bindparam(name), sources.c[name] != EMPTY

"""The statements by which recent episodes are found, of every width. `expressions` compiles them with the others.

Each width has an index that holds its order, so that a few are found as fast among a million as among a thousand.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, literal_column, select
from sqlalchemy.sql.elements import ColumnElement

from keepsake.projections.index.models import blocks
from keepsake.projections.index.tables import sources

_EMPTY: ColumnElement[str] = literal_column("''")


def statements() -> dict[str, Any]:
    """Each row: an episode's source, and the event that recorded it. Newest first; of one time, the last told first."""
    session, agent = _is("session"), _is("agent")
    use = select(blocks.c.reinforcement_count, sources.c.good, sources.c.bad).where(
        sources.c.id == bindparam("of"), blocks.c.id == sources.c.block_id
    )
    return {"USE_OF": use, "RECENT": _recent(), "RECENT_SESSION": _recent(*session), "RECENT_AGENT": _recent(*agent),
            "RECENT_SCOPE": _recent(*session, *agent)}  # fmt: skip


def _recent(*more: ColumnElement[bool]) -> Select[Any]:
    of_user = sources.c.user == bindparam("user"), sources.c.happened.is_not(None), sources.c.path == bindparam("path")
    found = select(sources.c.id, sources.c.since_seq).where(*of_user, *more)
    return found.order_by(sources.c.happened.desc(), sources.c.since_seq.desc())


def _is(name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The second says what the first implies, so that an index of those that have one can be used."""
    return sources.c[name] == bindparam(name), sources.c[name] != _EMPTY

"""Working sessions: the spans that advance the active-hours clock. One at a time is meant; more are survived."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Integer, column, insert, select, update

from tallystick.records.clock import stamp, system_clock
from tallystick.stores.elfmem.models import sessions
from tallystick.stores.elfmem.rows.checks import label, number, words
from tallystick.stores.elfmem.rows.plain import fetch_one


def start_session(conn: Connection, *, session_id: str, task_type: str, start_active_hours: float) -> None:
    """Record the start of a session. Raises IntegrityError if there is one of that id."""
    values = {
        "id": label("session_id", session_id),
        "task_type": words("task_type", task_type),
        "started_at": stamp(system_clock()),
        "start_active_hours": number("start_active_hours", start_active_hours, least=0),
    }
    conn.execute(insert(sessions).values(values))


def end_session(conn: Connection, session_id: str) -> None:
    """Record the end of a session. One that has ended keeps its end; an unknown one changes nothing."""
    still_open = (sessions.c.id == words("session_id", session_id), sessions.c.ended_at.is_(None))
    conn.execute(update(sessions).where(*still_open).values(ended_at=stamp(system_clock())))


def get_active_session(conn: Connection) -> dict[str, Any] | None:
    """Get the session that has not ended; the one begun last, should there be several. None if all have."""
    latest = (sessions.c.started_at.desc(), column("rowid", Integer).desc())  # two may begin in one microsecond
    return fetch_one(conn, select(sessions).where(sessions.c.ended_at.is_(None)).order_by(*latest).limit(1))

"""Settings of the index, as names and texts; among them the counter of active hours."""

from __future__ import annotations

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from tallystick.records.errors import Damaged, Refused
from tallystick.stores.elfmem.models import system_config
from tallystick.stores.elfmem.rows.checks import label, number, words

_HOURS = "total_active_hours"


def get_config(conn: Connection, key: str) -> str | None:
    """Get a setting. None if it is not set."""
    found: str | None = conn.scalar(select(system_config.c.value).where(system_config.c.key == words("key", key)))
    return found


def set_config(conn: Connection, key: str, value: str) -> None:
    """Set a setting, whether or not it was set before."""
    put = insert(system_config).values(key=label("key", key), value=words("value", value))
    conn.execute(put.on_conflict_do_update(index_elements=[system_config.c.key], set_={"value": value}))


def get_total_active_hours(conn: Connection) -> float:
    """Get the counter of active hours; 0.0 if it is not set."""
    text = get_config(conn, _HOURS)
    if text is None:
        return 0.0
    try:
        return number(_HOURS, float(text), least=0)
    except (ValueError, Refused):
        raise Damaged(f"the setting {_HOURS} is {text!r}, not a number of hours; set it anew") from None


def set_total_active_hours(conn: Connection, hours: float) -> None:
    """Set the counter of active hours."""
    set_config(conn, _HOURS, repr(number(_HOURS, hours, least=0)))

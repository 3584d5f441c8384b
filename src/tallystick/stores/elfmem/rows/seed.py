"""What a new index is filled with."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from tallystick.projections.index.builtin import CONFIG, FRAMES
from tallystick.records.clock import stamp, system_clock
from tallystick.stores.elfmem.models import frames, system_config


def seed_builtin_data(conn: Connection) -> None:
    """Insert the built-in frames and the default settings. What is there already is left as it is."""
    now = stamp(system_clock())
    conn.execute(insert(frames).on_conflict_do_nothing(), [{**frame, "created_at": now} for frame in FRAMES])
    settings = [{"key": key, "value": value} for key, value in CONFIG.items()]
    conn.execute(insert(system_config).on_conflict_do_nothing(), settings)

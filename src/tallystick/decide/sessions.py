"""Decisions about working sessions, frames and settings."""

from __future__ import annotations

import re

from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.operations import CONFIG_SET, FRAME_DROP, FRAME_PUT, SESSION_END, SESSION_START
from tallystick.records.recall import Frame
from tallystick.state.sessions import Work

CLOCK = "total_active_hours"

_KEY = re.compile(r"[a-z][a-z0-9_.-]{0,63}\Z")


def start(session: str, task_type: str) -> list[Draft]:
    """Start a session. An open one ends at its last event."""
    if not session or not task_type:
        raise Refused("a working session needs an id and a task type", "required")
    return [Draft(SESSION_START, {"session": session, "task_type": task_type})]


def end(known: Work, session: str) -> list[Draft]:
    """End a session. One that is not open has ended already."""
    return [Draft(SESSION_END, {"session": session})] if known.clock.session == session else []


def put_frame(known: Work, frame: Frame) -> list[Draft]:
    """Define or redefine a frame. The same definition again is no event."""
    body = frame.to_body()
    before = {name: value for name, value in known.frames.get(frame.name, {}).items() if name != "created_at"}
    return [] if before == body else [Draft(FRAME_PUT, {"frame": body})]


def drop_frame(known: Work, name: str) -> list[Draft]:
    """Remove a frame of the user's own. A built-in one of that name is used again."""
    if name not in known.frames:
        raise NotFound(f"no frame of your own named {name!r}")
    return [Draft(FRAME_DROP, {"name": name})]


def set_config(known: Work, key: str, value: str) -> list[Draft]:
    """Change a setting. The clock is not a setting: only work moves it."""
    if key == CLOCK:
        raise Refused(f"{CLOCK} cannot be set; only working sessions move it", "field")
    if not _KEY.match(key):
        raise Refused(f"a setting's name is lowercase letters, digits and ._-, a letter first; not {key!r}", "name")
    return [] if known.config.get(key) == value else [Draft(CONFIG_SET, {"key": key, "value": value})]

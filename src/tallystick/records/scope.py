"""A scope: user, session and agent, compared exactly.

The key is for display and for the documented index, never for comparison: its parts are escaped, so that no id can end
one part and begin another.
"""

from __future__ import annotations

from typing import NamedTuple

from tallystick.records.errors import MemoryScopeError


class Scope(NamedTuple):
    """A scope. `session` and `agent` are empty where none was given."""

    user: str
    session: str = ""
    agent: str = ""

    @property
    def key(self) -> str:
        """`/user/{user}/session/{session}/agent/{agent}/`, with `%` and `/` inside a part escaped as in an address."""
        return f"/user/{_escaped(self.user)}/session/{_escaped(self.session)}/agent/{_escaped(self.agent)}/"


def checked(**parts: object) -> None:
    """Refuse a part that is not a name. None means any."""
    for name, value in parts.items():
        if value is None:
            continue
        if type(value) is not str:
            raise MemoryScopeError(f"{name} must be a string, not {type(value).__name__}")
        if not value:
            raise MemoryScopeError(f"{name} must not be empty; leave it out to mean any")


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")

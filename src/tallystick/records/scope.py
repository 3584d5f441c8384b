"""A scope: whose something is. User, session and agent, compared exactly as they are written.

The key is for display and for the documented index, never for comparing: its parts are escaped, so that no id can end
one part and begin another.
"""

from __future__ import annotations

from typing import NamedTuple

from tallystick.records.errors import MemoryScopeError


class Scope(NamedTuple):
    """`session` and `agent` are empty where nobody named one."""

    user: str
    session: str = ""
    agent: str = ""

    @property
    def key(self) -> str:
        """`/user/{user}/session/{session}/agent/{agent}/`, with `%` and `/` inside a part escaped as in an address."""
        return f"/user/{_escaped(self.user)}/session/{_escaped(self.session)}/agent/{_escaped(self.agent)}/"


def checked(**parts: object) -> None:
    """Refused, if one of the parts that were given is not a name. None is a part that is left open."""
    for name, value in parts.items():
        if value is None:
            continue
        if type(value) is not str:
            raise MemoryScopeError(f"{name} is text, not {type(value).__name__}")
        if not value:
            raise MemoryScopeError(f"an empty {name} is nobody's; leave it out to mean any, or give it a name")


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")

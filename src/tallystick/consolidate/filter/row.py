"""What a filter looks at: one episode, as a row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Row(NamedTuple):
    """`timestamp` has a zone. `extra` are the columns added later, by name; one that is not in it is NULL."""

    id: str
    scope_key: str
    content: str
    timestamp: datetime
    metadata: dict[str, Any]
    extra: Mapping[str, Any] = _NOTHING
    user: str = ""
    session: str = ""
    agent: str = ""

"""`Query`: what a caller of `recall` or `frame` asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from tallystick.records.frame import Frame
from tallystick.records.history import Moment


@dataclass(frozen=True, slots=True)
class Query:
    """A question, whose memory it is put to, and what narrows the answer. Checked when it is put."""

    question: str
    user: str
    k: int | None = None
    session: str | None = None
    agent: str | None = None
    path: str = ""
    believed_at: Moment | None = None
    as_of: date | str | None = None
    filters: Mapping[str, Any] | None = None
    frame: Frame | None = None
    without: str | Iterable[str] = ()
    floor: float | None = None
    explain: bool = False
    by_words: bool = False
    quarantined: bool = False

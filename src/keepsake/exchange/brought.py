"""What people bring with them from elsewhere, in one shape: conversations, notes, and what could not be taken.

A conversation is a tree of turns, because that is what other systems keep: a question asked again is a branch. Nothing
of it is judged here; whose words a turn holds is said by its role, never read from its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

PERSON, ASSISTANT, TOOL, SYSTEM = "person", "assistant", "tool", "system"

_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that was said. `parent` is the turn before it; one without words only holds the tree together."""

    id: str
    parent: str  # empty: it begins the conversation, or a part of its own
    role: str
    text: str
    at: str = ""  # as ISO 8601 in UTC; empty where nobody wrote it down
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A tree of turns in the order of the file. `living` is the last turn of the branch that was gone on with."""

    id: str
    title: str
    turns: tuple[Turn, ...]
    living: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was held true of something: what becomes a belief."""

    about: str  # the entity, as it is called there
    text: str
    kind: str = ""  # of the entity, as it is called there
    tags: tuple[str, ...] = ()
    at: str = ""
    triple: tuple[str, str, str] | None = None  # where it is a relation
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not taken, where it stands, and why."""

    place: str
    reason: str


@dataclass(slots=True)
class Brought:
    """All that a file holds."""

    conversations: list[Conversation] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, place: str, reason: str) -> None:
        self.skipped.append(Skipped(place, reason))

    def __bool__(self) -> bool:
        return bool(self.conversations or self.notes)


def loaded(data: bytes) -> Any:
    """JSON, read with patience: halves of letters, which other systems cut out of emoji, become U+FFFD. ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8-sig", "replace")
    try:
        return _whole(json.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that say something, with their numbers as an editor counts them."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            yield number, line


def moment(said: object) -> str:
    """A time as other systems write it, seconds or text; empty if it is none."""
    try:
        if isinstance(said, int | float) and not isinstance(said, bool):
            return _stamp(datetime.fromtimestamp(said, UTC))
        if isinstance(said, str) and said.strip():
            then = datetime.fromisoformat(said.strip())
            return _stamp(then.replace(tzinfo=UTC) if then.tzinfo is None else then.astimezone(UTC))
    except (ValueError, OverflowError, OSError):
        pass
    return ""


def text_of(value: object) -> str:
    """A value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def _stamp(then: datetime) -> str:
    return then.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(each) for name, each in value.items()}
    return value

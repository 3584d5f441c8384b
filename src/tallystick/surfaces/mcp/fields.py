"""What arguments may look like: as their schema says, or as models often write them instead."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tallystick.surfaces.present.time import read_moment


def _listed(value: Any) -> Any:
    """A text where a list is meant is a list of one; a list that was written as JSON text is read."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return [value] if value.strip() else []


def _parted(value: Any) -> Any:
    """The same, and commas part names."""
    found = _listed(value)
    if isinstance(value, str) and isinstance(found, list) and found == [value]:
        return [name.strip() for name in value.split(",") if name.strip()]
    return found


def _moment(value: Any) -> Any:
    """An event's number may come as text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16 else value


def maybe(description: str, **limits: Any) -> Any:
    """A field that may be left out."""
    return Field(default=None, description=description, **limits)


def moment(said: int | str | None) -> int | datetime | None:
    """A place in the ledger, as the command line reads it: without a zone, a time is this machine's."""
    return read_moment(said) if isinstance(said, str) else said


Texts = Annotated[list[str], BeforeValidator(_listed)]
Names = Annotated[list[str], BeforeValidator(_parted)]
Count = int  # pydantic takes "5" and 5.0 for it too
When = Annotated[int | str, BeforeValidator(_moment)]

Session = Annotated[str, Field(description="Label of the conversation.")]
Agent = Annotated[str, Field(description="Name of the agent that speaks.")]
Path = Annotated[str, Field(description="Branch of the conversation; leave out for the main one.")]
Name = Annotated[str, Field(description="A belief's id, its last six characters, or its key.")]

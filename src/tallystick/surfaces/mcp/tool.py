"""What a tool is, whichever profile it belongs to. Nothing here knows the protocol.

A tool's words are fixed when the program is built: no stored text ever stands in a name, a description or a schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tallystick.records.errors import Refused
from tallystick.surfaces.present.time import read_moment

if TYPE_CHECKING:
    from tallystick.records.review import Applied
    from tallystick.surfaces.server.worker import CallContext


class Args(BaseModel):
    """What a tool takes. A name that it does not know is refused, and the refusal names those that it does."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class Answer(BaseModel):
    """What a tool gives, as its output schema says. `text` is the same for a reader who takes no structure."""

    def text(self) -> str:
        return self.model_dump_json(exclude_none=True)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` is called by one thread at a time.

    What needs a person's yes raises `NeedsApproval`. Once the yes is there and was carried out, `after` makes the
    answer of what came of it; a tool without it is run again, and must find done what it asked for.
    """

    name: str
    title: str
    description: str
    takes: type[Args]
    gives: type[Answer]
    run: Callable[[CallContext, Any], Answer]
    reads_only: bool = False
    destroys: bool = False  # whether something may leave sight by it
    is_idempotent: bool = False  # whether the same call again changes nothing more
    also: Mapping[str, str] = field(default_factory=dict)  # what models write instead, and what they mean by it
    after: Callable[[CallContext, Any, Applied], Answer] | None = None

    def meant(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under the names that the tool takes. What is null was not given.

        Two names for one thing must say the same, or nobody knows which was meant, and one would be lost.
        """
        known, found = self.takes.model_fields, dict[str, Any]()
        for name, value in given.items():
            own = name if name in known else self.also.get(name, name)
            if value is not None and found.setdefault(own, value) != value:
                raise Refused(f"{self.name} is told {own} in two ways that differ; say it once, as {own}", "conflict")
        return found


# -- what arguments may look like: as their schema says, or as models often write them instead -------------------------


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

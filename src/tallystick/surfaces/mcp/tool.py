"""Tools, whichever profile they belong to, and the types of their arguments. Nothing here knows the protocol.

The words of a tool are fixed when the program is built: no stored text is ever part of a name, a description or a
schema.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tallystick.records.errors import Refused
from tallystick.records.review import Applied
from tallystick.surfaces.present.names import read_moment
from tallystick.surfaces.server.fields import Described, event_number
from tallystick.surfaces.server.worker import CallContext


class Args(Described):
    """Arguments of a tool. An unknown one is refused, and the refusal lists the known ones."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class LenientArgs(Args):
    """Arguments of another memory's tool: an unknown one is left out."""

    model_config = ConfigDict(extra="ignore")


class Answer(BaseModel):
    """Answer of a tool, as its output schema says. `text` is the same for a client that takes no structure."""

    model_config = ConfigDict(serialize_by_alias=True, populate_by_name=True)

    def text(self) -> str:
        return self.model_dump_json(exclude_none=True)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` is called by one thread at a time.

    What needs a person's approval raises `NeedsApproval`. Once it is approved and carried out, `after` makes the answer
    from the result; a tool without it is run again, and must find its work done.
    """

    name: str
    title: str
    description: str
    takes: type[Args]
    gives: type[Answer]
    run: Callable[[CallContext, Any], Answer]
    reads_only: bool = False
    destroys: bool = False  # may hide something
    is_idempotent: bool = False  # the same call again changes nothing more
    also: Mapping[str, str] = field(default_factory=dict)  # other names that models write, see `aliases`
    after: Callable[[CallContext, Any, Applied], Answer] | None = None

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under the tool's own names. A null counts as not given.

        Two names for one argument must have the same value, or one of the values would be lost.
        """
        known, found = self.takes.model_fields, dict[str, Any]()
        for name, value in given.items():
            own = name if name in known else self.also.get(name, name)
            if value is not None and found.setdefault(own, value) != value:
                raise Refused(f"{self.name} has two different values for {own}; give one, as {own}", "conflict")
        return found


def aliases(**names: str) -> dict[str, str]:
    """Other names of arguments, for `Tool.also`: `aliases(question="q query")`."""
    return {other: name for name, others in names.items() for other in others.split()}


# -- arguments, as their schema says or as models often write them instead ---------------------------------------------


def _list(value: Any) -> Any:
    """A text instead of a list is a list of one; a list written as JSON text is read."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return [value] if value.strip() else []


def _names(value: Any) -> Any:
    """The same, and commas separate names."""
    found = _list(value)
    if isinstance(value, str) and found == [value]:
        return [name.strip() for name in value.split(",") if name.strip()]
    return found


def maybe(description: str, **limits: Any) -> Any:
    """An optional field."""
    return Field(default=None, description=description, **limits)


def moment(given: int | str | None) -> int | datetime | None:
    """A place in the ledger, as the command line reads it: a time without a zone is this machine's."""
    return read_moment(given) if isinstance(given, str) else given


Texts = Annotated[list[str], BeforeValidator(_list)]
Names = Annotated[list[str], BeforeValidator(_names)]
Count = int  # pydantic takes "5" and 5.0 for it too
When = Annotated[int | str, BeforeValidator(event_number)]

Name = Annotated[str, Field(description="A belief's id, its last six characters, or its key.")]

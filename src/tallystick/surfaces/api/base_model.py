"""What every model of the API has in common: no field that it does not name, no value of another sort, an example."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, WithJsonSchema

from tallystick.records.json import LEAST, MOST

_REF = {"$ref": "#/components/schemas/Value"}
VALUE: dict[str, Any] = {
    "description": "Any JSON whose numbers fit into 64 bits.",
    "examples": [{"rows": [1, 2.5, None], "is_draft": True}],
    "anyOf": [
        {"type": "null"}, {"type": "boolean"}, {"type": "string"},
        {"type": "number", "minimum": LEAST, "maximum": MOST},
        {"type": "array", "items": _REF}, {"type": "object", "additionalProperties": _REF},
    ],
}  # fmt: skip
Values = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": _REF})]


def whole(value: Any) -> Any:
    """What JSON calls a whole number: 5.0 is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Shape(BaseModel):
    """A model of the API."""

    model_config = ConfigDict(extra="forbid", strict=True)


def shaped(**example: Any) -> ConfigDict:
    """The settings of a model, with an example of it."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [example]})

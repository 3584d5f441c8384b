"""What every model of the API has in common: no field that it does not name, no value of another sort, an example."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from keepsake.surfaces.mcp.fields import maybe

__all__ = ["Shape", "maybe", "shaped"]


class Shape(BaseModel):
    """A model of the API."""

    model_config = ConfigDict(extra="forbid", strict=True)


def shaped(**example: Any) -> ConfigDict:
    """The settings of a model, with an example of it."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [example]})

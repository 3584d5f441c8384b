"""A tool as the protocol describes it."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from tallystick.surfaces.mcp.tool import Args, Tool


def defined(tool: Tool) -> types.Tool:
    """The definition that clients are given. It is the same each time: nothing in it comes from the memory."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_needed_first(_plain(tool.takes.model_json_schema())),
        output_schema=_plain(tool.gives.model_json_schema()),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.reads_only or tool.is_idempotent,
            open_world_hint=False,
        ),
    )


def names_of(takes: type[Args]) -> list[str]:
    """The names that a tool takes; those it needs come first."""
    return sorted(takes.model_fields, key=lambda name: not takes.model_fields[name].is_required())


def _needed_first(schema: dict[str, Any]) -> dict[str, Any]:
    fields, needed = schema.get("properties", {}), schema.get("required", ())
    order = sorted(fields, key=lambda name: name not in needed)
    return {**schema, "properties": {name: fields[name] for name in order}}


def _plain(schema: Any) -> Any:
    """The schema as a model needs it: no titles that repeat the names, no words about our classes, no nulls.

    What is null is left out of every answer, and a null in a call counts as not given.
    """
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        _SPELLED.get(name, name): value for name, value in schema.items()
        if name != "title" and (name, value) != ("default", None)
    }  # fmt: skip
    if "properties" in kept:
        kept.pop("description", "")
    if choices := kept.get("anyOf"):
        rest = [each for each in choices if each != {"type": "null"}]
        if len(rest) == 1:
            kept = {**rest[0], **{name: value for name, value in kept.items() if name != "anyOf"}}
        else:
            kept["anyOf"] = rest
    return {name: _fields(value) if name in _BY_NAME else _plain(value) for name, value in kept.items()}


def _fields(schemas: dict[str, Any]) -> dict[str, Any]:
    """The same for schemas that stand under names: a field may well be called title."""
    return {name: _plain(value) for name, value in schemas.items()}


_SPELLED = {"ge": "minimum", "le": "maximum"}
_BY_NAME = ("properties", "$defs")

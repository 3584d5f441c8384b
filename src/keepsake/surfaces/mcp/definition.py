"""A tool as the protocol describes it."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from keepsake.surfaces.mcp.tool import Tool


def defined(tool: Tool) -> types.Tool:
    """The definition that clients are given. It is the same each time: nothing in it comes from the memory."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_plain(tool.takes.model_json_schema()),
        output_schema=_plain(tool.gives.model_json_schema(mode="serialization")),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.reads_only or tool.is_idempotent,
            open_world_hint=False,
        ),
    )


def _plain(schema: Any, *, is_fields: bool = False) -> Any:
    """The schema without the titles that repeat each name, and without the words of our own classes."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = schema if is_fields else {name: value for name, value in schema.items() if name != "title"}
    return {name: _plain(value, is_fields=name == "properties" and not is_fields) for name, value in kept.items()}

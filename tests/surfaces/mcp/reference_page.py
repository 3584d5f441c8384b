"""The reference page of the tools, made from their definitions: what is written there is what clients are given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tallystick.surfaces.mcp.server import defined
from tallystick.surfaces.mcp.tool import Tool

_HEAD = """\
# Tools of the MCP server

Generated from the program: the tools of every `tallystick mcp` server, in this order. [Use it with an
agent](../how-to/use-with-an-agent.md) shows how to use them. Each answer has its fields as structure, and the same as
text. A number may be given as text, a list as a text with commas, and a field under one of its other names.
"""


_HEAD_OF_PROFILES = """\
# Tools of the profiles

Generated from the program: the tools that `tallystick mcp --profile NAME` offers in addition to [the tools of every
server](mcp-tools.md). [Profiles of the MCP server](../how-to/mcp-profiles.md) describes what they are for.
"""


def page(tools: Sequence[Tool]) -> str:
    """The page, whole."""
    return "\n".join([_HEAD, *(line for tool in tools for line in _section(tool))]).rstrip() + "\n"


def page_of_profiles(profiles: Mapping[str, Sequence[Tool]]) -> str:
    """The same of the tools of profiles, by the names of these."""
    found = [_HEAD_OF_PROFILES]
    for name, tools in profiles.items():
        found += [f"## {name}\n", *(line for tool in tools for line in _section(tool, "###"))]
    return "\n".join(found).rstrip() + "\n"


def _section(tool: Tool, level: str = "##") -> Iterator[str]:
    told = defined(tool)
    hints = [word for word, is_so in _hints(tool) if is_so]
    yield f"{level} {tool.name}\n"
    yield f"{tool.title}; {', '.join(hints)}.\n"
    yield "```text\n" + tool.description + "\n```\n"
    if fields := told.input_schema.get("properties"):
        yield from _table("takes", fields, told.input_schema.get("required", ()))
    if tool.also:
        pairs = sorted(tool.also.items(), key=lambda pair: (pair[1], pair[0]))
        yield "Other names: " + ", ".join(f"`{name}` for `{meant}`" for name, meant in pairs) + ".\n"
    given = told.output_schema or {}
    yield from _table("gives", given.get("properties", {}), given.get("required", ()))
    for name, inner in given.get("$defs", {}).items():
        yield from _table(f"{name}", inner.get("properties", {}), inner.get("required", ()))


def _hints(tool: Tool) -> list[tuple[str, bool]]:
    return [
        ("reads only", tool.reads_only), ("adds", not tool.reads_only and not tool.destroys),
        ("may hide something", tool.destroys), ("idempotent", tool.is_idempotent),
    ]  # fmt: skip


def _table(head: str, fields: Mapping[str, Any], needed: Sequence[str]) -> Iterator[str]:
    yield f"| {head} | | |"
    yield "|---|---|---|"
    for name, field in fields.items():
        what = kind(field) + (", needed" if name in needed and head == "takes" else "")
        yield f"| `{name}` | {what} | {cell(field.get('description', ''))} |"
    yield ""


def kind(field: Mapping[str, Any], link: str = "a {name}") -> str:
    """The type of a field of a schema in words. `link` is how a model is named."""
    if "$ref" in field:
        name = str(field["$ref"]).rpartition("/")[2]
        return link.format(name=name, anchor=name.lower())
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{each}`" for each in field["enum"])
    if "anyOf" in field:
        return " or ".join(kind(each, link) for each in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {kind(field.get('items', {}), link).removeprefix('a ')}"
    return _KINDS.get(str(field.get("type")), "anything")


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return text.replace("|", "\\|")


_KINDS = {
    "string": "text", "integer": "number", "number": "number", "boolean": "true or false", "object": "object",
    "null": "null",
}  # fmt: skip
